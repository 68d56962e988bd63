// Which indexes statements use, by the servers' EXPLAIN: used and unused ones, what is read whole, what follows.

import { objects, table, type Row } from "../api";
import { h } from "../dom";
import { count } from "../format";
import { digestLink } from "../part";
import type { Head } from "../table";
import { Parts } from "./parts";

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
const CLUSTER: Head<Row> = { ...text("Cluster", "cluster", "The backends that have it."), aside: true };

const DIGEST: Head<Row> = { title: "Digest", about: "The page of the statement that looked at most rows.", show: (row) => digestLink(row.digest), aside: true };

/** What tells indexes apart. */
const KEY = ["cluster", "schema_name", "table_name", "index_name"];

export class Indexes extends Parts {
  readonly interval = 10;

  constructor() {
    super(
      {
        title: "Suggestions",
        about: "To be thought about, not to be followed blindly: what counts is what was explained.",
        question: `index_suggestions?${LIMIT}`,
        key: [...KEY, "suggestion", "column_names"],
        heads: [
          text("What", "suggestion", "add: an index is lacking; drop: another one does its work."),
          TABLE,
          INDEX,
          COLUMNS,
          CLUSTER,
          number("Rows", "rows_total", "About so many rows were looked at for want of it."),
          text("Because", "because", "Why that is suggested."),
          wide("Statement", "statement", "What does it; the proxy never says it."),
          DIGEST,
        ],
        empty: "Nothing is suggested.",
      },
      {
        title: "Full scans",
        about: "Statements that read a whole table, or the whole of an index; those that look at most rows first.",
        question: `full_scans?${LIMIT}`,
        key: ["digest", "db", ...KEY],
        heads: [
          wide("Statement", "digest_text", "Without its values."),
          TABLE,
          text("Type", "type", "ALL: the table; index: an index from its first entry to its last."),
          number("Rows", "row_count", "About how many, each time."),
          number("Count", "count", "How often it has run."),
          number("In all", "rows_total", "Both multiplied."),
          text("By", "column_names", "Columns by which it looks for rows."),
        ],
        empty: "No statement that was explained reads a whole table.",
        leads: true,
      },
      {
        title: "Used indexes",
        about: "The most used first: a use is an execution of a statement whose plan has it.",
        question: `indexes?order=-used&${LIMIT}`,
        key: KEY,
        heads: [
          TABLE,
          INDEX,
          COLUMNS,
          CLUSTER,
          number("Used", "used", "Executions of the statements that use it."),
          number("Digests", "digests", "How many different statements use it."),
          number("Length", "max_used_key_len", "Bytes of it that are compared, at most."),
          text("Explained", "last_explained", "When a statement that uses it was explained last, in UTC."),
        ],
        empty: "None is known to be used.",
        keep: (row) => Number(row.used) > 0,
      },
      {
        title: "Unused indexes",
        about: "Of tables that nothing is known to read, nothing is known.",
        question: `unused_indexes?${LIMIT}`,
        key: KEY,
        heads: [
          TABLE,
          INDEX,
          COLUMNS,
          CLUSTER,
          text("Kept for", "kept_for", "What it is needed for all the same."),
          number("Readers", "table_digests", "How many different statements are known to read its table."),
        ],
        empty: "None is known to be of no use.",
      },
    );
    this.element.classList.add("indexes");
  }

  async refresh() {
    const [settings] = await Promise.all([table("settings?name=insight.index_usage"), super.refresh()]);
    const isOn = String(objects(settings)[0]?.value) === "true";
    const off = ["Nothing is explained: ", h("a", { href: "#settings/insight.index_usage" }, "insight.index_usage"), " is off."];
    this.note.replaceChildren(...(isOn ? ["By the servers' EXPLAIN, once in a while for each digest."] : off));
  }
}
