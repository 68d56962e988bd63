// One digest: what it is, what it costs and has cost, how long it takes, where it runs.

import { objects, query, table, type Row } from "../api";
import { Chart, Lines } from "../chart";
import { h } from "../dom";
import { bytes, count, time } from "../format";
import { Table } from "../table";
import type { View } from "../view";
import type { Entry } from "../views";
import { heads, number } from "./digests";

const SPREAD = `SELECT up_to_us, sum(count) AS count FROM digest_times WHERE digest = ?
  GROUP BY up_to_us ORDER BY up_to_us IS NULL, up_to_us`;

/** Of the last day. */
const TREND = `SELECT start, max(seconds) AS seconds, sum(count) AS count, sum(errors) AS errors,
  sum(total_us) / max(sum(count), 1) AS avg_us, max(p95_us) AS p95_us, max(p99_us) AS p99_us
  FROM digest_history WHERE digest = ? AND start > strftime('%s', 'now') - 86400 GROUP BY start ORDER BY start`;

/** Seconds between two looks at the history, once there is some. */
const TREND_EVERY = 30;

/** What it has cost, from interval to interval. */
class Trend {
  private readonly rate = new Lines();
  private readonly latency = new Lines();
  private readonly charts = [
    new Chart("Statements by second", "The statements of the last day, as far as the history has them (statement_stats.history_interval).", this.rate, count),
    new Chart("How long they took", "The average time, and the percentiles of the slowest backend.", this.latency, time),
  ];
  private readonly note = h("p", { class: "note" }, "The chart of its cost over time appears after two intervals (statement_stats.history_interval).");
  readonly element = h("section", { class: "trend" }, this.note, h("div", { class: "charts" }, ...this.charts.map((it) => it.element)));
  private asked = -Infinity;

  async refresh(digest: string) {
    const now = performance.now() / 1000;
    if (this.rate.times.length > 1 && now - this.asked < TREND_EVERY) return;
    this.asked = now;
    const rows = objects(await query(TREND, digest));
    const times = rows.map((row) => number(row, "start"));
    const line = (name: string) => rows.map((row) => number(row, name));
    const bySecond = (name: string) => rows.map((row) => number(row, name) / Math.max(1, number(row, "seconds")));
    this.rate.tell(times, [["all", bySecond("count")], ["with errors", bySecond("errors")]]);
    this.latency.tell(times, [["average", line("avg_us")], ["p95", line("p95_us")], ["p99", line("p99_us")]]);
    this.note.hidden = rows.length > 1;
    this.charts.forEach((chart) => {
      chart.element.hidden = rows.length < 2;
      chart.draw();
    });
  }
}

/** What EXPLAIN has said of it last, where it was asked. */
class Plan {
  private readonly note = h("p", { class: "note" });
  private readonly lines = new Table<Row>(
    [
      { title: "Schema", show: (row) => String(row.db ?? "") },
      { title: "Select", show: (row) => `${row.id ?? ""} ${row.select_type ?? ""}` },
      { title: "Table", show: (row) => String(row.table_name ?? row.alias ?? "") },
      { title: "Type", about: "ALL: the whole table is read.", show: (row) => String(row.type ?? "") },
      { title: "Index", show: (row) => String(row.key ?? "") },
      { title: "Length", about: "Bytes of the index.", numeric: true, show: (row) => String(row.key_len ?? "") },
      { title: "Ref", about: "The columns or values that the index is compared with.", show: (row) => String(row.ref ?? "") },
      { title: "Rows", numeric: true, show: (row) => count(row.row_count == null ? null : number(row, "row_count")) },
      { title: "Extra", show: (row) => String(row.extra ?? "") },
    ],
    (row) => [row.db, row.cluster, row.line].join("\n"),
    { label: "How servers run it", empty: "There is no plan." },
  );
  readonly element = h("section", { class: "card plan", hidden: true }, h("h2", {}, "How servers run it"), this.note, this.lines.element);

  async refresh(digest: string) {
    const rows = objects(await table(`plans?digest=${encodeURIComponent(digest)}&limit=200`));
    const [first] = rows;
    this.element.hidden = !first;
    if (!first) return;
    const refused = first.error == null ? "" : ` The last time it was refused: ${first.error}`;
    this.note.textContent = `By EXPLAIN on ${first.backend ?? "a server"}, ${first.asked}.${refused}`;
    this.lines.show(rows.filter((row) => row.line != null));
  }
}

export class Digest implements View {
  readonly interval = 5;
  readonly element = h("div");
  private readonly text = h("pre", { class: "statement" });
  private readonly sample = h("pre", { class: "statement" });
  private readonly figures = h("dl", { class: "figures" });
  private readonly bars = h("div", { class: "bars" });
  private readonly histogram = h("div", { class: "histogram" });
  private readonly trend = new Trend();
  private readonly plan = new Plan();
  private readonly table = new Table<Row>(
    [
      { title: "Backend", show: (row) => String(row.backend ?? "the proxy"), sort: (row) => String(row.backend) },
      { title: "Account", show: (row) => String(row.account ?? ""), sort: (row) => String(row.account) },
      { title: "Schema", show: (row) => String(row.db ?? ""), sort: (row) => String(row.db) },
      ...heads().slice(3),
    ],
    (row) => [row.backend, row.account, row.db].join("\n"),
    { label: "Where it runs", empty: "The proxy no longer has this digest." },
  );

  /** `from`: where Esc leads. */
  constructor(private readonly digest: string, from: Entry) {
    const back = h("a", { href: `#${from.name}` }, `← ${from.title}`);
    this.element.append(
      h("p", { class: "note" }, back, " · digest ", h("code", {}, digest)),
      h("section", { class: "card" }, h("h2", {}, "Statement"), this.text, this.figures),
      this.trend.element,
      h("section", { class: "card spread" }, h("h2", {}, "How long it takes"), this.bars, this.histogram),
      this.plan.element,
      h("section", { class: "card" }, h("h2", {}, "Where it runs, and whose it is"), this.table.element),
    );
  }

  async refresh() {
    const rows = objects(await table(`digests?digest=${encodeURIComponent(this.digest)}&order=-total_us`));
    this.spread(objects(await query(SPREAD, this.digest)));
    await this.trend.refresh(this.digest);
    await this.plan.refresh(this.digest);
    this.table.show(rows);
    const [first] = rows;
    this.text.textContent = first ? String(first.digest_text) : "The proxy no longer has this digest, or has never seen it.";
    if (!first) return;
    const sum = (name: string) => rows.reduce((all, row) => all + number(row, name), 0);
    const most = (name: string) => Math.max(...rows.map((row) => number(row, name)));
    const sample = rows.find((row) => row.sample != null)?.sample;
    this.sample.textContent = sample == null ? "" : String(sample);
    if (sample != null && !this.sample.isConnected) {
      this.text.after(h("h2", {}, "Its slowest"), this.sample);
    }
    const examined = rows.find((row) => row.rows_examined_avg != null)?.rows_examined_avg;
    const figures = [
      ["count", count(sum("count"))],
      ["errors", count(sum("errors"))],
      ["in all", time(sum("total_us"))],
      ["rows sent", count(sum("rows_sent"))],
      ...(examined == null ? [] : [["rows examined, each", count(Number(examined))]]),
      ["rows affected", count(sum("rows_affected"))],
      ["replies", bytes(sum("bytes_out"))],
      ["last seen, UTC", rows.map((row) => String(row.last_seen)).sort().at(-1)!.slice(0, 19)],
    ];
    this.figures.replaceChildren(...figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    const total = Math.max(1, sum("total_us"));
    const parts = ["proxy_us", "queue_us", "backend_us"].map((name) => sum(name) / total);
    const names = ["in the proxy", "in queues", "at backends"];
    const percentiles = ["p50_us", "p95_us", "p99_us", "max_us"].map((name) => [name.replace("_us", ""), most(name)] as const);
    const longest = Math.max(1, most("max_us"));
    const bar = (name: string, share: number, text: string) =>
      h("div", { class: "part" }, h("span", {}, name), h("meter", { value: share, "aria-hidden": "true" }), h("span", {}, text));
    this.bars.replaceChildren(
      h("h3", {}, "Percentiles, drawn by magnitude"),
      ...percentiles.map(([name, us]) => bar(name, Math.log1p(us) / Math.log1p(longest), time(us))),
      h("h3", {}, "Where its time goes"),
      ...parts.map((share, at) => bar(names[at]!, share, `${(100 * share).toFixed(1)} %`)),
    );
  }

  /** A bar for each stretch of time, the shortest first. */
  private spread(rows: Row[]) {
    const most = Math.max(1, ...rows.map((row) => number(row, "count")));
    const all = Math.max(1, rows.reduce((sum, row) => sum + number(row, "count"), 0));
    const line = (row: Row) => {
      const text = row.up_to_us === null ? "longer" : `≤ ${time(number(row, "up_to_us"))}`;
      const share = `${count(number(row, "count"))} · ${((100 * number(row, "count")) / all).toFixed(1)} %`;
      return h("div", { class: "part" }, h("span", {}, text), h("meter", { value: number(row, "count") / most, "aria-hidden": "true" }), h("span", {}, share));
    };
    this.histogram.replaceChildren(...(rows.length ? [h("h3", {}, "How many took how long"), ...rows.map(line)] : []));
  }
}
