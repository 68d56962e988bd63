// The backends as a table, each with what can be done to it: drained, put out of use, used again.

import { query, type Row } from "./api";
import { confirm, tell } from "./dialogs";
import { h } from "./dom";
import { count, perSecond, seconds, time } from "./format";
import { Table } from "./table";

/** What is asked before, what is done, and in which words. */
interface Action {
  title: string;
  ask: (name: string) => string;
  set: string;
}

const DRAIN: Action = {
  title: "Drain",
  ask: (name) => `Drain ${name}? The backend gets no new statements; statements that run there end in their own time.`,
  set: "drain = 1",
};
const DISABLE: Action = {
  title: "Disable",
  ask: (name) =>
    `Disable ${name}? Statements and transactions there are cut at once, sessions kept there end, and connections are closed.`,
  set: "disable = 1",
};
const USE: Action = { title: "Use", ask: (name) => `Use ${name} again?`, set: "drain = 0, disable = 0" };

/** How it stands with a backend, in a word. */
export function standing(backend: Row): string {
  if (backend.disabled === 1) return "disabled";
  return backend.draining === 1 ? "draining" : String(backend.state);
}

/** Whether it answers. A full one does. */
export function isUp(backend: Row): boolean {
  return backend.state === "up" || backend.state === "full";
}

/** Whether it is meant to be used now. */
export function serves(backend: Row): boolean {
  return backend.draining !== 1 && backend.disabled !== 1;
}

/** The clusters in which no primary takes writes. */
export function withoutPrimary(backends: Row[]): string[] {
  const takesWrites = (it: Row) => serves(it) && isUp(it) && it.role === "primary" && it.writes !== 0;
  const clusters = new Set(backends.map((it) => String(it.cluster)));
  return [...clusters].filter((cluster) => !backends.some((it) => String(it.cluster) === cluster && takesWrites(it)));
}

/** What is wrong with it, in words. */
function trouble(backend: Row): string | null {
  const said = backend.cause ?? backend.complaint;
  return said == null ? null : String(said);
}

export class Backends {
  readonly element: HTMLElement;
  private readonly table: Table<Row>;

  /** `done`: something has been changed. */
  constructor(private readonly done: () => Promise<void>) {
    const text = (title: string, name: string) => ({
      title,
      show: (row: Row) => String(row[name] ?? ""),
      sort: (row: Row) => String(row[name] ?? ""),
    });
    this.table = new Table<Row>(
      [
        text("Backend", "name"),
        text("Cluster", "cluster"),
        text("Role", "role"),
        {
          title: "State",
          show: (row) => h("span", {}, h("span", { class: `state ${standing(row)}` }, standing(row)), trouble(row) !== null && ` (${trouble(row)})`),
          sort: standing,
        },
        { title: "Statements", about: "Statements that the backend has answered per second.", numeric: true, show: (row) => perSecond(Number(row.rate)), sort: (row) => Number(row.rate) },
        { title: "Sessions", about: "Clients that use the backend now.", numeric: true, show: (row) => count(Number(row.connected_clients)), sort: (row) => Number(row.connected_clients) },
        { title: "Under way", about: "Pooled statements that run there now.", numeric: true, show: (row) => count(Number(row.in_flight)), sort: (row) => Number(row.in_flight) },
        {
          title: "Behind",
          about: "The time by which a replica is behind its primary.",
          numeric: true,
          show: (row) => (row.lag_seconds === null ? "" : seconds(Number(row.lag_seconds))),
          sort: (row) => Number(row.lag_seconds ?? -1),
        },
        { title: "Answers in", about: "The time that the backend takes to answer the proxy's health check.", numeric: true, show: (row) => (row.latency_us === null || row.state === "down" ? "" : time(Number(row.latency_us))), sort: (row) => Number(row.latency_us ?? -1) },
        { ...text("Complaint", "complaint"), about: "The fact about the backend that the proxy could not find out, and the remedy.", aside: true },
        { title: "", acts: true, show: (row) => this.buttons(row) },
      ],
      (row) => String(row.name),
      { label: "Backends", empty: "There is no backend." },
    );
    this.element = h("section", { class: "card backends" }, h("h2", {}, "Backends"), this.table.element);
  }

  show(backends: Row[]) {
    this.table.show(backends);
  }

  private buttons(row: Row) {
    const now = standing(row);
    const can = now === "disabled" ? [USE] : now === "draining" ? [USE, DISABLE] : [DRAIN, DISABLE];
    const button = (action: Action) =>
      h("button", { type: "button", class: "small", onclick: () => void this.act(String(row.name), action) }, action.title);
    return h("span", { class: "buttons" }, ...can.map(button));
  }

  private async act(name: string, action: Action) {
    if (!(await confirm(action.ask(name), action.title))) return;
    await query(`UPDATE backends SET ${action.set} WHERE name = ?`, name).catch((error: Error) => tell(error.message));
    await this.done();
  }
}
