// Rows of all tables of a view are walked through as if they were one's: by arrows, by pages, to either end.

/** How many rows a page is. */
const PAGE = 10;

function all(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("main tr.open")].filter((it) => !it.closest("[hidden]"));
}

/** The row that has the focus, or one of whose buttons has it. */
export function focusedRow(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("main tr.open") ?? null;
}

/** The first row of what is shown. */
export function firstRow(): HTMLElement | null {
  return all()[0] ?? null;
}

/** Where a key leads from the row that has the focus; null: the key leads nowhere. */
function target(key: string, at: number, count: number): number | null {
  switch (key) {
    case "ArrowDown":
      return at + 1;
    case "ArrowUp":
      return at - 1;
    case "PageDown":
      return Math.min(at + PAGE, count - 1);
    case "PageUp":
      return Math.max(at - PAGE, 0);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}

/** Goes where a key leads; whether it leads anywhere. Above the first row is the filter. */
export function walk(key: string, filter: HTMLInputElement | undefined): boolean {
  const row = focusedRow();
  if (!row) {
    const first = key === "ArrowDown" ? firstRow() : null;
    first?.focus();
    return !!first;
  }
  const rows = all();
  const to = target(key, rows.indexOf(row), rows.length);
  if (to === null) return false;
  (to < 0 ? filter : rows[to])?.focus();
  return true;
}
