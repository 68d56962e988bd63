// The user who looks at the page, and the proxy that the page shows.

import { objects, query } from "./api";

export interface Identity {
  user: string;
  role: string;
  /** The name of the machine. */
  host: string;
  version: string;
}

let known: Identity | null = null;

/** Asks the proxy for both. */
export async function identify(): Promise<Identity> {
  const [row] = objects(await query("SELECT user() AS user, current_role() AS role, host, version FROM process"));
  const text = (name: string) => String(row?.[name] ?? "");
  known = { user: text("user").replace(/@[^@]*$/, ""), role: text("role"), host: text("host"), version: text("version") };
  return known;
}

/** Whether the user may change things. If not, the page has no buttons that would. */
export function mayChange(): boolean {
  return known?.role === "admin";
}
