// Which indexes statements use, by the servers' EXPLAIN: used and unused ones, what is read whole, what follows.

import { objects, table, type Row } from "../api";
import { h } from "../dom";
import { count } from "../format";
import { Table, type Head } from "../table";
import type { View } from "../view";

const LIMIT = "limit=500";

function text(title: string, name: string, about: string): Head<Row> {
  return { title, about, show: (row) => String(row[name] ?? ""), sort: (row) => String(row[name] ?? "") };
}

function number(title: string, name: string, about: string): Head<Row> {
  return {
    title,
    about,
    numeric: true,
    show: (row) => count(row[name] == null ? null : Number(row[name])),
    sort: (row) => Number(row[name] ?? -1),
  };
}

function wide(title: string, name: string, about: string): Head<Row> {
  return { ...text(title, name, about), wide: true };
}

const TABLE: Head<Row> = {
  title: "Table",
  about: "With its schema.",
  show: (row) => `${row.schema_name}.${row.table_name}`,
  sort: (row) => `${row.schema_name}.${row.table_name}`,
};

const INDEX = text("Index", "index_name", "Its name.");
const COLUMNS = text("Columns", "column_names", "In their order.");

/** A table of the proxy's, and what of it is shown. */
class Part {
  readonly element: HTMLElement;
  rows: Row[] = [];
  private readonly table: Table<Row>;

  constructor(
    title: string,
    about: string,
    private readonly question: string,
    heads: Head<Row>[],
    empty: string,
  ) {
    const opens = heads.some((it) => it.title === "Statement");
    const open = (row: Row) => {
      if (row.digest != null) location.hash = `#digest/${encodeURIComponent(String(row.digest))}`;
    };
    this.table = new Table<Row>(heads, (row) => String(row[""]), { empty, ...(opens ? { open } : {}) });
    this.element = h("section", { class: "card" }, h("h2", {}, title), h("p", { class: "note" }, about), this.table.element);
  }

  async refresh() {
    this.rows = objects(await table(`${this.question}${LIMIT}`)).map((row, at) => ({ ...row, "": at }));
  }

  show(words: string) {
    const has = (row: Row) => Object.values(row).some((it) => String(it).toLowerCase().includes(words));
    this.table.show(words ? this.rows.filter(has) : this.rows);
  }
}

export class Indexes implements View {
  readonly interval = 10;
  readonly element: HTMLElement;
  readonly filter = h("input", { type: "search", placeholder: "Tables, indexes, columns with … ( / )", "aria-label": "Filter" });
  private readonly note = h("p", { class: "note", role: "status" });
  private readonly parts: Part[] = [
    new Part(
      "Suggestions",
      "To be thought about, not to be followed blindly: what counts is what was explained.",
      "index_suggestions?",
      [
        text("What", "suggestion", "add: an index is lacking; drop: another one does its work."),
        TABLE,
        INDEX,
        COLUMNS,
        number("Rows", "rows_total", "About so many rows were looked at for want of it."),
        text("Because", "because", "Why that is suggested."),
        wide("Statement", "statement", "What does it; the proxy never says it."),
      ],
      "Nothing is suggested.",
    ),
    new Part(
      "Full scans",
      "Statements that read a whole table, or the whole of an index; those that look at most rows first.",
      "full_scans?",
      [
        wide("Statement", "digest_text", "Without its values."),
        TABLE,
        text("Type", "type", "ALL: the table; index: an index from its first entry to its last."),
        number("Rows", "row_count", "About how many, each time."),
        number("Count", "count", "How often it has run."),
        number("In all", "rows_total", "Both multiplied."),
        text("By", "column_names", "Columns by which it looks for rows."),
      ],
      "No statement that was explained reads a whole table.",
    ),
    new Part(
      "Used indexes",
      "The most used first: a use is an execution of a statement whose plan has it.",
      "indexes?order=-used&",
      [
        TABLE,
        INDEX,
        COLUMNS,
        number("Used", "used", "Executions of the statements that use it."),
        number("Digests", "digests", "How many different statements use it."),
        number("Length", "max_used_key_len", "Bytes of it that are compared, at most."),
        text("Explained", "last_explained", "When a statement that uses it was explained last, in UTC."),
      ],
      "None is known to be used.",
    ),
    new Part(
      "Unused indexes",
      "Of tables that nothing is known to read, nothing is known.",
      "unused_indexes?",
      [
        TABLE,
        INDEX,
        COLUMNS,
        text("Kept for", "kept_for", "What it is needed for all the same."),
        number("Readers", "table_digests", "How many different statements are known to read its table."),
      ],
      "None is known to be of no use.",
    ),
  ];

  constructor() {
    this.filter.addEventListener("input", () => this.show());
    const bar = h("div", { class: "bar" }, this.filter, this.note);
    this.element = h("div", { class: "indexes" }, bar, ...this.parts.map((it) => it.element));
  }

  async refresh() {
    const [settings] = await Promise.all([
      table("settings?name=insight.index_usage"),
      ...this.parts.map((it) => it.refresh()),
    ]);
    const used = this.parts[2]!;
    used.rows = used.rows.filter((row) => Number(row.used) > 0);
    const isOn = String(objects(settings)[0]?.value) === "true";
    this.note.textContent = isOn
      ? "By the servers' EXPLAIN, once in a while for each digest."
      : "Nothing is explained: insight.index_usage is off. It is among the settings.";
    this.show();
  }

  private show() {
    const words = this.filter.value.trim().toLowerCase();
    this.parts.forEach((it) => it.show(words));
  }
}
