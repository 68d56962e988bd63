// Who talks with whom: clients, the proxy, backends; lines as thick as what flows, coloured by health.

import { s, h } from "./dom";
import { count, time } from "./format";
import type { Row } from "./api";
import { isUp } from "./backends";

const ROW = 66;
const NARROW = 560;

export interface Flow {
  sessions: number;
  workers: number;
  rate: number;
  backends: (Row & { rate: number })[];
}

function health(backend: Row): "up" | "down" | "unsure" {
  if (backend.state === "down") return "down";
  const lags = backend.role === "replica" && Number(backend.lag_seconds ?? 0) > 10;
  return backend.state !== "up" || backend.draining === 1 || backend.disabled === 1 || lags ? "unsure" : "up";
}

/** What is to be said of a backend in one line. */
function words(backend: Row & { rate: number }): string {
  if (!isUp(backend)) return String(backend.cause ?? backend.state);
  const parts = [`${count(backend.rate)}/s`];
  if (backend.state === "full") parts.push("full");
  if (backend.disabled === 1) parts.push("disabled");
  else if (backend.draining === 1) parts.push("draining");
  if (backend.role === "replica" && backend.lag_seconds !== null) parts.push(`${backend.lag_seconds} s behind`);
  if (backend.latency_us !== null) parts.push(time(Number(backend.latency_us)));
  return parts.join(" · ");
}

export class Topology {
  readonly element: HTMLElement;
  private readonly place = h("div", { class: "topology" });

  constructor() {
    this.element = h("section", { class: "card" }, h("h2", {}, "Topology"), this.place);
  }

  draw(flow: Flow) {
    const width = Math.max(240, this.place.clientWidth || 300);
    const isNarrow = width < NARROW;
    const height = Math.max(1, flow.backends.length) * ROW + 8;
    const middle = height / 2;
    const box = isNarrow ? Math.min(170, width * 0.46) : 230;
    const proxy = isNarrow ? 92 : 150;
    const left = isNarrow ? 0 : 120;
    const gap = isNarrow ? 0 : (width - left - proxy - box) / 2;
    const from = left + gap + proxy;
    const to = width - box;
    const most = Math.max(1, ...flow.backends.map((it) => it.rate));
    const drawing = s("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": "Clients, the proxy and backends",
    });
    if (!isNarrow) {
      drawing.append(this.line(left, middle, left + gap, middle, flow.rate > 0 ? 9 : 1.5, "up", flow.rate > 0));
      drawing.append(this.box(0, middle - 26, left, "clients", `${count(flow.sessions)} sessions`, "plain"));
    }
    flow.backends.forEach((backend, at) => {
      const y = at * ROW + ROW / 2 + 4;
      const thickness = backend.rate > 0 ? 1.5 + 8 * Math.sqrt(backend.rate / most) : 1.5;
      drawing.append(this.line(from, middle, to, y, thickness, health(backend), backend.rate > 0));
    });
    const under = isNarrow ? `${count(flow.sessions)} sess.` : `${count(flow.rate)}/s, ${flow.workers} workers`;
    drawing.append(this.box(left + gap, middle - 26, proxy, "pilotfish", under, "plain"));
    flow.backends.forEach((backend, at) => {
      const role = backend.role ? ` (${backend.role})` : "";
      const y = at * ROW + ROW / 2 - 22;
      drawing.append(this.box(to, y, box, `${backend.name}${isNarrow ? "" : role}`, words(backend), health(backend)));
    });
    this.place.replaceChildren(drawing);
  }

  private line(x: number, y: number, toX: number, toY: number, thickness: number, kind: string, flows: boolean) {
    const half = (x + toX) / 2;
    const d = `M ${x} ${y} C ${half} ${y}, ${half} ${toY}, ${toX} ${toY}`;
    const line = s("path", { d, class: `flow ${kind}`, "stroke-width": thickness });
    return flows ? s("g", {}, line, s("path", { d, class: "moving" })) : line;
  }

  private box(x: number, y: number, width: number, title: string, text: string, kind: string) {
    const fits = (it: string, size: number) => {
      const letters = Math.floor((width - 20) / size);
      return it.length > letters ? `${it.slice(0, Math.max(1, letters - 1))}…` : it;
    };
    return s(
      "g",
      { class: `box ${kind}` },
      s("title", {}, `${title}: ${text}`),
      s("rect", { x: x + 1, y, width: width - 2, height: 52, rx: 8 }),
      s("text", { x: x + 12, y: y + 22, class: "name" }, fits(title, 7.4)),
      s("text", { x: x + 12, y: y + 40, class: "words" }, fits(text, 6.2)),
    );
  }
}
