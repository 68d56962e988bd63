// Tables as they are, with what their columns mean.

import { objects, table, type Row, type Rows } from "../api";
import { h } from "../dom";
import { cell } from "../format";
import { Table } from "../table";
import type { View } from "../view";

interface Shown {
  title: string;
  /** As `/api/tables` takes it. */
  question: string;
  empty: string;
  /** What columns are called here, where that says more than their names. */
  titles?: Record<string, string>;
}

/** One table, shown as it is; made when its columns are known. */
class Plain {
  readonly element: HTMLElement;
  private readonly about = h("p", { class: "note" });
  private table: Table<Row> | null = null;

  constructor(private readonly shown: Shown) {
    this.element = h("section", { class: "card" }, h("h2", {}, shown.title), this.about);
  }

  async refresh() {
    const rows = await table(this.shown.question);
    if (!this.table) {
      this.table = this.made(rows);
      this.element.append(this.table.element);
    }
    const about = (rows as Rows & { about?: string }).about ?? "";
    this.about.textContent = [about, ...rows.warnings].join(" ");
    const numbered = objects(rows).map((row, at) => ({ ...row, "": at }));
    this.table.show(numbered);
  }

  private made(rows: Rows): Table<Row> {
    const heads = rows.columns.map(({ name, unit, about, type }) => ({
      title: this.shown.titles?.[name] ?? name.replaceAll("_", " ").replace(/ us$/, ""),
      about,
      numeric: type === "integer",
      wide: ["message", "statement", "what", "text", "details", "conditions", "actions"].includes(name),
      show: (row: Row) => cell(row[name] ?? null, unit, name),
      sort: (row: Row) => row[name] ?? (type === "integer" ? -1 : ""),
    }));
    return new Table<Row>(heads, (row) => String(row[""]), { empty: this.shown.empty });
  }
}

export class Tables implements View {
  readonly interval = 5;
  readonly element: HTMLElement;
  private readonly plain: Plain[];

  constructor(...shown: Shown[]) {
    this.plain = shown.map((it) => new Plain(it));
    this.element = h("div", {}, ...this.plain.map((it) => it.element));
  }

  async refresh() {
    await Promise.all(this.plain.map((it) => it.refresh()));
  }
}
