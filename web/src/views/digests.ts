// Statements that are alike but for their values: which take the most time.

import { objects, query, type Row } from "../api";
import { h, s } from "../dom";
import { count, perSecond, time } from "../format";
import { digestPage } from "../part";
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
    // The latest is at the right end, whatever there is before it.
    const points = rates.map((it, at) => `${((40 - rates.length + at) * 72) / 39},${(19 - (it / most) * 18).toFixed(1)}`);
    const line = s("polyline", { points: points.join(" "), class: "spark" });
    return s("svg", { width: 72, height: 20, "aria-hidden": "true" }, line);
  }
}

const trends = new Trends();

export function number(row: Row, name: string): number {
  return Number(row[name] ?? 0);
}

/** Columns of sums. */
export function heads(): Head<Row>[] {
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
      about: "The share of the time of all statements.",
      numeric: true,
      sort: share,
      show: (row) => h("span", { class: "share" }, h("meter", { value: share(row), "aria-hidden": "true" }), h("span", {}, `${(100 * share(row)).toFixed(1)} %`)),
    },
    { title: "Statement", about: "Without its values.", wide: true, show: (row) => String(row.text ?? "") },
    {
      title: "Now",
      about: "Executions per second.",
      numeric: true,
      sort: (row) => trends.rate(String(row.digest)) ?? -1,
      show: (row) => h("span", { class: "now" }, trends.draw(String(row.digest)), perSecond(trends.rate(String(row.digest)))),
    },
    of("Count", "count", "How many.", count),
    of("Errors", "errors", "Executions that ended with an error.", count),
    of("Total", "total_us", "The time of all executions.", time),
    of("Average", "avg_us", "The average time of an execution.", time),
    of("p95", "p95_us", "95 of a hundred took no longer; the slowest backend's.", time),
    of("p99", "p99_us", "99 of a hundred took no longer; the slowest backend's.", time),
    of("Max", "max_us", "The time of the slowest execution.", time),
    of("Rows", "rows_sent", "Rows of their results.", count),
  ];
}

export class Digests implements View {
  readonly interval = 5;
  readonly element: HTMLElement;
  readonly filter = h("input", { type: "search", placeholder: "Filter statements ( / )", "aria-label": "Filter" });
  private readonly note = h("p", { class: "note" });
  private readonly table = new Table<Row>(heads(), (row) => String(row.digest), {
    label: "Digests",
    open: (row) => (location.hash = digestPage(row.digest)),
    empty: "No statement was seen, or none matches.",
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
