// What is asked of the proxy.

import type { Cell } from "./format";

export interface Column {
  name: string;
  type: "integer" | "string";
  unit: string | null;
  about: string;
}

export interface Rows {
  columns: Column[];
  rows: Cell[][];
  warnings: string[];
  /** What the table is, where one was asked for. */
  about?: string;
}

export type Row = Record<string, Cell>;

/** What the proxy says to a request that it refuses. */
export class Refused extends Error {}

// The page may have been opened as http://user:password@host/, and fetch refuses addresses with credentials. The
// origin has none.
const folder = new URL(".", location.origin + location.pathname);

async function ask(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(new URL(path, folder), { ...init, signal: AbortSignal.timeout(20_000) });
  if (response.ok) return response;
  const text = await response.text();
  let message = `${response.status} ${response.statusText}`;
  try {
    message = JSON.parse(text).error.message;
  } catch {
    // It was no answer of the API's.
  }
  throw new Refused(message);
}

export async function metricsText(): Promise<string> {
  return (await ask("metrics")).text();
}

export async function table(question: string): Promise<Rows> {
  return (await ask(`api/tables/${question}`)).json();
}

/** A table that there is, with its columns. */
export interface TableFacts {
  name: string;
  about: string;
  columns: Column[];
}

/** All tables. */
export async function tables(): Promise<TableFacts[]> {
  return (await (await ask("api/tables")).json()).tables;
}

/** A statement of SQL; values are values, whatever they look like. */
export async function query(sql: string, ...values: Cell[]): Promise<Rows> {
  const response = await ask("api/query", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql, values }),
  });
  const told = await response.json();
  return { columns: told.columns ?? [], rows: told.rows ?? [], warnings: told.warnings ?? [] };
}

/** What a change would come to; nothing changes. Each row: setting, holds, becomes, takes_effect. */
export async function check(sql: string, ...values: Cell[]): Promise<Rows> {
  const response = await ask("api/query", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql, values, check: true }),
  });
  return response.json();
}

export async function end(id: number, what: "session" | "statement"): Promise<void> {
  const path = what === "session" ? `api/sessions/${id}` : `api/sessions/${id}/statement`;
  await ask(path, { method: "DELETE" });
}

/** Rows as objects, by the columns' names. */
export function objects(rows: Rows): Row[] {
  const names = rows.columns.map((it) => it.name);
  return rows.rows.map((row) => Object.fromEntries(row.map((value, at) => [names[at], value])));
}
