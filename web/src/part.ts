// A table of the proxy's as a part of a view: what it is about, and its rows.

import { objects, table, type Column, type Row, type Rows } from "./api";
import { h } from "./dom";
import { cell, type Cell } from "./format";
import { Table, type Head } from "./table";

export interface Shown {
  title: string;
  /** As `/api/tables` takes it. */
  question: string;
  /** What is said where there is no row. */
  empty: string;
  /** Columns that tell rows apart. */
  key: string[];
  /** What is to be known of all of it; without this, what the proxy says of the table. */
  about?: string;
  /** What is shown of it; without this all columns, by their names and what the proxy says of them. */
  heads?: Head<Row>[];
  /** What columns are called, where that says more than their names. */
  titles?: Record<string, string>;
  /** What values are called, column by column, where the table has words of its own for them. */
  values?: Record<string, (value: Cell) => string>;
  /** Columns that are told of a row that is opened, and not shown otherwise. */
  aside?: string[];
  /** Rows that are shown; without this all. */
  keep?: (row: Row) => boolean;
  /** Whether a row leads to the page of its digest, if it has one. */
  leads?: boolean;
}

/** Columns whose texts are long. */
const LONG = new Set(["message", "statement", "text", "conditions", "actions"]);

/** Columns that tell when something was. */
const TIMES = new Set(["time", "ended", "first_seen", "last_seen", "since"]);

const TITLES: Record<string, string> = { db: "Schema", sqlstate: "SQLSTATE", last_gtid: "Last GTID" };

/** A column's name as people write it. */
function titled(name: string): string {
  const words = name.replaceAll("_", " ").replace(/ (us|seconds)$/, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Where the page of a digest is. */
export function digestPage(digest: unknown): string {
  return `#digest/${encodeURIComponent(String(digest))}`;
}

/** Where a digest's page is opened by its name. */
export function digestLink(digest: unknown): HTMLElement | string {
  return digest == null ? "" : h("a", { href: digestPage(digest) }, String(digest));
}

export class Part {
  readonly element: HTMLElement;
  private readonly about = h("p", { class: "note" });
  /** It is made when the columns are known. */
  private table: Table<Row> | null = null;
  private rows: Row[] = [];

  constructor(private readonly shown: Shown) {
    this.element = h("section", { class: "card" }, h("h2", {}, shown.title), this.about);
  }

  /** Asks for the rows; they are shown by `show`. */
  async refresh() {
    const told = await table(this.shown.question);
    if (!this.table) {
      this.table = this.made(told);
      this.element.append(this.table.element);
    }
    this.about.textContent = [this.shown.about ?? told.about ?? "", ...told.warnings].join(" ");
    this.rows = objects(told).filter(this.shown.keep ?? (() => true));
  }

  /** Shows the rows that have this, in lower case, somewhere. */
  show(words: string) {
    const has = (row: Row) => Object.values(row).some((it) => it !== null && String(it).toLowerCase().includes(words));
    this.table?.show(words ? this.rows.filter(has) : this.rows);
  }

  private made(told: Rows): Table<Row> {
    const { key, title, empty, leads } = this.shown;
    const open = (row: Row, tell: () => void) => {
      if (row.digest == null) tell();
      else location.hash = digestPage(row.digest);
    };
    const heads = this.shown.heads ?? told.columns.map((it) => this.head(it));
    return new Table<Row>(heads, (row) => key.map((it) => row[it]).join("\n"), { label: title, empty, open: leads ? open : undefined });
  }

  private head({ name, unit, about, type }: Column): Head<Row> {
    const inWords = this.shown.values?.[name];
    return {
      title: this.shown.titles?.[name] ?? TITLES[name] ?? titled(name),
      about,
      numeric: type === "integer" && !inWords,
      wide: LONG.has(name),
      time: TIMES.has(name),
      aside: this.shown.aside?.includes(name),
      show: (row) => {
        if (name === "digest") return digestLink(row[name]);
        const value = row[name] ?? null;
        return inWords ? inWords(value) : cell(value, unit, name);
      },
      sort: (row) => row[name] ?? (type === "integer" ? -1 : ""),
    };
  }
}
