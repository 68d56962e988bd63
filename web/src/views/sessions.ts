// Who is connected, what they are doing, and what pins them; they can be ended here.

import { end, objects, query, type Row } from "../api";
import { confirm, tell } from "../dialogs";
import { h } from "../dom";
import { count, seconds } from "../format";
import { digestLink } from "../part";
import { Table, type Head } from "../table";
import type { View } from "../view";

const SHOWN = 300;

const WORDS = `lower(coalesce(user, '') || ' ' || client || ' ' || coalesce(db, '') || ' ' || state || ' ' ||
  coalesce(backend, '') || ' ' || coalesce(pins, '') || ' ' || mode || ' ' || coalesce(statement, ''))`;
const LIST = `SELECT id, user, client, db, state, state_seconds, mode, backend, pins, in_transaction, age_seconds, statement,
  digest, listener, worker, thread_id
  FROM sessions WHERE instr(${WORDS}, lower(?)) > 0
  ORDER BY state = 'running' DESC, pins IS NOT NULL DESC, age_seconds DESC LIMIT ${SHOWN}`;
const FIGURES = `SELECT count(*) AS sessions, coalesce(sum(state = 'running'), 0) AS running, count(pins) AS pinned FROM sessions`;
const PINS = "SELECT pins, count(*) AS sessions, max(age_seconds) AS oldest FROM sessions WHERE pins IS NOT NULL GROUP BY pins ORDER BY 2 DESC LIMIT 50";

export class Sessions implements View {
  readonly interval = 3;
  readonly element: HTMLElement;
  readonly filter = h("input", { type: "search", placeholder: "User, client, pin … ( / )", "aria-label": "Filter" });
  private readonly note = h("p", { class: "note" });
  private readonly table: Table<Row>;
  private readonly pins = new Table<Row>(
    [
      { title: "Pinned by", about: "The pins that keep sessions on their connections.", show: (it) => String(it.pins), sort: (it) => String(it.pins) },
      { title: "Sessions", numeric: true, show: (it) => count(Number(it.sessions)), sort: (it) => Number(it.sessions) },
      { title: "Oldest", numeric: true, show: (it) => seconds(Number(it.oldest)), sort: (it) => Number(it.oldest) },
    ],
    (it) => String(it.pins),
    { label: "Pins", empty: "No session is pinned.", open: (it) => this.search(String(it.pins)) },
  );

  constructor() {
    const text = (title: string, name: string, about?: string): Head<Row> => ({
      title,
      about,
      show: (row) => String(row[name] ?? ""),
      sort: (row) => String(row[name] ?? ""),
    });
    const lasting = (title: string, name: string, about: string): Head<Row> => ({
      title,
      about,
      numeric: true,
      show: (row) => seconds(Number(row[name])),
      sort: (row) => Number(row[name]),
    });
    const aside = (title: string, name: string, about: string, show?: Head<Row>["show"]): Head<Row> => ({
      ...text(title, name, about),
      aside: true,
      ...(show ? { show } : {}),
    });
    this.table = new Table<Row>(
      [
        { title: "Id", about: "The id for KILL.", numeric: true, show: (row) => String(row.id), sort: (row) => Number(row.id) },
        text("User", "user"),
        text("Client", "client"),
        text("Schema", "db"),
        { ...text("State", "state"), first: true, show: (row) => h("span", { class: `state ${row.state}` }, String(row.state)) },
        { ...text("Statement", "statement", "The statement that it runs now, without its values, if digests are on."), wide: true },
        lasting("For", "state_seconds", "The time since its last bytes."),
        text("Backend", "backend", "The backend that it uses now, or whose connection it keeps."),
        { ...text("Pins", "pins", "The pins that keep the session on its connection."), first: true },
        text("Mode", "mode", "The time since the session began to keep a connection."),
        lasting("Age", "age_seconds", "The time since the session began."),
        aside("Digest", "digest", "The page of the statement that it runs now.", (row) => digestLink(row.digest)),
        aside("In a transaction", "in_transaction", "The state after the last reply to the client.", (row) => (row.in_transaction === 1 ? "yes" : "no")),
        aside("Listener", "listener", "The listener's address that the client has connected to."),
        aside("Worker", "worker", "The worker that serves the session."),
        aside("Thread", "thread_id", "The id of its connection at the backend, unless others use that as well."),
        { title: "", first: true, acts: true, show: (row) => this.buttons(row) },
      ],
      (row) => String(row.id),
      { label: "Sessions", empty: "No client is connected, or no session matches." },
    );
    this.filter.addEventListener("input", () => void this.refresh().catch(() => {}));
    this.element = h(
      "div",
      {},
      h("div", { class: "bar" }, this.filter, this.note),
      h("section", { class: "card" }, this.table.element),
      h("section", { class: "card" }, h("h2", {}, "Pins"), this.pins.element),
    );
  }

  private search(words: string) {
    this.filter.value = words;
    this.filter.dispatchEvent(new Event("input"));
    this.filter.focus();
  }

  private buttons(row: Row) {
    const button = (text: string, what: "session" | "statement") =>
      h("button", { type: "button", class: "small", onclick: () => void this.end(row, what) }, text);
    return h("span", { class: "buttons" }, row.state === "running" && button("Stop", "statement"), button("End", "session"));
  }

  private async end(row: Row, what: "session" | "statement") {
    const who = `${row.user ?? "somebody"} from ${row.client}`;
    const text = what === "session" ? `End session ${row.id} of ${who}?` : `Stop the statement of session ${row.id}, ${who}?`;
    const question = h("div", {}, h("p", {}, text), row.statement != null && h("pre", { class: "statement" }, String(row.statement)));
    if (!(await confirm(question, what === "session" ? "End the session" : "Stop the statement"))) return;
    await end(Number(row.id), what).catch((error: Error) => tell(error.message));
    await this.refresh();
  }

  async refresh() {
    const [list, figures, pins] = await Promise.all([query(LIST, this.filter.value), query(FIGURES), query(PINS)]);
    const [all] = objects(figures);
    const rows = objects(list);
    const cut = rows.length === SHOWN ? ` The first ${SHOWN} are shown.` : "";
    this.note.textContent = `${count(Number(all?.sessions))} sessions, ${count(Number(all?.running))} running, ${count(Number(all?.pinned))} pinned.${cut}`;
    this.table.show(rows);
    this.pins.show(objects(pins));
  }
}
