// Which views there are, in the order in which the page lists them.

import type { Cell } from "./format";
import type { View } from "./view";
import { Digests } from "./views/digests";
import { Indexes } from "./views/indexes";
import { Overview } from "./views/overview";
import { Parts } from "./views/parts";
import { QueryEditor } from "./views/query";
import { Schema } from "./views/schema";
import { Sessions } from "./views/sessions";
import { Settings } from "./views/settings";

const LIMIT = "limit=500";

const POOLS =
  "backend,account,idle,in_use,opening,waiting,oldest_wait_us,opened,open_failures,reused,waits,timeouts,refused,closed";
const RULES =
  "place,rule,conditions,actions,effect,hits,unfit,queued,refused,mirror_dropped,injected,injected_failed,not_understood";

/** Of rules, what is told of one only that is opened. */
const RULES_ASIDE = ["queued", "refused", "mirror_dropped", "injected", "injected_failed", "not_understood"];

/** Of slow statements, what is told of one only that is opened. */
const SLOW_ASIDE = [
  "session", "client", "db", "proxy_us", "queue_us", "backend_us", "first_byte_us", "rows_affected", "bytes_in", "bytes_out", "message", "digest",
];

const ACCOUNTS = "user,host,source,login,db,mode,cluster,backend_user,locked,connections_max,sessions";

/** Of streams, what is told of one only that is opened. */
const STREAMS_ASIDE = ["server_id", "position", "bytes", "events_dropped", "events_changed", "connects", "bytes_per_second", "last_error_time", "transactions"];

/** Of lanes: what became of a statement, and why, as the page says it. */
const OUTCOMES: Record<string, string> = {
  on_lane: "shared a connection",
  moved: "had to leave the shared connection",
  stalled: "made others wait on the shared connection",
  not_on_lane: "had a connection of its own",
};

function yesOrNo(value: Cell): string {
  return value === 1 ? "yes" : "no";
}

function lanes(): View {
  return new Parts(
    {
      title: "Shared lanes",
      question: `lanes?order=-statements&${LIMIT}`,
      key: ["outcome", "reason"],
      about: "A lane is a connection to a backend that several sessions use at the same time. The table counts statements since the start.",
      empty: "No statement was eligible for a lane.",
      titles: { outcome: "The statement", reason: "Because" },
      values: { outcome: (it) => OUTCOMES[String(it)] ?? String(it) },
    },
    {
      title: "Pools",
      question: `pools?columns=${POOLS}&${LIMIT}`,
      key: ["backend", "account"],
      empty: "No backend connection is shared.",
    },
  );
}

function errors(): View {
  return new Parts(
    {
      title: "Errors",
      question: `errors?order=-count&${LIMIT}`,
      key: ["number", "sqlstate", "account", "backend"],
      empty: "No statement has ended with an error.",
    },
    {
      title: "Events",
      about: "Events of backends and of the configuration, and actions of administrators; the latest first.",
      question: `events?order=-id&${LIMIT}`,
      key: ["id"],
      empty: "There is no event.",
      titles: { text: "What" },
    },
    {
      title: "Slow statements",
      question: "slow_statements?limit=100",
      key: ["ended", "session", "digest"],
      empty: "No statement was slow, or the proxy keeps none.",
      aside: SLOW_ASIDE,
    },
  );
}

function rules(): View {
  return new Parts({
    title: "Rules",
    question: `rules?columns=${RULES}&${LIMIT}`,
    key: ["rule"],
    empty: "There is no rule.",
    titles: { place: "Order", conditions: "Conditions", actions: "Actions", effect: "Later rules", unfit: "Not rewritten" },
    aside: RULES_ASIDE,
  });
}

function workers(): View {
  return new Parts(
    {
      title: "Workers",
      about: "A worker is a thread that serves sessions. Each session stays on one worker.",
      question: "workers",
      key: ["worker"],
      empty: "There is no worker.",
      values: { answers: yesOrNo },
    },
    {
      title: "Listeners",
      about: "The addresses where the proxy takes connections.",
      question: `listeners?${LIMIT}`,
      key: ["address", "purpose"],
      empty: "The proxy does not listen.",
    },
    {
      title: "Process",
      about: "The process of the proxy, as the kernel reports it.",
      question: "process?columns=host,version,pid,uptime_seconds,cpu_us,resident_bytes,threads,open_files,open_files_max",
      key: ["pid"],
      empty: "The kernel reports nothing about the process.",
      titles: { cpu_us: "Processor time", resident_bytes: "Memory", uptime_seconds: "Runs for", open_files_max: "Limit of open files" },
    },
    {
      title: "Logs",
      about: "The logs of statements and logins, and the history that the charts are drawn from.",
      question: "logs",
      key: ["log"],
      empty: "There is no log.",
    },
  );
}

function accounts(): View {
  return new Parts(
    {
      title: "Accounts",
      about: "The accounts whose clients the proxy logs in itself. Logins of other accounts are passed on to a server. No password is shown.",
      question: `accounts?columns=${ACCOUNTS}&order=user,host&${LIMIT}`,
      key: ["user", "host"],
      empty: "The proxy logs in no client itself; it passes all logins on to a server.",
      titles: { login: "Login is", mode: "Session mode" },
      values: { locked: yesOrNo },
    },
    {
      title: "Users of this page and of the admin port",
      question: "admin_accounts?columns=user,role",
      key: ["user"],
      empty: "There is no user besides admin.username.",
    },
    {
      title: "Failed logins",
      about: "Hosts whose last logins failed. The proxy refuses a host after limits.connect_errors_max failures.",
      question: `host_errors?order=-errors&${LIMIT}`,
      key: ["host"],
      empty: "No host has failed to log in.",
      values: { blocked: yesOrNo },
    },
  );
}

function replication(): View {
  return new Parts(
    {
      title: "Streams",
      about: "The clusters that the proxy follows as a replica does.",
      question: "replication",
      key: ["stream"],
      empty: "The proxy follows no cluster. A table [[replication]] in the settings makes it follow one.",
      titles: { source: "Follows a" },
      aside: STREAMS_ASIDE,
    },
    {
      title: "Replicas that the proxy feeds",
      question: `fed_replicas?${LIMIT}`,
      key: ["cluster", "replica"],
      empty: "No replica gets its transactions from the proxy.",
    },
    {
      title: "Readers of the change feed",
      question: `change_readers?${LIMIT}`,
      key: ["way", "reader", "cluster"],
      titles: { way: "Over" },
      empty: "The change feed has no reader.",
    },
  );
}

export interface Entry {
  /** As the address has it. */
  name: string;
  title: string;
  /** The key that leads to it. */
  key: string;
  make: () => View;
}

/** Views that belong together, under one title. */
export interface Group {
  title: string;
  views: Entry[];
}

export const GROUPS: Group[] = [
  {
    title: "Now",
    views: [
      { name: "overview", title: "Overview", key: "1", make: () => new Overview() },
      { name: "sessions", title: "Sessions", key: "3", make: () => new Sessions() },
      { name: "errors", title: "Errors and events", key: "5", make: errors },
    ],
  },
  {
    title: "Statements",
    views: [
      { name: "digests", title: "Digests", key: "2", make: () => new Digests() },
      { name: "rules", title: "Rules", key: "6", make: rules },
      { name: "indexes", title: "Indexes", key: "7", make: () => new Indexes() },
    ],
  },
  {
    title: "Connections",
    views: [
      { name: "lanes", title: "Lanes and pools", key: "4", make: lanes },
      { name: "workers", title: "Workers and listeners", key: "9", make: workers },
      { name: "accounts", title: "Accounts", key: "0", make: accounts },
    ],
  },
  {
    title: "Clusters",
    views: [
      { name: "replication", title: "Replication", key: "r", make: replication },
      { name: "schema", title: "Schema changes", key: "s", make: () => new Schema() },
    ],
  },
  {
    title: "Tools",
    views: [
      { name: "settings", title: "Settings", key: "8", make: () => new Settings() },
      { name: "query", title: "Query", key: "q", make: () => new QueryEditor() },
    ],
  },
];

export const VIEWS: Entry[] = GROUPS.flatMap((it) => it.views);

/** The view that is shown first. */
export const FIRST = VIEWS[0]!;
