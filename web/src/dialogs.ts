// Questions that stand in front of everything.

import { h, type Child } from "./dom";

/** Asks; whether the answer is yes. */
export function confirm(text: Child, yes: string): Promise<boolean> {
  return new Promise((resolve) => {
    const go = h("button", { type: "submit", value: "yes", class: "primary" }, yes);
    const no = h("button", { type: "submit", value: "no", autofocus: true }, "Cancel");
    const buttons = h("div", { class: "buttons" }, no, go);
    const dialog = h("dialog", {}, h("form", { method: "dialog" }, h("div", {}, text), buttons));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Says something, and waits until it has been read. */
export function tell(text: Child): Promise<void> {
  return new Promise((resolve) => {
    const ok = h("button", { type: "submit", autofocus: true }, "Close");
    const dialog = h("dialog", {}, h("form", { method: "dialog" }, h("div", {}, text), h("div", { class: "buttons" }, ok)));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
