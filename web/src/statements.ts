// The statements that were run in the query editor, kept in the browser.

const PLACE = "pilotfish statements";

const KEPT = 50;

/** Whether a statement only reads. Others may have passwords, so that the browser does not keep them. */
export function isReading(sql: string): boolean {
  return /^[\s(]*(select|show|desc|describe|explain|with|values|help)\b/i.test(sql) && !/^[\s(]*with\b[\s\S]*\b(update|insert|delete|replace)\b/i.test(sql);
}

/** The latest first. */
export function kept(): string[] {
  try {
    const told: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(told) ? told.filter((it): it is string => typeof it === "string") : [];
  } catch {
    // Another program has written it, or the browser keeps nothing.
    return [];
  }
}

export function keep(sql: string) {
  if (!isReading(sql)) return;
  write([sql, ...kept().filter((it) => it !== sql)].slice(0, KEPT));
}

export function forget() {
  write([]);
}

function write(statements: string[]) {
  try {
    localStorage.setItem(PLACE, JSON.stringify(statements));
  } catch {
    // The browser keeps nothing. The page works without.
  }
}
