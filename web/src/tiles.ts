// The figures of the start page: a tile for each.

import type { Row } from "./api";
import { isUp, serves, withoutPrimary } from "./backends";
import { h } from "./dom";
import { count, time } from "./format";

class Tile {
  private readonly number = h("strong", {}, "–");
  private readonly more = h("small");
  readonly element: HTMLElement;

  constructor(title: string, about: string) {
    this.element = h("div", { class: "tile", title: about }, h("span", {}, title), this.number, this.more);
  }

  show(number: string, more = "", kind = "") {
    this.number.textContent = number;
    this.more.textContent = more;
    this.element.dataset.kind = kind;
  }
}

/** What has flowed between two looks; times in microseconds. */
export interface Flowed {
  perSecond: number;
  p50: number | null;
  p95: number | null;
  p99: number | null;
  wait: number | null;
  /** Processor time of the process per statement. */
  cpu: number | null;
  cores: number;
}

export class Tiles {
  private readonly tiles = {
    rate: new Tile("Statements", "Statements that were answered, per second."),
    p50: new Tile("p50", "Half of the statements took this time or less at backends."),
    p95: new Tile("p95", "95 of 100 statements took this time or less at backends."),
    p99: new Tile("p99", "99 of 100 statements took this time or less at backends."),
    wait: new Tile("Waiting, p99", "99 of 100 statements waited this time or less in the proxy before they were sent."),
    cpu: new Tile("CPU/statement", "Processor time of the whole process per statement."),
    sessions: new Tile("Sessions", "Connected clients."),
    errors: new Tile("Errors", "Statements that ended with an error, per second."),
    backends: new Tile("Backends", "Backends that are up and in use."),
  };
  readonly element = h("div", { class: "tiles" }, ...Object.values(this.tiles).map((it) => it.element));

  showSessions(sessions: number, pinned: number) {
    this.tiles.sessions.show(count(sessions), `${count(pinned)} pinned`);
  }

  showErrors(rate: number | null) {
    this.tiles.errors.show(count(rate), "per second", rate ? "bad" : "");
  }

  showFlow({ perSecond, p50, p95, p99, wait, cpu, cores }: Flowed) {
    this.tiles.rate.show(count(perSecond), "per second");
    this.tiles.p50.show(time(p50), "at backends");
    this.tiles.p95.show(time(p95), "at backends");
    this.tiles.p99.show(time(p99), "at backends");
    this.tiles.wait.show(time(wait), "in the proxy");
    this.tiles.cpu.show(time(cpu), `${cores.toFixed(2)} cores`);
  }

  /** A backend that is drained or disabled is so on purpose. */
  showBackends(backends: Row[]) {
    const meant = backends.filter(serves);
    const up = meant.filter(isUp).length;
    const headless = withoutPrimary(backends);
    const full = meant.filter((it) => it.state === "full").map((it) => String(it.name));
    const words = ["up"];
    if (headless.length > 0) words.push(`no primary in ${headless.join(", ")}`);
    if (full.length > 0) words.push(`full: ${full.join(", ")}`);
    const isWell = headless.length === 0 && up === meant.length;
    this.tiles.backends.show(`${up} of ${backends.length}`, words.join("; "), isWell ? "good" : "bad");
  }
}
