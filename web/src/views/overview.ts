// The start page: whether it is well, what is slow, what has changed; figures, lines over time, and the backends.

import { changed } from "../answers/changed";
import { Answer } from "../answers/finding";
import { slow } from "../answers/slow";
import { Well } from "../answers/well";
import { metricsText, objects, query, table, type Row } from "../api";
import { Backends } from "../backends";
import { Chart, Lines } from "../chart";
import { h } from "../dom";
import { count, time } from "../format";
import { RANGES, fill, type Charted, type Range } from "../load";
import { Sample, quantiles, rate, rates } from "../metrics";
import { Tiles } from "../tiles";
import { Topology } from "../topology";
import type { View } from "../view";

const WAIT = "pilotfish_statement_wait_seconds";
const BACKEND = "pilotfish_statement_backend_seconds";
const CPU = "process_cpu_seconds_total";

const BACKENDS =
  "backends?columns=name,cluster,role,state,draining,disabled,writes,cause,replication,lag_seconds,latency_us,connected_clients,in_flight,complaint";

/** Sessions of whose statements nothing is known. */
const UNSEEN = `SELECT count(*) AS unseen FROM sessions WHERE mode IN ('transparent', 'script')
  AND (SELECT value FROM settings WHERE name = 'statement_stats.transparent') = 'false'`;

/** Looks between two answers: these look at all digests and all sessions. */
const SELDOM = 5;

/** Seconds between two readings of a history whose last time is not now. */
const HISTORY_EVERY = 30;

export class Overview implements View {
  /** Somebody who has just come shall not wait long for the first lines. */
  get interval() {
    return this.turn < 3 ? 1.1 : 2;
  }
  readonly element: HTMLElement;
  private last: Sample | null = null;
  private turn = 0;
  private range: Range = RANGES[0];
  private filled = -Infinity;
  private readonly headline = h("h2", { class: "headline", role: "status" }, "The page asks the proxy.");
  private readonly answers = { well: new Answer("Is it well?"), slow: new Answer("What is slow?"), changed: new Answer("What has changed?") };
  private readonly well = new Well();
  private readonly tiles = new Tiles();
  private readonly lines: Charted = { throughput: new Lines(), latency: new Lines(), cpu: new Lines(), sessions: new Lines() };
  private readonly topology = new Topology();
  private readonly backends = new Backends(() => this.refresh());
  private readonly charts = [
    new Chart("Statements per second, by backend", "Statements that were answered.", this.lines.throughput, count),
    new Chart("Time at backends", "The percentiles of the times of statements. A longer part of time has the percentiles of its worst ten seconds.", this.lines.latency, time),
    new Chart("CPU per statement", "Processor time of the whole process per statement.", this.lines.cpu, time),
    new Chart("Sessions", "All sessions, sessions that execute a statement, and sessions that keep a connection.", this.lines.sessions, count),
  ];
  private readonly ranges = RANGES.map((it) => h("button", { type: "button", class: "small", onclick: () => this.choose(it) }, it.title));
  private readonly unseen = h("p", { class: "card unseen", role: "status", hidden: true });

  constructor() {
    const ranges = h("div", { class: "ranges", role: "group", "aria-label": "Time that charts show" }, h("span", {}, "The last"), ...this.ranges);
    this.markRange();
    this.element = h(
      "div",
      {},
      this.headline,
      h("div", { class: "answers" }, ...Object.values(this.answers).map((it) => it.element)),
      this.unseen,
      this.tiles.element,
      this.topology.element,
      ranges,
      h("div", { class: "charts" }, ...this.charts.map((it) => it.element)),
      this.backends.element,
    );
  }

  async refresh() {
    const turn = this.turn++;
    const [text, backends] = await Promise.all([metricsText(), table(BACKENDS).then(objects), this.readHistory()]);
    const now = new Sample(text);
    const last = this.last;
    this.last = now;
    const sessions = { all: now.sum("pilotfish_worker_sessions"), running: now.sum("pilotfish_worker_running_sessions"), pinned: now.sum("pilotfish_worker_pinned_sessions") };
    this.tiles.showSessions(sessions.all, sessions.pinned);
    this.tiles.showBackends(backends);
    const by = last ? rates(last, now, `${WAIT}_count`, "backend") : new Map<string, number>();
    const flowing = backends.map((it) => ({ ...it, rate: by.get(String(it.name)) ?? 0 }));
    this.backends.show(flowing);
    this.topology.draw({
      sessions: sessions.all,
      workers: now.of("pilotfish_worker_sessions").length,
      rate: last ? rate(last, now, `${WAIT}_count`) : 0,
      backends: flowing,
    });
    if (turn < 2 || turn % SELDOM === 0) await Promise.all([this.answer(backends), this.tellUnseen()]);
    if (last && now.at - last.at >= 1 && now.at - last.at <= HISTORY_EVERY) this.showFlow(last, now, by, sessions);
    this.charts.forEach((chart) => chart.draw());
  }

  /** The three answers, and the sentence above them. */
  private async answer(backends: Row[]) {
    const [well, late, news] = await Promise.all([this.well.findings(backends), slow(), changed()]);
    this.answers.well.show(well);
    this.answers.slow.show(late);
    this.answers.changed.show(news);
    this.tiles.showErrors(this.well.errorRate);
    const all = [...well, ...late, ...news];
    const [bad, warnings] = (["bad", "warn"] as const).map((weight) => all.filter((it) => it.weight === weight).length);
    this.headline.dataset.kind = bad ? "bad" : warnings ? "warn" : "good";
    const words = bad ? count1(bad, "thing is", "things are") + " wrong." : warnings ? count1(warnings, "thing needs", "things need") + " a look." : "All is well.";
    if (this.headline.textContent !== words) this.headline.textContent = words;
  }

  private choose(range: Range) {
    this.range = range;
    this.filled = -Infinity;
    this.markRange();
    void this.readHistory().then(() => this.charts.forEach((chart) => chart.draw()), () => {});
  }

  private markRange() {
    this.ranges.forEach((it, at) => it.setAttribute("aria-pressed", String(RANGES[at] === this.range)));
  }

  /** Fills the charts from the history: once if each look adds to them, else now and then. */
  private async readHistory() {
    const now = performance.now() / 1000;
    const isLive = this.range === RANGES[0];
    // While nobody has looked, there are times without a number.
    const hasGap = !this.last || now - this.last.at > HISTORY_EVERY;
    if (isLive ? !hasGap && isFinite(this.filled) : now - this.filled < HISTORY_EVERY) return;
    this.filled = now;
    await fill(this.range, this.lines);
  }

  private showFlow(last: Sample, now: Sample, by: Map<string, number>, sessions: { all: number; running: number; pinned: number }) {
    const perSecond = rate(last, now, `${WAIT}_count`);
    const [p50 = null, p95 = null, p99 = null] = quantiles(last, now, BACKEND, [0.5, 0.95, 0.99]);
    const [wait = null] = quantiles(last, now, WAIT, [0.99]);
    const cores = rate(last, now, CPU);
    const cpu = perSecond > 0 ? (cores / perSecond) * 1e6 : null;
    this.tiles.showFlow({ perSecond, p50, p95, p99, wait, cpu, cores });
    if (this.range !== RANGES[0]) return;
    const [at, span] = [Date.now() / 1000, this.range.seconds];
    this.lines.throughput.add(at, span, by);
    this.lines.latency.add(at, span, [["p50", p50], ["p95", p95], ["p99", p99]]);
    this.lines.cpu.add(at, span, [["CPU", cpu]]);
    this.lines.sessions.add(at, span, Object.entries(sessions));
  }

  /** Says why there are no figures, if there are none. */
  private async tellUnseen() {
    const unseen = Number(objects(await query(UNSEEN))[0]?.unseen ?? 0);
    this.unseen.hidden = unseen === 0;
    if (unseen === 0) return;
    const [sessions, their] = unseen === 1 ? ["1 session is", "its"] : [`${count(unseen)} sessions are`, "their"];
    this.unseen.replaceChildren(
      `${sessions} relayed and not pooled: ${their} statements are not read, and not among the figures. With `,
      h("a", { href: "#settings/statement_stats.transparent" }, "statement_stats.transparent"),
      " those of sessions that begin afterwards are.",
    );
  }
}

/** 1 thing is, 2 things are. */
function count1(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
