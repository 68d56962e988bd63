// What every view is: something to look at that is refreshed while it is shown.

export interface View {
  readonly element: HTMLElement;
  /** Seconds between two refreshes. */
  readonly interval: number;
  refresh(): Promise<void>;
  /** The field that `/` leads to. */
  filter?: HTMLInputElement;
  /** Shows what the address names behind the view: `#schema/12`. Without this it goes into the filter. */
  take?(rest: string): void;
}
