// Two texts line by line, side by side.

import { h } from "./dom";

/** A line on each side; `null`: this side has no such line. */
export interface Pair {
  before: string | null;
  after: string | null;
}

/** Lines on each side that are compared at most; the comparison takes the product of both. */
const LINES_MAX = 2000;

/** The lines of both texts, with equal lines beside each other. */
export function pairs(before: string[], after: string[]): Pair[] {
  let begin = 0;
  while (begin < before.length && begin < after.length && before[begin] === after[begin]) begin++;
  let end = 0;
  while (end < before.length - begin && end < after.length - begin && before.at(-1 - end) === after.at(-1 - end)) end++;
  const same = (line: string): Pair => ({ before: line, after: line });
  const middle = changed(before.slice(begin, before.length - end), after.slice(begin, after.length - end));
  return [...before.slice(0, begin).map(same), ...middle, ...before.slice(before.length - end).map(same)];
}

/** The same for what begins and ends with a difference. */
function changed(before: string[], after: string[]): Pair[] {
  if (before.length > LINES_MAX || after.length > LINES_MAX) return beside(before, after);
  const common = commonLengths(before, after);
  const found: Pair[] = [];
  let [gone, come]: [string[], string[]] = [[], []];
  const flush = () => {
    found.push(...beside(gone, come));
    [gone, come] = [[], []];
  };
  let [x, y] = [0, 0];
  while (x < before.length || y < after.length) {
    if (x < before.length && y < after.length && before[x] === after[y]) {
      flush();
      found.push({ before: before[x++]!, after: after[y++]! });
    } else if (y >= after.length || (x < before.length && common[x + 1]![y]! >= common[x]![y + 1]!)) gone.push(before[x++]!);
    else come.push(after[y++]!);
  }
  flush();
  return found;
}

/** How many lines both texts have in common behind each place. */
function commonLengths(before: string[], after: string[]): Uint16Array[] {
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let x = before.length - 1; x >= 0; x--) {
    for (let y = after.length - 1; y >= 0; y--) {
      common[x]![y] = before[x] === after[y] ? common[x + 1]![y + 1]! + 1 : Math.max(common[x + 1]![y]!, common[x]![y + 1]!);
    }
  }
  return common;
}

/** Lines that differ, beside each other as far as both sides have some. */
function beside(gone: string[], come: string[]): Pair[] {
  return Array.from({ length: Math.max(gone.length, come.length) }, (_, at) => ({ before: gone[at] ?? null, after: come[at] ?? null }));
}

/** A table of two columns. `label`: what it compares, for those who do not see the text above it. */
export function sideBySide(label: string, before: string | null, after: string | null): HTMLElement {
  const lines = (text: string | null) => (text === null ? [] : text.split("\n"));
  const side = (line: string | null, isChange: boolean, [sign, word]: [string, string]) => {
    const mark = isChange && line !== null && h("span", { class: "sign" }, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "heard" }, word));
    return h("td", { class: line === null ? "nothing" : isChange ? (sign === "+" ? "come" : "gone") : undefined }, mark, line ?? "");
  };
  const rows = pairs(lines(before), lines(after)).map((it) => {
    const isChange = it.before !== it.after;
    return h("tr", {}, side(it.before, isChange, ["−", "Removed: "]), side(it.after, isChange, ["+", "Added: "]));
  });
  const head = h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Before"), h("th", { scope: "col" }, "After")));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", { class: "diff", "aria-label": label }, head, h("tbody", {}, ...rows)));
}
