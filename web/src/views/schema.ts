// The changes of schemas on a time line; a change shows the objects before and after it, side by side.

import { objects, query, type Row } from "../api";
import { sideBySide } from "../diff";
import { h } from "../dom";
import { seconds } from "../format";
import { objectName } from "../object_name";
import type { View } from "../view";

const SHOWN = 200;

const WORDS = "lower(kind || ' ' || coalesce(db, '') || ' ' || coalesce(object, '') || ' ' || coalesce(others, '') || ' ' || coalesce(statement, '') || ' ' || coalesce(account, '') || ' ' || cluster)";
const CHANGES = `SELECT id, stream, cluster, time, gtid, kind, db, object, object_kind, others, statement, account, host, seconds, error_code, tool
  FROM schema_changes WHERE (step_of IS NULL AND instr(${WORDS}, lower(?)) > 0) OR id = ? ORDER BY id DESC LIMIT ${SHOWN}`;
const VERSIONS = `SELECT db, object, kind, made_by, ended_by, definition, fault FROM schema_versions
  WHERE made_by = ? OR ended_by = ? ORDER BY db, kind, object`;
const STREAMS = "SELECT count(*) AS count FROM replication";

export class Schema implements View {
  readonly interval = 10;
  readonly element: HTMLElement;
  readonly filter = h("input", { type: "search", placeholder: "Filter changes ( / )", "aria-label": "Filter" });
  private readonly note = h("p", { class: "note", role: "status" });
  private readonly list = h("ol", { class: "times" });
  private readonly detail = h("section", { class: "card change", "aria-live": "polite" });
  /** The change that is shown. */
  private chosen = -1;
  /** The change whose detail is on the page. */
  private shown = -1;
  private told = "";

  constructor() {
    this.filter.addEventListener("input", () => void this.refresh().catch(() => {}));
    const line = h("section", { class: "card" }, h("h2", {}, "Time line"), this.list);
    this.element = h("div", { class: "schema" }, h("div", { class: "bar" }, this.filter, this.note), h("div", { class: "line-and-change" }, line, this.detail));
  }

  take(rest: string) {
    this.chosen = Number(rest) || -1;
  }

  async refresh() {
    const changes = objects(await query(CHANGES, this.filter.value, this.chosen));
    if (!changes.length) return this.tellNothing();
    this.note.textContent = changes.length === SHOWN ? `The last ${SHOWN} changes are shown.` : `${changes.length} changes`;
    const change = changes.find((it) => it.id === this.chosen) ?? changes[0]!;
    this.chosen = Number(change.id);
    this.drawLine(changes);
    if (this.shown !== this.chosen) await this.drawChange(change);
  }

  /** Says why there is no change. */
  private async tellNothing() {
    const [streams] = objects(await query(STREAMS));
    const isFollowed = Number(streams?.count) > 0;
    const words = this.filter.value
      ? "No change matches."
      : isFollowed
        ? "No schema has changed since the proxy follows the cluster."
        : "The proxy follows no cluster. Tables [[replication]] and [schema_history] in the settings make it keep a history of schemas.";
    this.note.textContent = "";
    this.list.replaceChildren(h("li", { class: "note" }, words));
    this.detail.hidden = true;
    [this.shown, this.told] = [-1, ""];
  }

  /** The days, and the changes of each, the latest first. */
  private drawLine(changes: Row[]) {
    const told = JSON.stringify([this.chosen, changes.map((it) => it.id)]);
    if (told === this.told) return;
    this.told = told;
    const hadFocus = this.list.contains(document.activeElement);
    let day = "";
    const items = changes.flatMap((it) => {
      const [date = "", clock = ""] = String(it.time).split(" ");
      const head = date === day ? [] : [h("li", { class: "day" }, date)];
      day = date;
      return [...head, this.item(it, clock)];
    });
    this.list.replaceChildren(...items);
    if (hadFocus) this.list.querySelector<HTMLElement>("[aria-current]")?.focus();
  }

  private item(change: Row, clock: string): HTMLElement {
    const isChosen = change.id === this.chosen;
    const link = h(
      "a",
      { href: `#schema/${change.id}`, "aria-current": isChosen ? "true" : undefined, class: Number(change.error_code) ? "failed" : undefined },
      h("time", {}, clock.slice(0, 8)),
      h("span", {}, h("strong", {}, String(change.kind)), ` ${objectName(change, change.object_kind)}`, change.account != null && h("small", {}, `by ${change.account}`)),
    );
    return h("li", {}, link);
  }

  private async drawChange(change: Row) {
    const id = Number(change.id);
    const versions = objects(await query(VERSIONS, id, id));
    if (id !== this.chosen) return;
    this.shown = id;
    const who = change.account == null ? "The user is not known" : `By ${change.account}${change.host == null ? "" : `@${change.host}`}`;
    const facts = [`${change.time} UTC`, who, `cluster ${change.cluster}`, `took ${seconds(Number(change.seconds))}`];
    if (change.tool != null) facts.push(`made by ${change.tool}`);
    if (change.gtid != null) facts.push(`transaction ${change.gtid}`);
    const failed = Number(change.error_code) !== 0 && h("p", { class: "warning" }, `The statement ended with error ${change.error_code}.`);
    this.detail.hidden = false;
    this.detail.replaceChildren(
      h("h2", {}, `${change.kind} ${objectName(change, change.object_kind)}`),
      h("p", { class: "note" }, facts.join(" · ")),
      ...(failed ? [failed] : []),
      h("pre", { class: "statement" }, String(change.statement)),
      ...compared(id, versions),
    );
  }
}

/** The objects that a change has made or ended, each before and after. */
function compared(change: number, versions: Row[]): HTMLElement[] {
  const all = new Map<string, { before: Row | null; after: Row | null }>();
  for (const it of versions) {
    const key = `${it.kind} ${objectName(it, it.kind)}`;
    const known = all.get(key) ?? { before: null, after: null };
    if (it.made_by === change) known.after = it;
    else known.before = it;
    all.set(key, known);
  }
  if (!all.size) return [h("p", { class: "note" }, "The history has no definition of an object that this change has made or ended.")];
  return [...all].map(([name, { before, after }]) => {
    const what = !before ? "is new" : !after ? "is gone" : before.definition === after.definition ? "is the same as before" : "has changed";
    const fault = after?.fault ?? before?.fault;
    const text = (row: Row | null) => (row?.definition == null ? null : String(row.definition));
    return h(
      "div",
      { class: "compared" },
      h("h3", {}, `The ${name} ${what}`),
      fault != null && h("p", { class: "warning" }, `The server has not shown the definition: ${fault}.`),
      sideBySide(`${name} before and after`, text(before), text(after)),
    );
  });
}
