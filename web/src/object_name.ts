// What an object of a schema is called.

import { type Row } from "./api";

/** `shop.orders`; of a schema its own name alone. `kind` is what the object is. */
export function objectName(row: Row, kind: unknown): string {
  const parts = kind === "schema" ? [row.db] : [row.db, row.object];
  return parts.filter((it) => it != null && it !== "").join(".");
}
