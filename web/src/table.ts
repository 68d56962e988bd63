// A table that is sorted by its heads and walked through by keys.

import { h, type Child } from "./dom";

export interface Head<T> {
  title: string;
  about?: string;
  /** What is shown. */
  show: (row: T) => Child;
  /** What is sorted by; without it the column cannot be. */
  sort?: (row: T) => number | string;
  numeric?: boolean;
  /** Wide texts are cut to one line. */
  wide?: boolean;
  /** On a phone it stands in front of the others. */
  first?: boolean;
}

export class Table<T> {
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private readonly heads: HTMLTableCellElement[];
  private rows: T[] = [];
  private order = -1;
  private downwards = true;

  constructor(
    private readonly columns: Head<T>[],
    private readonly key: (row: T) => string,
    private readonly options: { open?: (row: T) => void; empty: string; order?: number } = { empty: "Nothing." },
  ) {
    this.order = options.order ?? -1;
    this.heads = columns.map((column, at) => {
      const title = column.sort
        ? h("button", { type: "button", title: column.about, onclick: () => this.sortBy(at) }, column.title)
        : h("span", { title: column.about }, column.title);
      return h("th", { scope: "col", class: column.numeric ? "number" : undefined }, title);
    });
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...this.heads)), this.body);
    table.addEventListener("keydown", (event) => this.pressed(event));
    this.element = h("div", { class: "scroll" }, table);
  }

  private sortBy(at: number) {
    this.downwards = this.order === at ? !this.downwards : !!this.columns[at]!.numeric;
    this.order = at;
    this.show(this.rows);
  }

  show(rows: T[]) {
    this.rows = rows;
    const by = this.columns[this.order]?.sort;
    const way = this.downwards ? -1 : 1;
    const sorted = by
      ? [...rows].sort((a, b) => {
          const [x, y] = [by(a), by(b)];
          return x < y ? -way : x > y ? way : 0;
        })
      : rows;
    this.heads.forEach((head, at) => {
      if (at === this.order) head.setAttribute("aria-sort", this.downwards ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const focused = (document.activeElement as HTMLElement | null)?.dataset?.key;
    const had = this.body.contains(document.activeElement);
    const made = sorted.map((row) => this.row(row));
    if (made.length === 0) {
      made.push(h("tr", { class: "empty" }, h("td", { colspan: this.columns.length }, this.options.empty)));
    } else if (this.options.open) {
      made[0]!.tabIndex = 0;
    }
    this.body.replaceChildren(...made);
    if (had) made.find((it) => it.dataset.key === focused)?.focus({ preventScroll: true });
  }

  private row(row: T): HTMLTableRowElement {
    const cells = this.columns.map((column) => {
      const shown = column.show(row);
      const kind = [column.numeric && "number", column.wide && "wide", column.first && "first"].filter(Boolean).join(" ");
      const title = column.wide && typeof shown === "string" ? shown.slice(0, 2000) : undefined;
      return h("td", { class: kind || undefined, title, "data-title": column.title }, shown);
    });
    const open = this.options.open;
    const element = h("tr", { tabindex: open ? -1 : undefined, class: open ? "open" : undefined }, ...cells);
    element.dataset.key = this.key(row);
    if (open) element.addEventListener("click", () => open(row));
    return element;
  }

  private pressed(event: KeyboardEvent) {
    const row = (event.target as HTMLElement).closest("tr");
    if (!row || row.parentElement !== this.body) return;
    const step = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
    if (step instanceof HTMLElement) {
      step.focus();
      event.preventDefault();
    } else if (event.key === "Enter" && event.target === row) {
      row.click();
    }
  }

  /** Puts the focus on its first row. */
  focus() {
    (this.body.firstElementChild as HTMLElement | null)?.focus();
  }
}
