// Lines over time.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { h } from "./dom";

/** How many moments are kept: ten minutes. */
const MOMENTS = 300;

const HEIGHT = 180;

function style(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** 23:59:01, of seconds since 1970. */
function clock(at: number): string {
  return new Date(at * 1000).toLocaleTimeString("en-GB");
}

/** A line's numbers, as far back as they are kept. */
export class History {
  times: number[] = [];
  readonly lines = new Map<string, (number | null)[]>();

  add(values: Iterable<readonly [string, number | null]>) {
    this.times.push(Date.now() / 1000);
    const now = new Map(values);
    for (const name of now.keys()) {
      if (!this.lines.has(name)) this.lines.set(name, new Array(this.times.length - 1).fill(null));
    }
    for (const [name, line] of this.lines) {
      line.push(now.get(name) ?? null);
      if (line.length > MOMENTS) line.shift();
      if (line.every((it) => it === null)) this.lines.delete(name);
    }
    if (this.times.length > MOMENTS) this.times.shift();
  }
}

/** A line's numbers, all of them told at once. */
export class Told extends History {
  tell(times: number[], lines: Iterable<readonly [string, (number | null)[]]>) {
    this.times = times;
    this.lines.clear();
    for (const [name, line] of lines) this.lines.set(name, line);
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
    private readonly history: History,
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
        { ...axis, font, space: 80, size: 30, grid: { show: false }, values: (_, splits) => splits.map(clock) },
        { ...axis, font, size: 62, values: (_, splits) => splits.map((it) => this.format(it)) },
      ],
      series: [
        { label: "time", value: (_, at) => (at == null ? "" : clock(at)) },
        ...names.map((label, at) => ({
          label,
          stroke: style(`--series-${at % 6}`),
          width: 1.5,
          points: { show: false },
          spanGaps: true,
          // Where nobody points, the last.
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
