// A sentence of the start page, with how much it matters, and the list of such sentences.

import { h, type Child } from "../dom";

export type Weight = "bad" | "warn" | "good" | "plain";

export interface Finding {
  weight: Weight;
  words: Child[];
}

/** How a sentence is marked: by a sign, and in words for those who do not see it. */
const MARKS: Record<Weight, [sign: string, word: string]> = {
  bad: ["✕", "Wrong"],
  warn: ["!", "Look at this"],
  good: ["✓", "Well"],
  plain: ["·", ""],
};

export function finding(weight: Weight, ...words: Child[]): Finding {
  return { weight, words };
}

/** A link to a view, or to a row of it. */
export function link(words: string, view: string): HTMLElement {
  return h("a", { href: `#${view}` }, words);
}

/** A statement's text, cut to what fits into a sentence. */
export function statement(text: unknown, view: string): HTMLElement {
  const words = String(text ?? "");
  return h("a", { href: `#${view}`, title: words.slice(0, 500) }, h("code", {}, words.length > 90 ? `${words.slice(0, 89)}…` : words));
}

/** One question with its answer. */
export class Answer {
  readonly element: HTMLElement;
  private readonly list = h("ul", { class: "findings" });
  findings: Finding[] = [];

  constructor(question: string) {
    this.element = h("section", { class: "card answer" }, h("h2", {}, question), this.list);
  }

  /** What is shown already is not touched, so that a link keeps the focus. */
  show(findings: Finding[]) {
    this.findings = findings;
    const items = h("ul", {}, ...findings.map(item));
    if ([...items.childNodes].some((it, at) => !it.isEqualNode(this.list.childNodes[at] ?? null)) || items.childNodes.length !== this.list.childNodes.length) {
      this.list.replaceChildren(...items.childNodes);
    }
  }
}

function item({ weight, words }: Finding): HTMLElement {
  const [sign, word] = MARKS[weight];
  const mark = h("span", { class: "mark", "aria-hidden": "true" }, sign);
  return h("li", { class: weight }, mark, h("span", {}, word && h("span", { class: "heard" }, `${word}: `), ...words));
}
