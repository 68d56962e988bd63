// Questions that stand in front of everything. Enter answers with what has the focus, Esc with no.

import { h, type Child } from "./dom";

/** Asks; whether the answer is yes. */
export function confirm(text: Child, yes: string): Promise<boolean> {
  return new Promise((resolve) => {
    const go = h("button", { type: "submit", value: "yes", class: "primary" }, yes);
    const no = h("button", { type: "button", autofocus: true, onclick: () => dialog.close("no") }, "Cancel");
    const dialog = opened(h("form", { method: "dialog" }, h("div", {}, text), h("div", { class: "buttons" }, no, go)));
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
  });
}

/** Says something, and waits until it has been read, or one of the things has been chosen that can be done about it. */
export function tell(text: Child, actions: Child[] = []): Promise<void> {
  return new Promise((resolve) => {
    const ok = h("button", { type: "submit", autofocus: true }, "Close");
    const done = h("span", {}, ...actions);
    // It goes before what was chosen asks something itself.
    done.addEventListener("click", (event) => event.target !== done && dialog.close(), { capture: true });
    const said = h("div", { class: "said" }, text);
    const dialog = opened(h("form", { method: "dialog" }, said, h("div", { class: "buttons" }, done, ok)));
    dialog.addEventListener("close", () => resolve());
    // What is longer than there is room for is scrolled by keys.
    if (said.scrollHeight > said.clientHeight) {
      said.tabIndex = 0;
      said.focus();
    }
  });
}

/** Milliseconds without a key after which a value is looked at. */
const PAUSE = 200;

/** Asks for a value: `look` says what one would come to, `act` has it; what either refuses is said, and the
 * question stays. */
export function change(
  about: Child[],
  value: string,
  look: (value: string) => Promise<Child>,
  act: (value: string) => Promise<void>,
): Promise<void> {
  return new Promise((resolve) => {
    const input = h("input", { type: "text", value, autofocus: true, autocomplete: "off", "aria-label": "New value" });
    const told = h("div", { class: "told", role: "status" });
    const go = h("button", { type: "submit", class: "primary" }, "Change");
    const no = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
    let [turn, timer] = [0, 0];
    const say = (words: Child, kind = "") => {
      told.replaceChildren(...(words ? [words] : []));
      told.dataset.kind = kind;
    };
    /** Says what comes of something, unless something else has been asked meanwhile. */
    const attempt = async (asked: Promise<Child>) => {
      const mine = ++turn;
      try {
        const words = await asked;
        if (mine === turn) say(words);
        return true;
      } catch (error) {
        if (mine === turn) say((error as Error).message, "bad");
        return false;
      }
    };
    const preview = () => void attempt(look(input.value));
    input.addEventListener("input", () => {
      clearTimeout(timer);
      turn++;
      timer = window.setTimeout(preview, PAUSE);
    });
    const form = h("form", { method: "dialog" }, ...about, input, told, h("div", { class: "buttons" }, no, go));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      clearTimeout(timer);
      void attempt(act(input.value).then(() => null)).then((isDone) => isDone && dialog.close());
    });
    const dialog = opened(form);
    dialog.addEventListener("close", () => resolve());
    input.select();
    preview();
  });
}

function opened(form: HTMLFormElement): HTMLDialogElement {
  const dialog = h("dialog", {}, form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
