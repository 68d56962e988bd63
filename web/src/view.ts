// What every view is: something to look at that is refreshed while it is shown.

export interface View {
  readonly element: HTMLElement;
  /** Seconds between two refreshes. */
  readonly interval: number;
  refresh(): Promise<void>;
  /** Where the focus goes by `/`. */
  filter?: HTMLInputElement;
}
