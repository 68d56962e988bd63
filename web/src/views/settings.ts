// Every setting with what it is for; changed in place, after a look at what that means.

import { check, objects, query, table, type Row, type Rows } from "../api";
import { change, confirm, tell } from "../dialogs";
import { h, type Child } from "../dom";
import { Table } from "../table";
import type { View } from "../view";

export class Settings implements View {
  readonly interval = 10;
  readonly element: HTMLElement;
  readonly filter = h("input", { type: "search", placeholder: "Settings with … ( / )", "aria-label": "Filter" });
  private readonly only = h("input", { type: "checkbox" });
  private readonly unsaved = h("section", { class: "card", hidden: true });
  private rows: Row[] = [];
  private readonly table = new Table<Row>(
    [
      { title: "Setting", show: (row) => h("code", {}, String(row.name)), sort: (row) => String(row.name) },
      {
        title: "Value",
        show: (row) => h("span", { class: row.is_default === 1 ? "value" : "value changed" }, String(row.value)),
        sort: (row) => String(row.value),
      },
      { title: "Default", show: (row) => String(row.default_value), sort: (row) => String(row.default_value) },
      { title: "What it is for", show: (row) => plain(String(row.about)) },
      { title: "Takes effect", show: effect, sort: effect },
      { title: "", show: (row) => this.button(row) },
    ],
    (row) => String(row.name),
    {
      label: "Settings",
      empty: "No setting matches.",
      open: (row, tell) => (isItem(row) ? tell() : void this.edit(row)),
    },
  );

  constructor() {
    this.filter.addEventListener("input", () => this.show());
    this.only.addEventListener("change", () => this.show());
    this.element = h(
      "div",
      { class: "settings" },
      h("div", { class: "bar" }, this.filter, h("label", {}, this.only, " only what is not at its default")),
      this.unsaved,
      h("section", { class: "card" }, this.table.element),
    );
  }

  async refresh() {
    this.rows = objects(await table("settings"));
    this.show();
    await this.showChanges();
  }

  private show() {
    const words = this.filter.value.toLowerCase();
    const fits = (row: Row) =>
      (!this.only.checked || row.is_default === 0) &&
      `${row.name} ${row.value} ${row.about}`.toLowerCase().includes(words);
    this.table.show(this.rows.filter(fits));
  }

  /** What runs and is not in the file. */
  private async showChanges() {
    const changes = objects(await query("SHOW CHANGES"));
    this.unsaved.hidden = changes.length === 0;
    const item = (it: Row) =>
      h("li", {}, h("code", {}, String(it.setting)), `: ${it.in_file ?? "nothing"} → ${it.becomes ?? "nothing"}, takes effect ${it.takes_effect}`);
    const button = (text: string, sql: string) =>
      h("button", { type: "button", class: "small", onclick: () => void this.run(sql, `${text}?`, text) }, text);
    this.unsaved.replaceChildren(
      h("h2", {}, "Changed, and not in the file"),
      h("ul", {}, ...changes.map(item)),
      h("div", { class: "buttons" }, button("Save to the file", "SAVE"), button("Back to the file", "REVERT")),
    );
  }

  private async run(sql: string, text: string, yes: string) {
    if (!(await confirm(text, yes))) return;
    await query(sql).catch((error: Error) => tell(error.message));
    await this.refresh();
  }

  private button(row: Row) {
    if (isItem(row)) return null;
    return h("button", { type: "button", class: "small", onclick: () => void this.edit(row) }, "Change");
  }

  private async edit(row: Row) {
    const sql = "UPDATE settings SET value = ? WHERE name = ?";
    const name = row.name ?? null;
    const about = [h("h2", {}, String(name)), h("p", {}, plain(String(row.about)))];
    let warnings: string[] = [];
    const look = async (value: string) => comesTo(await check(sql, value, name));
    await change(about, String(row.value), look, async (value) => {
      ({ warnings } = await query(sql, value, name));
    });
    if (warnings.length) await tell(warnings.join(" "));
    await this.refresh();
  }
}

/** Whether it is an item of a list: those are changed in their own tables. */
function isItem(row: Row): boolean {
  return String(row.name).includes("[");
}

/** What the proxy has said that a change would come to. */
function comesTo(told: Rows): Child {
  const changes = objects(told);
  const item = (it: Row) =>
    h("li", {}, h("code", {}, String(it.setting)), `: ${it.holds || "nothing"} → ${it.becomes || "nothing"}, takes effect ${it.takes_effect}`);
  const warning = (it: string) => h("p", { class: "warning" }, it);
  if (!changes.length) return h("div", {}, h("p", {}, "Nothing changes."), ...told.warnings.map(warning));
  const saved = h("p", {}, "Save the change to write it to the file.");
  return h("div", {}, h("ul", {}, ...changes.map(item)), ...told.warnings.map(warning), saved);
}

/** When a change that is made here holds. */
function effect(row: Row): string {
  return row.applies === "needs a restart" ? "at a restart" : "at once";
}

/** The manual's text without its marks. */
function plain(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");
}
