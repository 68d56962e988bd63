// A query editor on the tables of the admin port.

import { check, query, tables, type Rows, type TableFacts } from "../api";
import { confirm } from "../dialogs";
import { h, type Child } from "../dom";
import { cell, count, time, type Cell } from "../format";
import { mayChange } from "../identity";
import { forget, isReading, keep, kept } from "../statements";
import { Table, type Head } from "../table";
import type { View } from "../view";

/** Rows that are put on the page. */
const SHOWN = 1000;

const EXAMPLES: [title: string, sql: string][] = [
  ["Statements by time", "SELECT digest_text, sum(count) AS executions, sum(total_us) / sum(count) AS average_us\nFROM digests GROUP BY digest ORDER BY sum(total_us) DESC LIMIT 20"],
  ["Sessions by user", "SELECT user, count(*) AS sessions, sum(state = 'running') AS running\nFROM sessions GROUP BY user ORDER BY 2 DESC"],
  ["Settings that are not at their default", "SELECT name, value, default_value FROM settings WHERE NOT is_default"],
  ["Why connections were closed", "SELECT backend, account, closed, closed_idle_too_long, closed_broken, closed_ended FROM pools"],
  ["The load of the last hour", "SELECT time, backend, statements, p50_us, p99_us FROM load_history\nWHERE start > strftime('%s', 'now') - 3600 ORDER BY start DESC"],
];

type ResultRow = { [place: string]: Cell };

export class QueryEditor implements View {
  readonly interval = 3600;
  readonly element: HTMLElement;
  private readonly text = h("textarea", { "aria-label": "Statement", rows: 5, spellcheck: "false", autocomplete: "off", placeholder: "SELECT * FROM backends" });
  private readonly status = h("p", { class: "note", role: "status" });
  private readonly result = h("div", { class: "result" });
  private readonly catalogue = h("div", { class: "catalogue" });
  private readonly past = h("ul", { class: "past" });
  private readonly examples = h("p", { class: "examples" }, "Examples:", ...EXAMPLES.map(([title, sql]) => h("button", { type: "button", class: "small", onclick: () => this.put(sql) }, title)));
  private facts: TableFacts[] = [];

  constructor() {
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      void this.run();
    });
    const button = (title: string, act: () => void, kind = "") => h("button", { type: "button", class: kind, onclick: act }, title);
    const buttons = h(
      "div",
      { class: "buttons" },
      button("Run (Ctrl+Enter)", () => void this.run(), "primary"),
      mayChange() && button("Show what it would change", () => void this.preview()),
    );
    const about = mayChange()
      ? "The tables are those of the admin port, and the SQL is SQLite's. A statement that changes something is asked about first."
      : "The tables are those of the admin port, and the SQL is SQLite's. You may read all of them; the proxy refuses changes.";
    const editor = h("section", { class: "card" }, h("h2", {}, "Statement"), h("p", { class: "note" }, about), this.text, buttons, this.status, this.examples);
    this.result.append(h("section", { class: "card" }, h("h2", {}, "Result"), h("p", { class: "note" }, "The result of a statement is shown here.")));
    const past = h("section", { class: "card" }, h("h2", {}, "Statements that you have run"), this.past);
    const known = h("section", { class: "card" }, h("h2", {}, "Tables"), this.catalogue);
    this.element = h("div", { class: "editor" }, h("div", {}, editor, this.result), h("div", {}, known, past));
    this.drawPast();
  }

  take(rest: string) {
    this.text.value = rest;
  }

  async refresh() {
    if (this.facts.length) return;
    this.facts = await tables();
    this.catalogue.replaceChildren(...this.facts.map((it) => this.tableFacts(it)));
  }

  /** A table with its columns; a click on one writes it into the statement. */
  private tableFacts({ name, about, columns }: TableFacts): HTMLElement {
    const column = (it: { name: string; about: string }) =>
      h("li", {}, h("button", { type: "button", class: "word", title: it.about, onclick: () => this.insert(it.name) }, it.name));
    const select = h("button", { type: "button", class: "small", onclick: () => this.put(`SELECT * FROM ${name} LIMIT 100`) }, "Select from it");
    return h("details", {}, h("summary", { title: about }, name), h("p", { class: "note" }, about), select, h("ul", {}, ...columns.map(column)));
  }

  private insert(words: string) {
    this.text.setRangeText(words, this.text.selectionStart, this.text.selectionEnd, "end");
    this.text.focus();
  }

  private put(sql: string) {
    this.text.value = sql;
    this.text.focus();
    void this.run();
  }

  private drawPast() {
    const item = (title: string, sql: string) => h("li", {}, h("button", { type: "button", class: "word", title: sql, onclick: () => this.put(sql) }, title));
    const statements = kept();
    const clear = h("button", { type: "button", class: "small", onclick: () => (forget(), this.drawPast()) }, "Forget them");
    const past = statements.map((sql) => item(sql.length > 100 ? `${sql.slice(0, 99)}…` : sql, sql));
    const nothing = h("li", { class: "note" }, "There is none yet. The browser keeps statements that read.");
    this.past.replaceChildren(...(statements.length ? [...past, h("li", {}, clear)] : [nothing]));
  }

  private say(words: Child, kind = "") {
    this.status.replaceChildren(...(words ? [words] : []));
    this.status.dataset.kind = kind;
  }

  private async run() {
    const sql = this.text.value.trim();
    if (!sql) return this.say("There is no statement.", "bad");
    if (!isReading(sql) && mayChange()) {
      const question = h("div", {}, h("p", {}, "The statement may change something. Run it?"), h("pre", { class: "statement" }, sql));
      if (!(await confirm(question, "Run it"))) return;
    }
    await this.attempt(() => query(sql));
    keep(sql);
    this.drawPast();
  }

  private async preview() {
    const sql = this.text.value.trim();
    if (!sql) return this.say("There is no statement.", "bad");
    await this.attempt(() => check(sql));
  }

  /** Shows the result of what is asked, or the error. */
  private async attempt(ask: () => Promise<Rows>) {
    const began = performance.now();
    this.say("The statement runs …");
    try {
      this.show(await ask(), performance.now() - began);
    } catch (error) {
      this.result.replaceChildren();
      this.say((error as Error).message, "bad");
    }
  }

  private show(told: Rows, milliseconds: number) {
    const rows = told.rows.length;
    const cut = rows > SHOWN ? ` The first ${SHOWN} are shown.` : "";
    const words = told.columns.length ? `${count(rows)} ${rows === 1 ? "row" : "rows"}, ${time(milliseconds * 1000)}.${cut}` : "It is done.";
    this.say([words, ...told.warnings].join(" "));
    if (!told.columns.length) return this.result.replaceChildren();
    const table = new Table<ResultRow>(told.columns.map((it, at) => head(it.name, it.type, at)), (row) => String(row[""]), { label: "Result", empty: "There is no row." });
    table.show(told.rows.slice(0, SHOWN).map((row, at) => ({ ...Object.fromEntries(row.map((value, place) => [`${place}`, value])), "": at })));
    this.result.replaceChildren(h("section", { class: "card" }, h("h2", {}, "Result"), table.element));
  }
}

/** A column; two columns may have the same name. */
function head(name: string, type: string, at: number): Head<ResultRow> {
  const value = (row: ResultRow) => row[`${at}`] ?? null;
  return {
    title: name || "?",
    numeric: type === "integer",
    show: (row) => {
      const it = value(row);
      return it === null ? h("span", { class: "null" }, "NULL") : typeof it === "number" ? String(it) : cell(it, null);
    },
    sort: (row) => value(row) ?? (type === "integer" ? -Infinity : ""),
  };
}
