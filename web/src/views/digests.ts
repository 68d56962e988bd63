// Statements that are alike but for their values: which take the most time.

import { objects, query, table, type Row } from "../api";
import { h, s } from "../dom";
import { count, time, bytes } from "../format";
import { Table, type Head } from "../table";
import type { View } from "../view";

const SHOWN = 200;

const SUMS = `sum(count) AS count, sum(errors) AS errors, sum(rows_sent) AS rows_sent,
  sum(rows_affected) AS rows_affected, sum(bytes_out) AS bytes_out, sum(total_us) AS total_us,
  sum(total_us) / max(sum(count), 1) AS avg_us, max(p95_us) AS p95_us, max(p99_us) AS p99_us,
  max(max_us) AS max_us, max(last_seen) AS last_seen`;

const TOP = `SELECT digest, max(digest_text) AS text, (SELECT sum(total_us) FROM digests) AS all_us, ${SUMS}
  FROM digests WHERE digest IS NOT NULL AND instr(lower(digest_text), lower(?)) > 0
  GROUP BY digest ORDER BY total_us DESC LIMIT ${SHOWN}`;

/** How often each was run from one look to the next. */
class Trends {
  private readonly known = new Map<string, { at: number; count: number; rates: number[] }>();

  note(row: Row) {
    const at = performance.now() / 1000;
    const now = Number(row.count);
    const known = this.known.get(String(row.digest));
    if (!known) {
      this.known.set(String(row.digest), { at, count: now, rates: [] });
    } else if (at - known.at > 1) {
      known.rates.push(Math.max(0, now - known.count) / (at - known.at));
      if (known.rates.length > 40) known.rates.shift();
      [known.at, known.count] = [at, now];
    }
  }

  rate(digest: string): number | null {
    return this.known.get(digest)?.rates.at(-1) ?? null;
  }

  draw(digest: string): SVGElement {
    const rates = this.known.get(digest)?.rates ?? [];
    const most = Math.max(1e-9, ...rates);
    const points = rates.map((it, at) => `${(at * 72) / 39},${(19 - (it / most) * 18).toFixed(1)}`);
    const line = s("polyline", { points: points.join(" "), class: "spark" });
    return s("svg", { width: 72, height: 20, "aria-hidden": "true" }, line);
  }
}

const trends = new Trends();

function number(row: Row, name: string): number {
  return Number(row[name] ?? 0);
}

function heads(): Head<Row>[] {
  const of = (title: string, name: string, about: string, show: (it: number) => string): Head<Row> => ({
    title,
    about,
    numeric: true,
    show: (row) => show(number(row, name)),
    sort: (row) => number(row, name),
  });
  const share = (row: Row) => number(row, "total_us") / Math.max(1, number(row, "all_us"));
  return [
    {
      title: "Share",
      about: "Of the time of all statements.",
      numeric: true,
      sort: share,
      show: (row) => h("span", { class: "share" }, h("meter", { value: share(row) }), `${(100 * share(row)).toFixed(1)} %`),
    },
    { title: "Statement", about: "Without its values.", wide: true, show: (row) => String(row.text ?? "") },
    {
      title: "Now",
      about: "How often it is run, by second.",
      numeric: true,
      sort: (row) => trends.rate(String(row.digest)) ?? -1,
      show: (row) => h("span", { class: "now" }, trends.draw(String(row.digest)), `${count(trends.rate(String(row.digest)))}/s`),
    },
    of("Count", "count", "How many.", count),
    of("Errors", "errors", "How many ended with an error.", count),
    of("Total", "total_us", "All of their time.", time),
    of("Average", "avg_us", "On the average.", time),
    of("p95", "p95_us", "95 of a hundred took no longer; the slowest backend's.", time),
    of("p99", "p99_us", "99 of a hundred took no longer; the slowest backend's.", time),
    of("Max", "max_us", "The slowest.", time),
    of("Rows", "rows_sent", "Rows of their results.", count),
  ];
}

export class Digests implements View {
  readonly interval = 5;
  readonly element: HTMLElement;
  readonly filter = h("input", { type: "search", placeholder: "Statements with … ( / )", "aria-label": "Filter" });
  private readonly note = h("p", { class: "note" });
  private readonly table = new Table<Row>(heads(), (row) => String(row.digest), {
    open: (row) => (location.hash = `#digest/${encodeURIComponent(String(row.digest))}`),
    empty: "No statement has been seen, or none with this.",
  });

  constructor() {
    let timer = 0;
    this.filter.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => void this.refresh().catch(() => {}), 200);
    });
    const bar = h("div", { class: "bar" }, this.filter, this.note);
    this.element = h("div", {}, bar, h("section", { class: "card" }, this.table.element));
  }

  async refresh() {
    const rows = objects(await query(TOP, this.filter.value));
    rows.forEach((row) => trends.note(row));
    this.note.textContent = rows.length < SHOWN ? `${rows.length} digests` : `the ${SHOWN} that took the longest in all`;
    this.table.show(rows);
  }
}

export class Digest implements View {
  readonly interval = 5;
  readonly element = h("div");
  private readonly text = h("pre", { class: "statement" });
  private readonly sample = h("pre", { class: "statement" });
  private readonly figures = h("dl", { class: "figures" });
  private readonly bars = h("div", { class: "bars" });
  private readonly table = new Table<Row>(
    [
      { title: "Backend", show: (row) => String(row.backend ?? "the proxy"), sort: (row) => String(row.backend) },
      { title: "Account", show: (row) => String(row.account ?? ""), sort: (row) => String(row.account) },
      { title: "Schema", show: (row) => String(row.db ?? ""), sort: (row) => String(row.db) },
      ...heads().slice(3),
    ],
    (row) => [row.backend, row.account, row.db].join("\n"),
    { empty: "It is not kept any more." },
  );

  constructor(private readonly digest: string) {
    const back = h("a", { href: "#digests" }, "← All digests");
    this.element.append(
      h("p", {}, back, `  ${digest}`),
      h("section", { class: "card" }, h("h2", {}, "Statement"), this.text, this.figures),
      h("section", { class: "card" }, h("h2", {}, "How long it takes"), this.bars),
      h("section", { class: "card" }, h("h2", {}, "Where it runs, and whose it is"), this.table.element),
    );
  }

  async refresh() {
    const rows = objects(await table(`digests?digest=${encodeURIComponent(this.digest)}&order=-total_us`));
    this.table.show(rows);
    const [first] = rows;
    if (!first) return;
    const sum = (name: string) => rows.reduce((all, row) => all + number(row, name), 0);
    const most = (name: string) => Math.max(...rows.map((row) => number(row, name)));
    this.text.textContent = String(first.digest_text);
    const sample = rows.find((row) => row.sample != null)?.sample;
    this.sample.textContent = sample == null ? "" : String(sample);
    if (sample != null && !this.sample.isConnected) {
      this.text.after(h("h2", {}, "Its slowest"), this.sample);
    }
    const figures = [
      ["count", count(sum("count"))],
      ["errors", count(sum("errors"))],
      ["in all", time(sum("total_us"))],
      ["rows sent", count(sum("rows_sent"))],
      ["rows affected", count(sum("rows_affected"))],
      ["sent to clients", bytes(sum("bytes_out"))],
      ["last seen", String(first.last_seen)],
    ];
    this.figures.replaceChildren(...figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    const total = Math.max(1, sum("total_us"));
    const parts = ["proxy_us", "queue_us", "backend_us"].map((name) => sum(name) / total);
    const names = ["in the proxy", "in queues", "at backends"];
    const percentiles = ["p50_us", "p95_us", "p99_us", "max_us"].map((name) => [name.replace("_us", ""), most(name)] as const);
    const longest = Math.max(1, most("max_us"));
    const bar = (name: string, share: number, text: string) =>
      h("div", { class: "part" }, h("span", {}, name), h("meter", { value: share }), h("span", {}, text));
    this.bars.replaceChildren(
      // Logarithmic, as they differ by magnitudes.
      ...percentiles.map(([name, us]) => bar(name, Math.log1p(us) / Math.log1p(longest), time(us))),
      ...parts.map((share, at) => bar(names[at]!, share, `${(100 * share).toFixed(1)} %`)),
    );
  }
}
