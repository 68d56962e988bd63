// What was changed on this page, so that it can be taken back.

import { check, query, type Row, type Rows } from "./api";
import { confirm, tell } from "./dialogs";
import { h, type Child } from "./dom";

const UPDATE = "UPDATE settings SET value = ? WHERE name = ?";

/** A change of a setting. */
interface Change {
  name: string;
  /** `null`: the setting was at its default. */
  before: string | null;
  after: string;
}

/** The value with which a setting is as it is now. */
export function asItIs(row: Row): string | null {
  return row.is_default === 1 ? null : String(row.value);
}

/** Whether the page does not know the value, so that it cannot write it again. */
export function isSecret(row: Row): boolean {
  return /…|\*\*\*/.test(String(row.value));
}

/** What the proxy says that a change of a setting would come to. */
export function foresee(name: string, value: string | null): Promise<Rows> {
  return check(UPDATE, value, name);
}

/** Changes a setting; `null` takes it back to its default. */
export function change(name: string, value: string | null): Promise<Rows> {
  return query(UPDATE, value, name);
}

export class Undo {
  readonly element = h("section", { class: "card undo", role: "status", hidden: true });
  private readonly changes: Change[] = [];

  /** `done`: a change has been taken back. `words`: a check's result in words. */
  constructor(
    private readonly done: () => Promise<void>,
    private readonly words: (told: Rows) => Child,
  ) {}

  note(name: string, before: string | null, after: string) {
    if (before === after) return;
    this.changes.push({ name, before, after });
    this.draw();
  }

  private draw() {
    const last = this.changes.at(-1);
    this.element.hidden = !last;
    if (!last) return this.element.replaceChildren();
    const button = h("button", { type: "button", class: "small", onclick: () => void this.undo() }, "Undo");
    this.element.replaceChildren(h("span", {}, "You have changed ", h("code", {}, last.name), ` from ${last.before ?? "its default"} to ${last.after || "nothing"}. `), button);
  }

  private async undo() {
    const { name, before } = this.changes.at(-1)!;
    try {
      const told = await foresee(name, before);
      if (!(await confirm(h("div", {}, h("p", {}, `Take the change of ${name} back?`), this.words(told)), "Undo"))) return;
      await change(name, before);
      this.changes.pop();
      this.draw();
    } catch (error) {
      await tell((error as Error).message);
    }
    await this.done();
  }
}
