// The page: which view is shown, and when it is refreshed.

import "./style.css";

import { tell } from "./dialogs";
import { h, isTyping } from "./dom";
import { identify, mayChange, type Identity } from "./identity";
import { firstRow, focusedRow, walk } from "./rows";
import type { View } from "./view";
import { FIRST, GROUPS, VIEWS, type Entry } from "./views";
import { Digest } from "./views/digest";

const KEYS: [key: string, does: string][] = [
  ...VIEWS.map((it): [string, string] => [it.key, it.title]),
  ["/", "into the filter"],
  ["↓ ↑", "to the first row, also from the filter; from row to row, and up into the filter"],
  ["PgDn PgUp", "ten rows on, or back"],
  ["Home End", "to the first row, or the last"],
  ["Enter", "opens the row: its page, or all that is known of it and can be done to it"],
  ["Tab", "to the row's buttons"],
  ["Esc", "out of a question or the filter; then without the filter; then back, or out of the row"],
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
  const line = ([key, does]: (typeof KEYS)[number]) =>
    h("div", {}, h("dt", {}, ...key.split(" ").map((it) => h("kbd", {}, it))), h("dd", {}, does));
  return tell(h("div", {}, h("h2", {}, "Keys"), h("dl", { class: "keys" }, ...KEYS.map(line))));
}

/** Where a digest that was opened by its address leads back to. */
const DIGESTS = VIEWS.find((it) => it.name === "digests")!;

/** What was left for the page of a digest, and is there again behind it. */
interface Left {
  entry: Entry;
  scroll: number;
  row: HTMLElement | null;
}

/** Seconds after which a proxy that has not answered is asked again. */
const AGAIN = 2;

class Page {
  private readonly place = h("main", { tabindex: -1 });
  private readonly banner = h("p", { class: "banner", role: "alert", hidden: true });
  private readonly links = new Map(VIEWS.map((it) => [it, h("a", { href: `#${it.name}`, title: `Key ${it.key}` }, it.title)]));
  private readonly nav = h("nav", { "aria-label": "Views" }, ...GROUPS.map((it) => this.group(it.title, it.views)));
  private readonly proxy = h("p", { class: "proxy" });
  private readonly made = new Map<string, View>();
  private view: View | null = null;
  private entry = FIRST;
  private left: Left | null = null;
  private timer = 0;

  start() {
    const help = h("button", { type: "button", class: "help", "aria-label": "Keys", title: "Keys", onclick: () => void tellKeys() }, "?");
    const skip = h("button", { type: "button", class: "skip", onclick: () => (firstRow() ?? this.place).focus() }, "To the first row");
    const head = h("header", {}, skip, h("h1", {}, "Pilotfish"), this.proxy, help);
    document.body.append(head, this.banner, this.nav, this.place);
    addEventListener("keydown", (event) => this.pressed(event));
    document.addEventListener("visibilitychange", () => this.again(0));
    void this.begin();
  }

  /** Shows nothing before it is known what the user may do. */
  private async begin() {
    try {
      this.tellProxy(await identify());
    } catch (error) {
      this.complain(error as Error);
      setTimeout(() => void this.begin(), AGAIN * 1000);
      return;
    }
    addEventListener("hashchange", () => {
      document.querySelectorAll("dialog").forEach((it) => it.close());
      this.show();
    });
    this.show();
  }

  private tellProxy({ host, version, user, role }: Identity) {
    const may = mayChange() ? `${user} may change things` : `${user} may only look`;
    this.proxy.replaceChildren(h("strong", {}, host), ` version ${version}`, h("span", { title: `role ${role}` }, may));
  }

  private group(title: string, views: Entry[]): HTMLElement {
    return h("div", {}, h("span", { "aria-hidden": "true" }, title), ...views.map((it) => this.links.get(it)!));
  }

  private complain(error: Error) {
    this.banner.textContent = `The proxy does not answer as it should: ${error.message}`;
    this.banner.hidden = false;
  }

  private show() {
    const hash = location.hash.slice(1) || "overview";
    const [name, rest] = hash.split("/", 2) as [string, string | undefined];
    if (name === "digest" && rest) this.showDigest(decoded(rest));
    else this.showView(VIEWS.find((it) => it.name === name) ?? FIRST, rest);
    this.again(0);
  }

  private showView(entry: Entry, rest: string | undefined) {
    const view = this.made.get(entry.name) ?? entry.make();
    this.made.set(entry.name, view);
    if (rest && view.take) view.take(decoded(rest));
    else if (rest && view.filter) view.filter.value = decoded(rest);
    const left = this.view instanceof Digest && this.left?.entry === entry ? this.left : null;
    this.left = null;
    this.put(view, entry);
    if (!left) return;
    scrollTo(0, left.scroll);
    left.row?.focus({ preventScroll: true });
  }

  /** Shows the page of a digest, from which there is a way back to where it was opened. */
  private showDigest(digest: string) {
    const isFirst = this.view === null;
    if (!(this.view instanceof Digest)) {
      this.left = { entry: isFirst ? DIGESTS : this.entry, scroll: scrollY, row: focusedRow() };
    }
    const { entry } = this.left!;
    this.put(new Digest(digest, entry), entry);
  }

  private put(view: View, entry: Entry) {
    this.view = view;
    this.entry = entry;
    this.links.forEach((link, of) => {
      if (of === entry) {
        link.setAttribute("aria-current", "page");
        this.nav.scrollLeft = link.offsetLeft - this.nav.offsetLeft - (this.nav.clientWidth - link.offsetWidth) / 2;
      } else link.removeAttribute("aria-current");
    });
    document.title = `${entry.title} – Pilotfish`;
    this.place.replaceChildren(view.element);
    scrollTo(0, 0);
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
      this.complain(error as Error);
    }
    if (view === this.view) this.again(view.interval);
  }

  private pressed(event: KeyboardEvent) {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const isDone = isTyping() ? this.typed(event.key) : this.commanded(event.key);
    // A search field would be emptied, a page scrolled.
    if (isDone) event.preventDefault();
  }

  /** A key while somebody is typing; whether it meant something. */
  private typed(key: string): boolean {
    if (key === "Escape") (document.activeElement as HTMLElement).blur();
    else if (key === "ArrowDown" && document.activeElement === this.view?.filter) firstRow()?.focus();
    else return false;
    return true;
  }

  /** Any other key; whether it meant something. */
  private commanded(key: string): boolean {
    const filter = this.view?.filter;
    const entry = VIEWS.find((it) => it.key === key);
    if (entry) location.hash = `#${entry.name}`;
    else if (key === "/" && filter) filter.focus();
    else if (key === "?") void tellKeys();
    else if (key === "Escape" && filter?.value) {
      filter.value = "";
      filter.dispatchEvent(new Event("input"));
    } else if (key === "Escape" && this.view instanceof Digest) location.hash = `#${this.entry.name}`;
    else if (key === "Escape" && focusedRow()) (document.activeElement as HTMLElement).blur();
    else return walk(key, filter);
    return true;
  }
}

new Page().start();
