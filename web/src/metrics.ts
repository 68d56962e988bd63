// Prometheus' text, and what has happened between two of them.

export interface Series {
  labels: Record<string, string>;
  value: number;
}

/** All metrics of one moment. */
export class Sample {
  readonly at = performance.now() / 1000;
  private readonly series = new Map<string, Series[]>();

  constructor(text: string) {
    for (const line of text.split("\n")) {
      const found = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
      if (!found) continue;
      const [, name, labels, value] = found;
      const list = this.series.get(name!) ?? [];
      list.push({ labels: parse(labels ?? ""), value: value === "+Inf" ? Infinity : Number(value) });
      this.series.set(name!, list);
    }
  }

  of(name: string): Series[] {
    return this.series.get(name) ?? [];
  }

  sum(name: string): number {
    return this.of(name).reduce((sum, it) => sum + it.value, 0);
  }

  /** Sums by the value of a label. */
  by(name: string, label: string): Map<string, number> {
    const sums = new Map<string, number>();
    for (const it of this.of(name)) {
      const key = it.labels[label] ?? "";
      sums.set(key, (sums.get(key) ?? 0) + it.value);
    }
    return sums;
  }
}

function parse(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name!] = value!.replace(/\\(.)/g, (_, it) => (it === "n" ? "\n" : it));
  }
  return labels;
}

/** How much a counter has grown in a second. */
export function rate(before: Sample, after: Sample, name: string): number {
  const seconds = after.at - before.at;
  return seconds > 0 ? Math.max(0, after.sum(name) - before.sum(name)) / seconds : 0;
}

/** The same, by the value of a label. */
export function rates(before: Sample, after: Sample, name: string, label: string): Map<string, number> {
  const [old, seconds] = [before.by(name, label), after.at - before.at];
  const grown = [...after.by(name, label)].map(
    ([key, value]) => [key, Math.max(0, value - (old.get(key) ?? 0)) / seconds] as const,
  );
  return new Map(grown);
}

/** Quantiles of what has been observed between two samples, in microseconds; none where nothing was. */
export function quantiles(before: Sample, after: Sample, name: string, wanted: number[]): (number | null)[] {
  const old = before.by(`${name}_bucket`, "le");
  const steps = [...after.by(`${name}_bucket`, "le")]
    .map(([end, total]) => [end === "+Inf" ? Infinity : Number(end), total - (old.get(end) ?? 0)] as const)
    .sort(([a], [b]) => a - b);
  const all = steps.at(-1)?.[1] ?? 0;
  if (all <= 0) return wanted.map(() => null);
  return wanted.map((quantile) => {
    let [begin, below] = [0, 0];
    for (const [end, total] of steps) {
      if (total >= quantile * all) {
        if (!isFinite(end)) return begin * 1e6;
        const share = total > below ? (quantile * all - below) / (total - below) : 1;
        return (begin + (end - begin) * share) * 1e6;
      }
      [begin, below] = [end, total];
    }
    return begin * 1e6;
  });
}
