// Lines over time.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { h } from "./dom";

const HEIGHT = 180;

/** Seconds; a longer chart has no seconds in its times, or days instead of times. */
const [MINUTES, DAYS] = [1800, 180_000];

function style(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** 23:59:01, 23:59 or Thu 27 23:59, of seconds since 1970. `span`: seconds that the chart shows. */
function clock(at: number, span: number): string {
  const time = { hour: "2-digit", minute: "2-digit" } as const;
  const date = new Date(at * 1000);
  if (span < MINUTES) return date.toLocaleTimeString("en-GB");
  if (span < DAYS) return date.toLocaleTimeString("en-GB", time);
  return date.toLocaleString("en-GB", { weekday: "short", day: "numeric", ...time });
}

/** The numbers of lines: one for each time, `null` where there is none. */
export class Lines {
  /** Seconds since 1970, ascending. */
  times: number[] = [];
  readonly lines = new Map<string, (number | null)[]>();

  /** One more time. Times that are older than `span` seconds then are removed. */
  add(at: number, span: number, values: Iterable<readonly [string, number | null]>) {
    // The clock of the machine may have been set back.
    if (at <= (this.times.at(-1) ?? -Infinity)) return;
    this.times.push(at);
    const now = new Map(values);
    for (const name of now.keys()) {
      if (!this.lines.has(name)) this.lines.set(name, new Array(this.times.length - 1).fill(null));
    }
    const old = this.times.findIndex((it) => it >= at - span);
    this.times.splice(0, old);
    for (const [name, line] of this.lines) {
      line.push(now.get(name) ?? null);
      line.splice(0, old);
      if (line.every((it) => it === null)) this.lines.delete(name);
    }
  }

  /** All of them anew. */
  tell(times: number[], lines: Iterable<readonly [string, (number | null)[]]>) {
    this.times = times;
    this.lines.clear();
    for (const [name, line] of lines) if (line.some((it) => it !== null)) this.lines.set(name, line);
  }
}

export class Chart {
  readonly element: HTMLElement;
  private readonly place = h("div", { class: "plot" });
  private plot: uPlot | null = null;
  private names = "";

  constructor(
    title: string,
    about: string,
    private readonly history: Lines,
    private readonly format: (value: number) => string,
  ) {
    this.element = h("figure", { class: "card" }, h("figcaption", { title: about }, title), this.place);
    new ResizeObserver(() => this.resize()).observe(this.place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.names = "";
      this.draw();
    });
  }

  draw() {
    if (!this.place.isConnected || this.history.times.length < 2) return;
    const names = [...this.history.lines.keys()];
    const data = [this.history.times, ...this.history.lines.values()] as uPlot.AlignedData;
    if (this.plot && this.names === names.join("\n")) {
      this.plot.setData(data);
      return;
    }
    this.names = names.join("\n");
    this.plot?.destroy();
    this.place.replaceChildren();
    this.plot = new uPlot(this.options(names), data, this.place);
    // Screen readers read the legend, which has each line with its last value.
    this.place.querySelector("canvas")?.setAttribute("aria-hidden", "true");
  }

  private span(): number {
    return (this.history.times.at(-1) ?? 0) - (this.history.times[0] ?? 0);
  }

  private options(names: string[]): uPlot.Options {
    const axis = { stroke: style("--soft"), grid: { stroke: style("--line"), width: 1 }, ticks: { show: false } };
    const font = `11px ${style("--font") || "sans-serif"}`;
    return {
      width: this.place.clientWidth || 300,
      height: HEIGHT,
      cursor: { y: false, points: { size: 6 } },
      legend: { live: true },
      scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
      axes: [
        { ...axis, font, space: 90, size: 30, grid: { show: false }, values: (_, splits) => splits.map((it) => clock(it, this.span())) },
        { ...axis, font, size: 62, values: (_, splits) => splits.map((it) => this.format(it)) },
      ],
      series: [
        { label: "time", value: (_, at) => (at == null ? "" : clock(at, this.span())) },
        ...names.map((label, at) => ({
          label,
          stroke: style(`--series-${at % 6}`),
          width: 1.5,
          points: { show: false },
          spanGaps: true,
          // Unless somebody points at a time, the last value.
          value: (plot: uPlot, value: number | null) => {
            const shown = value ?? plot.data[at + 1]?.at(-1);
            return shown == null ? "–" : this.format(shown);
          },
        })),
      ],
    };
  }

  private resize() {
    if (this.plot) this.plot.setSize({ width: this.place.clientWidth, height: HEIGHT });
    else this.draw();
  }
}
