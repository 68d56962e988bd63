// A table that is sorted by its heads, walked through by keys (`rows.ts`), and tells all of a row that is opened.

import { tell } from "./dialogs";
import { h, type Child } from "./dom";
import { mayChange } from "./identity";

export interface Head<T> {
  title: string;
  about?: string;
  /** What is shown. */
  show: (row: T) => Child;
  /** What is sorted by; without it the column cannot be. */
  sort?: (row: T) => number | string;
  numeric?: boolean;
  /** A moment, which stays on one line. */
  time?: boolean;
  /** Wide texts are cut to one line. */
  wide?: boolean;
  /** On a phone it stands in front of the others. */
  first?: boolean;
  /** It is told of a row that is opened, and has no column. */
  aside?: boolean;
  /** It has buttons that change something. Users who may only look do not have the column. */
  acts?: boolean;
}

export interface Options<T> {
  /** What it is called, for those who do not see what stands above it. */
  label: string;
  /** What is said where there is no row. */
  empty: string;
  /** What a click and Enter do; without it they tell all of the row. */
  open?: (row: T, tell: () => void) => void;
}

/** A row as it is shown. */
interface Line<T> {
  row: T;
  element: HTMLTableRowElement;
}

export class Table<T extends object> {
  readonly element: HTMLElement;
  private readonly body = h("tbody", { role: "rowgroup" });
  private readonly columns: Head<T>[];
  private readonly titles: HTMLTableCellElement[];
  private readonly nothing: HTMLTableRowElement;
  private lines = new Map<string, Line<T>>();
  private rows: T[] = [];
  /** The one row that Tab leads to. */
  private current: HTMLElement | null = null;
  private order = -1;
  private downwards = true;

  private readonly heads: Head<T>[];

  constructor(
    heads: Head<T>[],
    private readonly key: (row: T) => string,
    private readonly options: Options<T>,
  ) {
    this.heads = heads.filter((it) => !it.acts || mayChange());
    this.columns = this.heads.filter((it) => !it.aside);
    this.titles = this.columns.map((column, at) => {
      const title = column.sort
        ? h("button", { type: "button", title: column.about, onclick: () => this.sortBy(at) }, column.title)
        : h("span", { title: column.about }, column.title);
      return h("th", { scope: "col", role: "columnheader", class: column.numeric ? "number" : undefined }, title);
    });
    this.nothing = h("tr", { class: "empty", role: "row" }, h("td", { role: "cell", colspan: this.columns.length }, options.empty));
    // Said, since what is no table to the eye (on a phone) would be none to a reader of screens either.
    const head = h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...this.titles));
    const table = h("table", { role: "table", "aria-label": options.label }, head, this.body);
    table.addEventListener("focusin", (event) => this.reached((event.target as HTMLElement).closest<HTMLElement>("tr.open")));
    this.element = h("div", { class: "scroll" }, table);
  }

  private sortBy(at: number) {
    this.downwards = this.order === at ? !this.downwards : !!this.columns[at]!.numeric;
    this.order = at;
    this.show(this.rows);
  }

  /** Shows these rows. Those that were there before stay what they are, with their focus and what is marked in them. */
  show(rows: T[]) {
    this.rows = rows;
    this.titles.forEach((title, at) => {
      if (at === this.order) title.setAttribute("aria-sort", this.downwards ? "descending" : "ascending");
      else title.removeAttribute("aria-sort");
    });
    const focused = document.activeElement?.closest<HTMLElement>("tr.open");
    const place = focused ? [...this.body.children].indexOf(focused) : -1;
    const before = this.lines;
    this.lines = new Map();
    const wanted = this.sorted().map((row) => this.line(row, before));
    this.arrange(wanted.length ? wanted : [this.nothing]);
    if (!this.current?.isConnected || !this.body.contains(this.current)) this.reached(wanted[0] ?? null);
    // Where the row is gone, the focus is the next one's.
    if (place >= 0 && !this.body.contains(document.activeElement)) {
      (focused!.isConnected ? focused! : wanted[Math.min(place, wanted.length - 1)])?.focus({ preventScroll: true });
    }
  }

  private sorted(): T[] {
    const by = this.columns[this.order]?.sort;
    if (!by) return this.rows;
    const way = this.downwards ? -1 : 1;
    return [...this.rows].sort((a, b) => {
      const [x, y] = [by(a), by(b)];
      return x < y ? -way : x > y ? way : 0;
    });
  }

  /** The element of a row: the one it had, if it was shown before. */
  private line(row: T, before: Map<string, Line<T>>): HTMLTableRowElement {
    let key = this.key(row);
    while (this.lines.has(key)) key += "'";
    const known = before.get(key);
    // What its buttons do concerns the object that they were made of.
    const line = known ? { row: Object.assign(known.row, row), element: known.element } : this.made({ ...row }, key);
    this.lines.set(key, line);
    this.fill(line);
    return line.element;
  }

  private made(row: T, key: string): Line<T> {
    const cells = this.columns.map((column) => {
      const kind = [column.numeric && "number", column.time && "time", column.wide && "wide", column.first && "first"].filter(Boolean).join(" ");
      return h("td", { role: "cell", class: kind || undefined, "data-title": column.title });
    });
    const element = h("tr", { role: "row", tabindex: -1, class: "open" }, ...cells);
    element.dataset.key = key;
    element.addEventListener("click", (event) => {
      if ((event.target as HTMLElement).closest("button, a") || getSelection()?.type === "Range") return;
      this.open(row);
    });
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target !== element) return;
      event.preventDefault();
      this.open(row);
    });
    return { row, element };
  }

  /** Brings a row's cells up to date; what is shown already is not touched. */
  private fill({ row, element }: Line<T>) {
    this.columns.forEach((column, at) => {
      const cell = element.children[at] as HTMLElement;
      const shown = column.show(row);
      if (typeof shown === "string" || !shown) {
        if (cell.textContent !== (shown || "") || cell.firstElementChild) cell.textContent = shown || "";
        if (column.wide) cell.title = (shown || "").slice(0, 2000);
        return;
      }
      if (shown instanceof Element) reach(shown, element === this.current);
      if (!cell.firstChild?.isEqualNode(shown)) cell.replaceChildren(shown);
    });
  }

  /** Has the body be these rows, and moves no more of them than it must. */
  private arrange(wanted: HTMLTableRowElement[]) {
    const kept = new Set<Element>(wanted);
    [...this.body.children].forEach((it) => kept.has(it) || it.remove());
    let at = this.body.firstElementChild;
    for (const row of wanted) {
      if (row === at) at = at.nextElementSibling;
      else this.body.insertBefore(row, at);
    }
  }

  /** Tab leads to this row from now on, and from it to its buttons. */
  private reached(row: HTMLElement | null) {
    if (row === this.current) return;
    for (const [it, isReached] of [[this.current, false], [row, true]] as const) {
      if (!it) continue;
      it.tabIndex = isReached ? 0 : -1;
      reach(it, isReached);
    }
    this.current = row;
  }

  private open(row: T) {
    if (this.options.open) this.options.open(row, () => this.tell(row));
    else this.tell(row);
  }

  /** Says all of a row, with what its columns mean, and what can be done to it. */
  private tell(row: T) {
    const named = this.heads.filter((it) => it.title);
    const item = (head: Head<T>) => {
      const shown = head.show(row);
      return h("div", {}, h("dt", {}, head.title, h("small", {}, head.about)), h("dd", { class: head.wide ? "code" : undefined }, shown || "–"));
    };
    const actions = this.heads.filter((it) => !it.title).map((it) => it.show(row));
    void tell(h("dl", { class: "details" }, ...named.map(item)), actions);
  }
}

/** Whether Tab leads to an element's buttons and links. */
function reach(element: Element, isReached: boolean) {
  element.querySelectorAll<HTMLElement>("button, a").forEach((it) => (it.tabIndex = isReached ? 0 : -1));
  if (element.matches("button, a")) (element as HTMLElement).tabIndex = isReached ? 0 : -1;
}
