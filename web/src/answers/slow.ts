// What is slow? Statements that have become slower, statements that run for long, and what takes the most time.

import { objects, query, type Row } from "../api";
import { seconds, time } from "../format";
import { digestPage } from "../part";
import { finding, link, statement, type Finding } from "./finding";

/** Seconds that count as now, and seconds that now is compared with. */
const [NOW, BEFORE] = [900, 86_400];

/** A statement is slower if it takes so many times as long as before. */
const TIMES_SLOWER = 2;

/** Executions without which an average says little, on either side. */
const EXECUTIONS_MIN = 10;

/** Microseconds of a quarter of an hour below which a slower statement does not matter. */
const COST_MIN_US = 500_000;

/** A statement that runs for so long is told, in seconds. */
const LONG = 10;

const of = (since: string, until: string) => `SELECT digest, max(digest_text) AS text, sum(count) AS count, sum(total_us) AS us
  FROM digest_history WHERE digest IS NOT NULL AND start >= ${since} AND start < ${until} GROUP BY digest`;
const CLOCK = "strftime('%s', 'now')";

const SLOWER = `WITH now AS (${of(`${CLOCK} - ${NOW}`, `${CLOCK} + 1`)}), before AS (${of(`${CLOCK} - ${BEFORE}`, `${CLOCK} - ${NOW}`)})
  SELECT now.digest, now.text, now.us / now.count AS now_us, before.us / before.count AS before_us
  FROM now JOIN before ON before.digest = now.digest
  WHERE now.count >= ${EXECUTIONS_MIN} AND before.count >= ${EXECUTIONS_MIN} AND now.us >= ${COST_MIN_US}
  AND now.us / now.count >= ${TIMES_SLOWER} * (before.us / before.count + 1)
  ORDER BY now.us - now.count * (before.us / before.count) DESC LIMIT 3`;

const MOST = `SELECT digest, text, us, count, (SELECT sum(total_us) FROM digest_history WHERE start >= ${CLOCK} - ${NOW}) AS all_us
  FROM (${of(`${CLOCK} - ${NOW}`, `${CLOCK} + 1`)}) ORDER BY us DESC LIMIT 1`;

/** Before the history has an interval, the counts since the start tell the same. */
const MOST_EVER = `SELECT digest, max(digest_text) AS text, sum(total_us) AS us, sum(count) AS count,
  (SELECT sum(total_us) FROM digests) AS all_us FROM digests WHERE digest IS NOT NULL GROUP BY digest ORDER BY us DESC LIMIT 1`;

const RUNNING = `SELECT id, user, statement, state_seconds FROM sessions
  WHERE state = 'running' AND state_seconds >= ${LONG} ORDER BY state_seconds DESC LIMIT 3`;

export async function slow(): Promise<Finding[]> {
  const [slower, most, running] = await Promise.all([SLOWER, MOST, RUNNING].map(async (sql) => objects(await query(sql))));
  const found = [...slower!.map(ofSlower), ...running!.map(ofRunning)];
  if (!found.length) found.push(finding("good", "No statement has become slower in the last 15 minutes, and none has run for longer than 10 seconds."));
  const [now] = most!;
  if (now) return [...found, ofMost(now, "in the last 15 minutes")];
  const [ever] = objects(await query(MOST_EVER));
  return ever ? [...found, ofMost(ever, "since the start")] : [...found, finding("plain", "No statement has been counted yet.")];
}

function ofSlower(row: Row): Finding {
  const [now, before] = [Number(row.now_us), Math.max(1, Number(row.before_us))];
  const times = `takes ${(now / before).toFixed(1)} times as long as in the day before: ${time(now)} instead of ${time(before)}, on average.`;
  return finding("warn", statement(row.text, digestPage(row.digest).slice(1)), ` ${times}`);
}

function ofRunning(row: Row): Finding {
  const who = `Session ${row.id} of ${row.user ?? "an unknown user"} has run a statement for ${seconds(Number(row.state_seconds))}. `;
  return finding("warn", who, link("Sessions", `sessions/${encodeURIComponent(String(row.user ?? ""))}`));
}

function ofMost(row: Row, when: string): Finding {
  const share = (100 * Number(row.us)) / Math.max(1, Number(row.all_us));
  const cost = ` takes ${share.toFixed(0)} % of the time of all statements ${when}: ${time(Number(row.us) / Math.max(1, Number(row.count)))} each, on average.`;
  return finding("plain", statement(row.text, digestPage(row.digest).slice(1)), cost);
}
