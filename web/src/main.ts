// The page: which view is shown, and when it is refreshed.

import "./style.css";

import { tables } from "./api";
import { tell } from "./dialogs";
import { firstRow, h, isTyping } from "./dom";
import type { View } from "./view";
import { Digest } from "./views/digest";
import { Digests } from "./views/digests";
import { Indexes } from "./views/indexes";
import { Overview } from "./views/overview";
import { Tables } from "./views/plain";
import { Sessions } from "./views/sessions";
import { Settings } from "./views/settings";

const LIMIT = "limit=500";

/** Views by their names, in the order of their keys. */
const VIEWS: [name: string, title: string, make: (known: Set<string>) => View][] = [
  ["overview", "Overview", () => new Overview()],
  ["digests", "Digests", () => new Digests()],
  ["sessions", "Sessions", () => new Sessions()],
  [
    "lanes",
    "Lanes and pools",
    () =>
      new Tables(
        { title: "Shared lanes", question: `lanes?order=-statements&${LIMIT}`, empty: "No statement might have ridden one." },
        {
          title: "Pools",
          question: `pools?columns=backend,account,idle,in_use,opening,waiting,oldest_wait_us,opened,open_failures,reused,waits,timeouts,refused,closed&${LIMIT}`,
          empty: "No backend connection is shared.",
        },
      ),
  ],
  [
    "errors",
    "Errors and events",
    (known) =>
      new Tables(
        { title: "Errors", question: `errors?order=-count&${LIMIT}`, empty: "No statement has ended with an error." },
        ...(known.has("events") ? [{ title: "Events", question: `events?order=-id&${LIMIT}`, empty: "Nothing has happened." }] : []),
        ...(known.has("slow_statements")
          ? [{ title: "Slow statements", question: "slow_statements?limit=100", empty: "None was slow, or none is kept." }]
          : []),
      ),
  ],
  [
    "rules",
    "Rules",
    () =>
      new Tables({
        title: "Rules",
        question: `rules?columns=place,rule,conditions,actions,effect,hits,unfit,queued,refused,mirror_dropped&${LIMIT}`,
        empty: "There is no rule.",
        titles: { conditions: "means", actions: "does", effect: "rules behind it" },
      }),
  ],
  ["indexes", "Indexes", () => new Indexes()],
  ["settings", "Settings", () => new Settings()],
];

const KEYS: [key: string, does: string][] = [
  [`1 … ${VIEWS.length}`, "a view"],
  ["/", "into the filter"],
  ["↓ ↑", "to the first row, also from the filter; from row to row"],
  ["Enter", "opens the row"],
  ["Esc", "out of the filter, then without it, then back"],
  ["?", "this"],
];

/** A part of the address as it was meant; as it stands where that cannot be told. */
function decoded(part: string) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function tellKeys() {
  const line = ([key, does]: (typeof KEYS)[number]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, does));
  return tell(h("div", {}, h("h2", {}, "Keys"), h("dl", { class: "keys" }, ...KEYS.map(line))));
}

class Page {
  private readonly place = h("main", { tabindex: -1 });
  private readonly banner = h("p", { class: "banner", role: "status", hidden: true });
  private readonly links = VIEWS.map(([name, title], at) =>
    h("a", { href: `#${name}`, title: `Key ${at + 1}` }, title),
  );
  private readonly nav = h("nav", {}, ...this.links);
  private readonly made = new Map<string, View>();
  private known = new Set<string>();
  private view: View | null = null;
  private timer = 0;

  async start() {
    const help = h("button", { type: "button", class: "help", "aria-label": "Keys", onclick: () => void tellKeys() }, "?");
    const skip = h("button", { type: "button", class: "skip", onclick: () => (firstRow() ?? this.place).focus() }, "To the first row");
    const head = h("header", {}, skip, h("h1", {}, "Pilotfish"), this.nav, help);
    document.body.append(head, this.banner, this.place);
    addEventListener("hashchange", () => this.show());
    addEventListener("keydown", (event) => this.pressed(event));
    document.addEventListener("visibilitychange", () => this.again(0));
    this.known = await tables().catch(() => new Set<string>());
    this.show();
  }

  private show() {
    const hash = location.hash.slice(1) || "overview";
    const [name, rest] = hash.split("/", 2) as [string, string | undefined];
    const [wanted, , make] = VIEWS.find(([it]) => it === name) ?? VIEWS[0]!;
    if (name === "digest" && rest) {
      this.view = new Digest(decoded(rest));
    } else {
      this.view = this.made.get(wanted) ?? make(this.known);
      this.made.set(wanted, this.view);
      if (rest && this.view.filter) this.view.filter.value = decoded(rest);
    }
    const current = name === "digest" ? "digests" : wanted;
    this.links.forEach((link, at) => {
      if (VIEWS[at]![0] === current) {
        link.setAttribute("aria-current", "page");
        this.nav.scrollLeft = link.offsetLeft - this.nav.offsetLeft - (this.nav.clientWidth - link.offsetWidth) / 2;
      } else link.removeAttribute("aria-current");
    });
    document.title = `${VIEWS.find(([it]) => it === current)?.[1]} – Pilotfish`;
    this.place.replaceChildren(this.view.element);
    scrollTo(0, 0);
    this.again(0);
  }

  /** Refreshes in a while, as long as somebody looks. */
  private again(seconds: number) {
    clearTimeout(this.timer);
    if (document.hidden) return;
    this.timer = window.setTimeout(() => void this.refresh(), seconds * 1000);
  }

  private async refresh() {
    const view = this.view;
    if (!view) return;
    try {
      await view.refresh();
      this.banner.hidden = true;
      document.body.dataset.fresh = String(Date.now());
    } catch (error) {
      this.banner.textContent = `The proxy does not answer as it should: ${(error as Error).message}`;
      this.banner.hidden = false;
    }
    if (view === this.view) this.again(view.interval);
  }

  private pressed(event: KeyboardEvent) {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const filter = this.view?.filter;
    if (isTyping()) {
      if (event.key === "Escape") (document.activeElement as HTMLElement).blur();
      else if (event.key === "ArrowDown" && document.activeElement === filter) firstRow()?.focus();
      else return;
      // A search field would be emptied.
      return event.preventDefault();
    }
    const view = VIEWS[Number(event.key) - 1];
    if (view) location.hash = `#${view[0]}`;
    else if (event.key === "/" && filter) filter.focus();
    else if (event.key === "?") void tellKeys();
    else if (event.key === "Escape" && filter?.value) {
      filter.value = "";
      filter.dispatchEvent(new Event("input"));
    } else if (event.key === "Escape" && location.hash.startsWith("#digest/")) location.hash = "#digests";
    else if (event.key === "ArrowDown" && !document.activeElement?.closest("table")) {
      firstRow()?.focus();
    } else if (event.key === "ArrowUp" && filter && document.activeElement === firstRow()) filter.focus();
    else return;
    event.preventDefault();
  }
}

void new Page().start();
