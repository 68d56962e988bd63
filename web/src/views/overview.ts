// How things are: figures, lines over the last ten minutes, who talks with whom.

import { metricsText, objects, query, table, type Row } from "../api";
import { Backends, isUp, serves, withoutPrimary } from "../backends";
import { Chart, History } from "../chart";
import { h } from "../dom";
import { count, time } from "../format";
import { Sample, quantiles, rate, rates } from "../metrics";
import { Topology } from "../topology";
import type { View } from "../view";

const WAIT = "pilotfish_statement_wait_seconds";
const BACKEND = "pilotfish_statement_backend_seconds";
const CPU = "process_cpu_seconds_total";

const BACKENDS =
  "backends?columns=name,cluster,role,state,draining,disabled,cause,lag_seconds,latency_us,connected_clients,in_flight,complaint";

/** Sessions of whose statements nothing is known. */
const UNSEEN = `SELECT count(*) AS unseen FROM sessions WHERE mode IN ('transparent', 'script')
  AND (SELECT value FROM settings WHERE name = 'insight.transparent') = 'false'`;

/** What costs a look at all digests, or at all sessions: seldom. */
const SELDOM = 5;

class Tile {
  private readonly number = h("strong", {}, "–");
  private readonly more = h("small");
  readonly element: HTMLElement;

  constructor(title: string, about: string) {
    this.element = h("div", { class: "tile", title: about }, h("span", {}, title), this.number, this.more);
  }

  show(number: string, more = "", kind = "") {
    this.number.textContent = number;
    this.more.textContent = more;
    this.element.dataset.kind = kind;
  }
}

export class Overview implements View {
  /** Who has just come shall not wait long for the first lines. */
  get interval() {
    return this.turn < 3 ? 1.1 : 2;
  }
  readonly element: HTMLElement;
  private last: Sample | null = null;
  private errors: { at: number; count: number } | null = null;
  private turn = 0;
  private readonly tiles = {
    rate: new Tile("Statements", "Statements that were answered, per second."),
    p50: new Tile("p50", "Half of the statements took this time or less at backends."),
    p95: new Tile("p95", "95 of 100 statements took this time or less at backends."),
    p99: new Tile("p99", "99 of 100 statements took this time or less at backends."),
    wait: new Tile("Waiting, p99", "99 of 100 statements waited this time or less in the proxy before they were sent."),
    cpu: new Tile("CPU/statement", "Processor time of the whole process per statement."),
    sessions: new Tile("Sessions", "Connected clients."),
    errors: new Tile("Errors", "Statements that ended with an error, per second."),
    backends: new Tile("Backends", "Backends that are up and in use."),
  };
  private readonly throughput = new History();
  private readonly latency = new History();
  private readonly cpu = new History();
  private readonly sessions = new History();
  private readonly topology = new Topology();
  private readonly backends = new Backends(() => this.refresh());
  private readonly charts: Chart[];
  private readonly unseen = h("p", { class: "card unseen", role: "status", hidden: true });

  constructor() {
    this.charts = [
      new Chart("Statements per second, by backend", "Statements that have been answered.", this.throughput, count),
      new Chart("Time at backends", "The times of the statements of the last two seconds.", this.latency, time),
      new Chart("CPU per statement", "Processor time of the whole process per statement.", this.cpu, time),
      new Chart("Sessions", "All sessions, sessions that execute a statement, and sessions that keep a connection.", this.sessions, count),
    ];
    const tiles = Object.values(this.tiles).map((it) => it.element);
    this.element = h(
      "div",
      {},
      this.unseen,
      h("div", { class: "tiles" }, ...tiles),
      this.topology.element,
      h("div", { class: "charts" }, ...this.charts.map((it) => it.element)),
      this.backends.element,
    );
  }

  async refresh() {
    const [text, backends] = await Promise.all([metricsText(), table(BACKENDS).then(objects)]);
    const now = new Sample(text);
    const last = this.last;
    this.last = now;
    const running = now.sum("pilotfish_worker_running_sessions");
    const pinned = now.sum("pilotfish_worker_pinned_sessions");
    const sessions = now.sum("pilotfish_worker_sessions");
    this.tiles.sessions.show(count(sessions), `${count(pinned)} pinned`);
    this.showBackends(backends);
    const turn = this.turn++;
    if (turn === 1 || turn % SELDOM === 0) await Promise.all([this.countErrors(), this.tellUnseen()]);
    const by = last ? rates(last, now, `${WAIT}_count`, "backend") : new Map<string, number>();
    const flowing = backends.map((it) => ({ ...it, rate: by.get(String(it.name)) ?? 0 }));
    this.backends.show(flowing);
    this.topology.draw({
      sessions,
      workers: now.of("pilotfish_worker_sessions").length,
      rate: last ? rate(last, now, `${WAIT}_count`) : 0,
      backends: flowing,
    });
    if (!last || now.at - last.at < 1 || now.at - last.at > 30) return;
    this.showFlow(last, now, by);
    this.sessions.add([["all", sessions], ["running", running], ["pinned", pinned]]);
    this.charts.forEach((chart) => chart.draw());
  }

  /** One that is drained or disabled is so on purpose. */
  private showBackends(backends: Row[]) {
    const meant = backends.filter(serves);
    const up = meant.filter(isUp).length;
    const headless = withoutPrimary(backends);
    const full = meant.filter((it) => it.state === "full").map((it) => String(it.name));
    const words = ["up"];
    if (headless.length > 0) words.push(`no primary in ${headless.join(", ")}`);
    if (full.length > 0) words.push(`full: ${full.join(", ")}`);
    const isWell = headless.length === 0 && up === meant.length;
    this.tiles.backends.show(`${up} of ${backends.length}`, words.join("; "), isWell ? "good" : "bad");
  }

  private showFlow(last: Sample, now: Sample, by: Map<string, number>) {
    const perSecond = rate(last, now, `${WAIT}_count`);
    const [p50, p95, p99] = quantiles(last, now, BACKEND, [0.5, 0.95, 0.99]);
    const [wait] = quantiles(last, now, WAIT, [0.99]);
    const cores = rate(last, now, CPU);
    const cpu = perSecond > 0 ? (cores / perSecond) * 1e6 : null;
    const { tiles } = this;
    tiles.rate.show(count(perSecond), "per second");
    tiles.p50.show(time(p50), "at backends");
    tiles.p95.show(time(p95), "at backends");
    tiles.p99.show(time(p99), "at backends");
    tiles.wait.show(time(wait), "in the proxy");
    tiles.cpu.show(time(cpu), `${cores.toFixed(2)} cores`);
    this.throughput.add(by);
    this.latency.add([["p50", p50 ?? null], ["p95", p95 ?? null], ["p99", p99 ?? null]]);
    this.cpu.add([["CPU", cpu]]);
  }

  /** Says why there are no figures, where there are none. */
  private async tellUnseen() {
    const unseen = Number(objects(await query(UNSEEN))[0]?.unseen ?? 0);
    this.unseen.hidden = unseen === 0;
    if (unseen === 0) return;
    const [sessions, their] = unseen === 1 ? ["1 session is", "its"] : [`${count(unseen)} sessions are`, "their"];
    this.unseen.replaceChildren(
      `${sessions} relayed and not pooled: ${their} statements are not read, and not among the figures. With `,
      h("a", { href: "#settings/insight.transparent" }, "insight.transparent"),
      " those of sessions that begin afterwards are.",
    );
  }

  private async countErrors() {
    const { rows } = await table("errors?columns=count");
    const now = { at: performance.now() / 1000, count: rows.reduce((sum, [it]) => sum + Number(it), 0) };
    const last = this.errors;
    this.errors = now;
    const since = last ? Math.max(0, now.count - last.count) / (now.at - last.at) : null;
    const kind = since ? "bad" : "";
    this.tiles.errors.show(count(since), "per second", kind);
  }
}
