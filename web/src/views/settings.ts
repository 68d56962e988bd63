// Every setting with its purpose, group by group. Before a change the proxy says what it comes to; it can be undone.

import { objects, query, table, type Row, type Rows } from "../api";
import { change as ask, confirm, tell } from "../dialogs";
import { h, type Child } from "../dom";
import { mayChange } from "../identity";
import { Table } from "../table";
import { Undo, asItIs, change, foresee, isSecret } from "../undo";
import type { View } from "../view";

/** A group of settings, as the manual has it. */
interface Group {
  title: string;
  element: HTMLElement;
  count: HTMLElement;
  table: Table<Row>;
}

export class Settings implements View {
  readonly interval = 10;
  readonly element: HTMLElement;
  readonly filter = h("input", { type: "search", placeholder: "Filter settings ( / )", "aria-label": "Filter" });
  private readonly only = h("input", { type: "checkbox" });
  private readonly chosen = h("select", { "aria-label": "Group" }, h("option", { value: "" }, "All groups"));
  private readonly unsaved = h("section", { class: "card", hidden: true });
  private readonly undo = new Undo(() => this.refresh(), comesTo);
  private readonly nothing = h("p", { class: "card note", role: "status", hidden: true }, "No setting matches.");
  private readonly place = h("div");
  private readonly groups = new Map<string, Group>();
  private rows: Row[] = [];

  constructor() {
    for (const it of [this.filter, this.only, this.chosen]) it.addEventListener("input", () => this.show());
    const only = h("label", {}, this.only, " only settings that are not at their default");
    this.element = h("div", { class: "settings" }, h("div", { class: "bar" }, this.filter, this.chosen, only), this.undo.element, this.unsaved, this.nothing, this.place);
  }

  take(rest: string) {
    [this.filter.value, this.chosen.value, this.only.checked] = [rest, "", false];
  }

  async refresh() {
    this.rows = objects(await table("settings"));
    for (const title of new Set(this.rows.map((it) => String(it.section)))) if (!this.groups.has(title)) this.add(title);
    this.show();
    await this.showChanges();
  }

  private add(title: string) {
    const settings = new Table<Row>(
      [
        { title: "Setting", show: (row) => h("code", {}, String(row.name)), sort: (row) => String(row.name) },
        {
          title: "Value",
          show: (row) => (row.value === "" ? null : h("span", { class: row.is_default === 1 ? "value" : "value changed" }, String(row.value))),
          sort: (row) => String(row.value),
        },
        { title: "Default", show: (row) => String(row.default_value), sort: (row) => String(row.default_value) },
        { title: "What it is for", show: (row) => plain(String(row.about)) },
        { title: "Takes effect", show: effect, sort: effect },
        { title: "", acts: true, show: (row) => this.button(row) },
      ],
      (row) => String(row.name),
      {
        label: title,
        empty: "No setting matches.",
        open: (row, tell) => (isItem(row) || !mayChange() ? tell() : void this.edit(row)),
      },
    );
    const count = h("small");
    const element = h("section", { class: "card" }, h("h2", {}, title, " ", count), settings.element);
    this.groups.set(title, { title, element, count, table: settings });
    this.chosen.append(h("option", { value: title }, title));
  }

  private show() {
    const words = this.filter.value.toLowerCase();
    const fits = (row: Row) =>
      (!this.only.checked || row.is_default === 0) && `${row.name} ${row.value} ${row.about} ${row.section}`.toLowerCase().includes(words);
    const rows = this.rows.filter(fits);
    const shown: HTMLElement[] = [];
    for (const { title, element, count, table } of this.groups.values()) {
      const own = rows.filter((it) => it.section === title && (!this.chosen.value || this.chosen.value === title));
      table.show(own);
      const changed = own.filter((it) => it.is_default === 0).length;
      count.textContent = changed ? `${own.length}, of these ${changed} not at their default` : String(own.length);
      if (own.length) shown.push(element);
    }
    this.nothing.hidden = shown.length > 0 || !this.rows.length;
    // A group that stays keeps its focus.
    for (const it of [...this.place.children]) if (!shown.includes(it as HTMLElement)) it.remove();
    shown.forEach((it, at) => this.place.children[at] === it || this.place.insertBefore(it, this.place.children[at] ?? null));
  }

  /** The settings that differ from the file. */
  private async showChanges() {
    const changes = objects(await query("SHOW CHANGES"));
    this.unsaved.hidden = changes.length === 0;
    const item = (it: Row) =>
      h(
        "li",
        {},
        h("code", {}, String(it.setting)),
        `: ${it.in_file ?? "nothing"} → ${it.becomes ?? "nothing"}, takes effect ${it.takes_effect} `,
        mayChange() && this.canUndo(it) && h("button", { type: "button", class: "small", onclick: () => void this.back(it) }, "Undo"),
      );
    const button = (text: string, sql: string) =>
      h("button", { type: "button", class: "small", onclick: () => void this.run(sql, `${text}?`, text) }, text);
    const items = h("ul", {}, ...changes.map(item));
    if (this.unsaved.querySelector("ul")?.isEqualNode(items)) return;
    this.unsaved.replaceChildren(
      h("h2", {}, "Changed, and not in the file"),
      items,
      ...(mayChange() ? [h("div", { class: "buttons" }, button("Save to the file", "SAVE"), button("Back to the file", "REVERT"))] : []),
    );
  }

  /** Whether the page can write again what the file has. */
  private canUndo(it: Row): boolean {
    const row = this.rows.find((row) => row.name === it.setting);
    return row !== undefined && !isItem(row) && !isSecret(row);
  }

  /** Takes one setting back to what the file has. */
  private async back(it: Row) {
    const name = String(it.setting);
    const isDefault = it.in_file === null || it.in_file === this.rows.find((row) => row.name === name)?.default_value;
    const value = isDefault ? null : String(it.in_file);
    try {
      const question = h("div", {}, h("p", {}, `Take ${name} back to what the file has?`), comesTo(await foresee(name, value)));
      if (await confirm(question, "Undo")) await change(name, value);
    } catch (error) {
      await tell((error as Error).message);
    }
    await this.refresh();
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
    const name = String(row.name);
    const about = [h("h2", {}, name), h("p", {}, plain(String(row.about))), h("p", { class: "note" }, `The default is ${row.default_value || "nothing"}.`)];
    const before = asItIs(row);
    const [shown, secret] = [String(row.value), isSecret(row)];
    let warnings: string[] = [];
    await ask(about, shown, async (value) => comesTo(await foresee(name, value)), async (value) => {
      ({ warnings } = await change(name, value));
      if (!secret && value !== shown) this.undo.note(name, before, value);
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

/** When a change that is made here takes effect. */
function effect(row: Row): string {
  return row.applies === "needs a restart" ? "at a restart" : "at once";
}

/** The manual's text without its marks. */
function plain(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");
}
