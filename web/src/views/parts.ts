// A view that is made of the proxy's tables.

import { h } from "../dom";
import { Part, type Shown } from "../part";
import type { View } from "../view";

export class Parts implements View {
  readonly interval: number = 5;
  readonly element: HTMLElement;
  readonly filter = h("input", { type: "search", placeholder: "Filter rows ( / )", "aria-label": "Filter" });
  /** What is to be known of all of them. */
  protected readonly note = h("p", { class: "note", role: "status" });
  private readonly parts: Part[];

  constructor(...shown: Shown[]) {
    this.parts = shown.map((it) => new Part(it));
    this.filter.addEventListener("input", () => this.show());
    this.element = h("div", {}, h("div", { class: "bar" }, this.filter, this.note), ...this.parts.map((it) => it.element));
  }

  async refresh() {
    await Promise.all(this.parts.map((it) => it.refresh()));
    this.show();
  }

  private show() {
    const words = this.filter.value.trim().toLowerCase();
    this.parts.forEach((it) => it.show(words));
  }
}
