// Every setting with what it is for; changed in place, after a look at what that means.

import { objects, query, table, type Row } from "../api";
import { confirm, tell } from "../dialogs";
import { h } from "../dom";
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
      { title: "Takes effect", show: (row) => String(row.applies), sort: (row) => String(row.applies) },
      { title: "", show: (row) => this.button(row) },
    ],
    (row) => String(row.name),
    { empty: "There is no such setting." },
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
    // Items of lists are changed in their own tables.
    if (String(row.name).includes("[")) return null;
    return h("button", { type: "button", class: "small", onclick: () => void this.edit(row) }, "Change");
  }

  private async edit(row: Row) {
    const input = h("input", { type: "text", value: String(row.value), "aria-label": "New value" });
    const preview = h("p", { class: "note" });
    const show = () => {
      const same = input.value === String(row.value);
      preview.textContent = same
        ? "Nothing changes."
        : `${row.value || "nothing"} → ${input.value || "nothing"}; takes effect: ${row.applies}. It is in the file when it is saved.`;
    };
    input.addEventListener("input", show);
    show();
    const form = h("div", {}, h("h2", {}, String(row.name)), h("p", {}, plain(String(row.about))), input, preview);
    if (!(await confirm(form, "Change"))) return;
    if (input.value === String(row.value)) return;
    try {
      const { warnings } = await query("UPDATE settings SET value = ? WHERE name = ?", input.value, row.name ?? null);
      if (warnings.length) await tell(warnings.join(" "));
    } catch (error) {
      await tell((error as Error).message);
    }
    await this.refresh();
  }
}

/** The manual's text without its marks. */
function plain(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");
}
