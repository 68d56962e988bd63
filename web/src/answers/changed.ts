// What has changed? The proxy itself, its settings, its backends, the schemas of the clusters, and the statements.

import { objects, query, type Row } from "../api";
import { count, seconds } from "../format";
import { objectName } from "../object_name";
import { digestPage } from "../part";
import { finding, link, statement, type Finding, type Weight } from "./finding";

/** Sentences of each kind. */
const SHOWN = 4;

/** Seconds in which a statement is new. */
const NEW = 3600;

/** A start that is older is no news, in seconds. */
const RECENT = 86_400;

const EVENTS = `SELECT id, time, kind, subject, text, user FROM events WHERE kind NOT IN ('traces', 'metrics')
  AND time > strftime('%Y-%m-%d %H:%M:%S', 'now', '-1 day') ORDER BY id DESC LIMIT 300`;
const SCHEMAS = `SELECT id, time, kind, db, object, object_kind, account FROM schema_changes WHERE step_of IS NULL
  AND time > strftime('%Y-%m-%d %H:%M:%S', 'now', '-1 day') ORDER BY id DESC LIMIT ${SHOWN}`;
const STATEMENTS = `SELECT count(*) AS count, max(digest) AS digest, max(text) AS text FROM (SELECT digest, max(digest_text) AS text FROM digests
  WHERE digest IS NOT NULL GROUP BY digest HAVING min(first_seen) > strftime('%Y-%m-%d %H:%M:%S', 'now', '-${NEW} seconds'))`;
const PROCESS = "SELECT uptime_seconds, version FROM process";

export async function changed(): Promise<Finding[]> {
  const ask = async (sql: string) => objects(await query(sql));
  const [events, schemas, statements, process, unsaved] = await Promise.all([EVENTS, SCHEMAS, STATEMENTS, PROCESS, "SHOW CHANGES"].map(ask));
  const uptime = Number(process![0]?.uptime_seconds ?? 0);
  const found = [
    ...ofUnsaved(unsaved!.length),
    ...ofEvents(events!),
    ...schemas!.map(ofSchema),
    // A proxy that has just started has seen no statement before.
    ...(uptime > NEW ? ofStatements(statements![0]!) : []),
    ...(uptime < RECENT ? [finding("plain", `Pilotfish ${process![0]?.version} was started ${seconds(Math.round(uptime))} ago.`)] : []),
  ];
  return found.length ? found : [finding("good", "Nothing has changed in the last day: no setting, no backend, no schema.")];
}

function ofUnsaved(changes: number): Finding[] {
  if (changes === 0) return [];
  const what = changes === 1 ? "1 setting differs" : `${changes} settings differ`;
  return [finding("warn", `${what} from the file, and would be lost at a restart. `, link("Settings", "settings"))];
}

/** The latest, with the last word on each subject only. */
function ofEvents(events: Row[]): Finding[] {
  const last = new Map<string, Row>();
  for (const it of events) {
    const subject = `${it.kind} ${it.subject}`;
    if (!last.has(subject)) last.set(subject, it);
  }
  const found = [...last.values()].slice(0, SHOWN).map(ofEvent);
  const more = events.length - found.length;
  if (more > 0) found.push(finding("plain", `The last day has ${more === 1 ? "one more event" : `${more === 299 ? "many" : count(more)} more events`}. `, link("Events", "errors")));
  return found;
}

function ofEvent(it: Row): Finding {
  const by = it.user == null ? "" : `, by ${it.user}`;
  return finding(weight(it), `${ago(it.time)}: ${it.subject} ${it.text}${by}.`);
}

function weight(event: Row): Weight {
  const text = String(event.text);
  return text.startsWith("is down") || text.startsWith("cannot") ? "warn" : "plain";
}

function ofSchema(it: Row): Finding {
  const by = it.account == null ? "" : ` by ${it.account}`;
  return finding("plain", `${ago(it.time)}: `, link(`${it.kind} ${objectName(it, it.object_kind)}`, `schema/${it.id}`), `${by}.`);
}

function ofStatements(row: Row): Finding[] {
  const number = Number(row.count);
  if (number === 0) return [];
  const one = statement(row.text, digestPage(row.digest).slice(1));
  if (number === 1) return [finding("plain", "One statement is new in the last hour: ", one)];
  return [finding("plain", `${count(number)} statements are new in the last hour, such as `, one)];
}

/** A time in UTC as people say it: 12 min ago. */
export function ago(utc: unknown): string {
  const at = Date.parse(`${String(utc).replace(" ", "T")}Z`);
  return isFinite(at) ? `${seconds(Math.max(1, Math.round((Date.now() - at) / 1000)))} ago` : String(utc);
}
