// The history of the proxy's load, as lines for charts.

import { objects, query, type Row } from "./api";
import type { Lines } from "./chart";

/** How far charts go back. */
export interface Range {
  title: string;
  seconds: number;
  /** The length of the parts that it is told in, in seconds, unless the rows of the history are longer. */
  part: number;
}

export const RANGES: [Range, ...Range[]] = [
  { title: "10 minutes", seconds: 600, part: 2 },
  { title: "1 hour", seconds: 3600, part: 20 },
  { title: "1 day", seconds: 86_400, part: 300 },
  { title: "1 week", seconds: 604_800, part: 1800 },
];

/** The lines of each chart. */
export interface Charted {
  throughput: Lines;
  latency: Lines;
  cpu: Lines;
  sessions: Lines;
}

const history = ({ seconds, part }: Range) => `SELECT start / ${part} AS part, max(start + seconds) AS ended, backend,
  1.0 * sum(statements) / sum(seconds) AS rate, sum(p50_us * statements) / max(sum(statements), 1) AS p50_us,
  max(p95_us) AS p95_us, max(p99_us) AS p99_us, sum(cpu_us) AS cpu_us, sum(statements) AS statements,
  max(sessions) AS sessions, max(running) AS running, max(pinned) AS pinned
  FROM load_history WHERE start > strftime('%s', 'now') - ${seconds} GROUP BY part, backend ORDER BY part`;

/** Fills all lines with what the history has of a range. */
export async function fill(range: Range, charted: Charted) {
  const rows = objects(await query(history(range)));
  const number = (row: Row | undefined, name: string) => (row?.[name] == null ? null : Number(row[name]));
  // Each interval has a row of the whole proxy.
  const wholes = rows.filter((row) => row.backend === null);
  const parts = wholes.map((row) => Number(row.part));
  const times = wholes.map((row) => Number(row.ended));
  const line = (name: string) => wholes.map((row) => number(row, name));
  const taken = (name: string) => wholes.map((row) => (number(row, "statements") ? number(row, name) : null));
  const backends = new Map<string, Map<number, number | null>>();
  for (const row of rows.filter((it) => it.backend !== null)) {
    const name = String(row.backend);
    if (!backends.has(name)) backends.set(name, new Map());
    backends.get(name)!.set(Number(row.part), number(row, "rate"));
  }
  // A backend without a row had no statement.
  const each = [...backends].map(([name, rates]) => [name, parts.map((part) => rates.get(part) ?? 0)] as const);
  charted.throughput.tell([...times], each);
  charted.latency.tell([...times], [["p50", taken("p50_us")], ["p95", taken("p95_us")], ["p99", taken("p99_us")]]);
  const statements = line("statements");
  charted.cpu.tell([...times], [["CPU", line("cpu_us").map((us, at) => (us === null || !statements[at] ? null : us / statements[at]!))]]);
  charted.sessions.tell([...times], [["all", line("sessions")], ["running", line("running")], ["pinned", line("pinned")]]);
}
