// The page: which view is shown, and when it is refreshed.

import "./style.css";

import { tables } from "./api";
import { tell } from "./dialogs";
import { h, isTyping } from "./dom";
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
        ...(known.has("events") ? [{ title: "Events", question: `events?${LIMIT}`, empty: "Nothing has happened." }] : []),
        ...(known.has("slow_statements")
          ? [{ title: "Slow statements", question: "slow_statements?limit=100", empty: "None was slow, or none is kept." }]
          : []),
      ),
  ],
  ["rules", "Rules", () => new Tables({ title: "Rules", question: `rules?columns=place,rule,effect,hits,unfit,queued,refused,mirror_dropped&${LIMIT}`, empty: "There is no rule." })],
  ["indexes", "Indexes", () => new Indexes()],
  ["settings", "Settings", () => new Settings()],
];

const KEYS = "1 to 8: views. / : filter. ↑ ↓ Enter: through a table. Esc: back. ?: this.";

class Page {
  private readonly place = h("main", { tabindex: -1 });
  private readonly banner = h("p", { class: "banner", role: "status", hidden: true });
  private readonly links = VIEWS.map(([name, title], at) =>
    h("a", { href: `#${name}`, title: `Key ${at + 1}` }, title),
  );
  private readonly made = new Map<string, View>();
  private known = new Set<string>();
  private view: View | null = null;
  private timer = 0;

  async start() {
    const help = h("button", { type: "button", class: "help", "aria-label": "Keys", onclick: () => void tell(KEYS) }, "?");
    const head = h("header", {}, h("h1", {}, "Pilotfish"), h("nav", {}, ...this.links), help);
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
      this.view = new Digest(decodeURIComponent(rest));
    } else {
      this.view = this.made.get(wanted) ?? make(this.known);
      this.made.set(wanted, this.view);
    }
    const current = name === "digest" ? "digests" : wanted;
    this.links.forEach((link, at) => {
      if (VIEWS[at]![0] === current) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
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
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    if (isTyping()) {
      if (event.key === "Escape") (document.activeElement as HTMLElement).blur();
      return;
    }
    const view = VIEWS[Number(event.key) - 1];
    if (view) location.hash = `#${view[0]}`;
    else if (event.key === "/" && this.view?.filter) this.view.filter.focus();
    else if (event.key === "?") void tell(KEYS);
    else if (event.key === "Escape" && location.hash.startsWith("#digest/")) location.hash = "#digests";
    else if (event.key === "ArrowDown" && !document.activeElement?.closest("table")) {
      (document.querySelector("main tr[tabindex='0']") as HTMLElement | null)?.focus();
    } else return;
    event.preventDefault();
  }
}

void new Page().start();
