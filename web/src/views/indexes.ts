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
  about: "The table with its schema.",
  show: (row) => `${row.schema_name}.${row.table_name}`,
  sort: (row) => `${row.schema_name}.${row.table_name}`,
};

const INDEX = text("Index", "index_name", "The name of the index.");
const COLUMNS = text("Columns", "column_names", "The columns in the order of the index.");
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
        about: "Think about each suggestion before you follow it: it knows only statements that were explained.",
        question: `index_suggestions?${LIMIT}`,
        key: [...KEY, "suggestion", "column_names"],
        heads: [
          text("What", "suggestion", "add: an index is lacking; drop: another one does its work."),
          TABLE,
          INDEX,
          COLUMNS,
          CLUSTER,
          number("Rows", "rows_total", "The number of rows that statements read because the index is missing, roughly."),
          text("Because", "because", "The reason for the suggestion."),
          wide("Statement", "statement", "The statement that carries the suggestion out; the proxy never executes it."),
          DIGEST,
        ],
        empty: "There is no suggestion.",
      },
      {
        title: "Full scans",
        about: "Statements that read a whole table or a whole index; the statement that reads the most rows comes first.",
        question: `full_scans?${LIMIT}`,
        key: ["digest", "db", ...KEY],
        heads: [
          wide("Statement", "digest_text", "Without its values."),
          TABLE,
          text("Type", "type", "ALL: the table; index: an index from its first entry to its last."),
          number("Rows", "row_count", "The rows of one execution, roughly."),
          number("Count", "count", "The number of executions."),
          number("In all", "rows_total", "The rows of one execution times the number of executions."),
          text("By", "column_names", "The columns by which the statement looks for rows."),
        ],
        empty: "No statement that was explained reads a whole table.",
        leads: true,
      },
      {
        title: "Used indexes",
        about: "The index that is used most comes first. A use is an execution of a statement whose plan has the index.",
        question: `indexes?order=-used&${LIMIT}`,
        key: KEY,
        heads: [
          TABLE,
          INDEX,
          COLUMNS,
          CLUSTER,
          number("Used", "used", "Executions of the statements that use it."),
          number("Digests", "digests", "The number of different statements that use the index."),
          number("Length", "max_used_key_len", "The bytes of the index that are compared, at most."),
          text("Explained", "last_explained", "The last time that a statement that uses the index was explained, in UTC."),
        ],
        empty: "No index is known to be used.",
        keep: (row) => Number(row.used) > 0,
      },
      {
        title: "Unused indexes",
        about: "The proxy knows nothing about indexes of tables that no known statement reads.",
        question: `unused_indexes?${LIMIT}`,
        key: KEY,
        heads: [
          TABLE,
          INDEX,
          COLUMNS,
          CLUSTER,
          text("Kept for", "kept_for", "The constraint that needs the index."),
          number("Readers", "table_digests", "The number of different statements that are known to read the table."),
        ],
        empty: "No index is known to be unused.",
      },
    );
    this.element.classList.add("indexes");
  }

  async refresh() {
    const [settings] = await Promise.all([table("settings?name=statement_stats.index_usage"), super.refresh()]);
    const isOn = String(objects(settings)[0]?.value) === "true";
    const off = ["Nothing is explained: ", h("a", { href: "#settings/statement_stats.index_usage" }, "statement_stats.index_usage"), " is off."];
    this.note.replaceChildren(...(isOn ? ["The servers' EXPLAIN says so; the proxy runs it now and then for each digest."] : off));
  }
}
