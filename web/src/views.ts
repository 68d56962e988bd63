// Which views there are, in the order of their keys.

import type { View } from "./view";
import { Digests } from "./views/digests";
import { Indexes } from "./views/indexes";
import { Overview } from "./views/overview";
import { Parts } from "./views/parts";
import { Sessions } from "./views/sessions";
import { Settings } from "./views/settings";

const LIMIT = "limit=500";

const POOLS =
  "backend,account,idle,in_use,opening,waiting,oldest_wait_us,opened,open_failures,reused,waits,timeouts,refused,closed";
const RULES =
  "place,rule,conditions,actions,effect,hits,unfit,queued,refused,mirror_dropped,injected,injected_failed,not_understood";

/** Of slow statements, what is told of one only that is opened. */
const SLOW_ASIDE = [
  "session", "client", "db", "proxy_us", "queue_us", "backend_us", "first_byte_us", "rows_affected", "bytes_in", "bytes_out", "message", "digest",
];

function lanes(): View {
  return new Parts(
    {
      title: "Shared lanes",
      question: `lanes?order=-statements&${LIMIT}`,
      key: ["outcome", "reason"],
      empty: "No statement was eligible for a lane.",
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
    titles: { conditions: "Means", actions: "Does", effect: "Rules behind it" },
  });
}

export interface Entry {
  /** As the address has it. */
  name: string;
  title: string;
  make: () => View;
}

export const VIEWS: Entry[] = [
  { name: "overview", title: "Overview", make: () => new Overview() },
  { name: "digests", title: "Digests", make: () => new Digests() },
  { name: "sessions", title: "Sessions", make: () => new Sessions() },
  { name: "lanes", title: "Lanes and pools", make: lanes },
  { name: "errors", title: "Errors and events", make: errors },
  { name: "rules", title: "Rules", make: rules },
  { name: "indexes", title: "Indexes", make: () => new Indexes() },
  { name: "settings", title: "Settings", make: () => new Settings() },
];
