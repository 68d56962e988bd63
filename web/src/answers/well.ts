// Is it well? Backends, connections, workers, errors, replication and files.

import { objects, query, type Row } from "../api";
import { isUp, serves, withoutPrimary } from "../backends";
import { count, seconds, time } from "../format";
import { finding, link, type Finding } from "./finding";

/** A replica that is further behind is worth a sentence, in seconds. */
const LAG_MAX = 10;

/** The share of open files from which there is a sentence. */
const FILES_MAX = 0.9;

/** Sessions that wait for a shorter time are no news, in microseconds. */
const WAIT_MIN_US = 100_000;

const FACTS = `SELECT (SELECT sum(waiting) FROM pools) AS waiting, (SELECT max(oldest_wait_us) FROM pools) AS oldest_us,
  (SELECT group_concat(worker, ', ') FROM workers WHERE answers = 0) AS silent,
  (SELECT count(*) FROM host_errors WHERE blocked) AS blocked, open_files, open_files_max FROM process`;

const STREAMS = "SELECT stream, cluster, state, last_error FROM replication WHERE state = 'waiting'";
const READERS = "SELECT reader, last_error FROM change_readers WHERE state = 'waiting'";
const LOGS = "SELECT log, trouble FROM logs WHERE trouble IS NOT NULL";
const ERRORS = "SELECT number, message, sum(count) AS count FROM errors GROUP BY number ORDER BY count DESC LIMIT 200";

/** The counts of errors at one time. */
interface Errors {
  at: number;
  counts: Map<string, number>;
}

export class Well {
  private errors: Errors | null = null;
  /** Errors a second since the last look; `null` at the first. */
  errorRate: number | null = null;

  async findings(backends: Row[]): Promise<Finding[]> {
    const ask = async (sql: string) => objects(await query(sql));
    const [facts, streams, readers, logs, errors] = await Promise.all([FACTS, STREAMS, READERS, LOGS, ERRORS].map(ask));
    const found = [
      ...ofBackends(backends),
      ...ofFacts(facts![0] ?? {}),
      ...streams!.map((it) => finding("bad", `The stream ${it.stream} does not follow the cluster ${it.cluster}: ${it.last_error ?? "it waits"}. `, link("Replication", "replication"))),
      ...readers!.map((it) => finding("bad", `${it.reader} does not get the change feed: ${it.last_error ?? "it waits"}. `, link("Replication", "replication"))),
      ...logs!.map((it) => finding("bad", `The proxy cannot write the log "${it.log}": ${it.trouble}.`)),
      ...this.ofErrors(errors!),
    ];
    return [...found, ...wellBackends(backends)];
  }

  /** Errors since the last look. */
  private ofErrors(rows: Row[]): Finding[] {
    const now = { at: performance.now() / 1000, counts: new Map(rows.map((it) => [String(it.number), Number(it.count)])) };
    const last = this.errors;
    this.errors = now;
    if (!last) return [];
    const since = now.at - last.at;
    const grown = rows.map((row) => ({ row, more: Math.max(0, Number(row.count) - (last.counts.get(String(row.number)) ?? 0)) }));
    const all = grown.reduce((sum, it) => sum + it.more, 0);
    this.errorRate = all / since;
    if (all === 0) return [];
    const most = grown.reduce((one, other) => (other.more > one.more ? other : one));
    const rate = `${count(all / since)} statements a second end with an error. `;
    const which = most.row.number === null ? "" : `Most of these have the number ${most.row.number} (${String(most.row.message ?? "").replace(/\.$/, "")}). `;
    return [finding("warn", rate, which, link("Errors", "errors"))];
  }
}

/** What is wrong with backends. */
function ofBackends(backends: Row[]): Finding[] {
  const found: Finding[] = [];
  for (const cluster of withoutPrimary(backends)) {
    found.push(finding("bad", `No primary of the cluster ${cluster} takes writes: no primary in ${cluster} is up and in use.`));
  }
  for (const it of backends.filter(serves)) {
    if (it.state === "down") found.push(finding("bad", `The backend ${it.name} is down: ${it.cause ?? "no cause is known"}.`));
    else if (it.state === "full") found.push(finding("warn", `The backend ${it.name} is full: it has no connection left.`));
    else if (it.state === "unknown") found.push(finding("warn", `The backend ${it.name} has not answered yet.`));
    else if (it.replication === "stopped") found.push(finding("bad", `The replica ${it.name} does not follow its primary.`));
    else if (Number(it.lag_seconds ?? 0) > LAG_MAX) found.push(finding("warn", `The replica ${it.name} is ${seconds(Number(it.lag_seconds))} behind its primary.`));
    if (it.complaint != null) found.push(finding("warn", `${it.name}: ${it.complaint}`));
  }
  for (const it of backends.filter((it) => !serves(it))) {
    found.push(finding("plain", `The backend ${it.name} is ${it.disabled === 1 ? "disabled" : "drained"}, because an administrator said so.`));
  }
  return found;
}

function wellBackends(backends: Row[]): Finding[] {
  const meant = backends.filter(serves);
  const up = meant.filter(isUp);
  if (meant.length === 0) return [finding("bad", "The proxy has no backend that it may use.")];
  if (up.length < meant.length || withoutPrimary(backends).length > 0) return [];
  const all = meant.length === 1 ? `The backend ${meant[0]!.name} is` : `All ${meant.length} backends are`;
  return [finding("good", `${all} up, and each cluster has a primary that takes writes.`)];
}

function ofFacts(facts: Row): Finding[] {
  const found: Finding[] = [];
  const waiting = Number(facts.waiting ?? 0);
  if (facts.silent != null) found.push(finding("bad", `Workers are too busy to answer: ${facts.silent}. `, link("Workers", "workers")));
  if (waiting > 0 && Number(facts.oldest_us) >= WAIT_MIN_US) {
    const who = waiting === 1 ? "1 session waits" : `${count(waiting)} sessions wait`;
    found.push(finding("warn", `${who} for a connection, the first for ${time(Number(facts.oldest_us ?? 0))}. `, link("Pools", "lanes")));
  }
  if (Number(facts.blocked) > 0) found.push(finding("warn", `${facts.blocked} hosts are blocked because their logins failed. `, link("Accounts", "accounts")));
  const files = Number(facts.open_files ?? 0) / Number(facts.open_files_max ?? Infinity);
  if (files > FILES_MAX) found.push(finding("warn", `The proxy has ${facts.open_files} of ${facts.open_files_max} files open.`));
  return found;
}
