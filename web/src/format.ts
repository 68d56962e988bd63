// Numbers for people.

const MISSING = "–";

/** 12,345 or 1.2 M. */
export function count(value: number | null | undefined): string {
  if (value == null || !isFinite(value)) return MISSING;
  if (Math.abs(value) >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (Math.abs(value) >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return value.toFixed(value < 1 ? 2 : 1);
}

/** So many in each second. */
export function perSecond(value: number | null | undefined): string {
  return value == null ? MISSING : `${count(value)}/s`;
}

/** Microseconds as 830 µs, 12.4 ms, 3.2 s, 4 min. */
export function time(us: number | null | undefined): string {
  if (us == null || !isFinite(us)) return MISSING;
  if (us === 0) return "0";
  if (us < 1000) return `${us < 10 && us > 0 ? us.toFixed(1) : Math.round(us)} µs`;
  if (us < 1e6) return `${(us / 1e3).toFixed(us < 1e4 ? 2 : 1)} ms`;
  if (us < 120e6) return `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)} s`;
  if (us < 7200e6) return `${Math.round(us / 60e6)} min`;
  if (us < 172800e6) return `${Math.round(us / 3600e6)} h`;
  return `${Math.round(us / 86400e6)} d`;
}

/** Seconds as 3 s, 4 min: as exact as they are. */
export function seconds(value: number | null | undefined): string {
  return value != null && Number.isInteger(value) && value < 120 ? `${value} s` : time(value == null ? value : value * 1e6);
}

/** Bytes as 12 kB. */
export function bytes(value: number | null | undefined): string {
  if (value == null) return MISSING;
  for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]] as const) {
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
  }
  return `${value} B`;
}

/** Whole numbers that are names. */
const NAMES = new Set(["number", "id", "session", "thread_id", "place", "worker", "pid"]);

/** A value of a table, by its column's unit. */
export function cell(value: Cell, unit: string | null, name = ""): string {
  if (value === null) return "";
  if (typeof value === "string") return value;
  if (NAMES.has(name)) return String(value);
  switch (unit) {
    case "us":
      return time(value);
    case "s":
      return seconds(value);
    case "bytes":
      return bytes(value);
    default:
      return value.toLocaleString("en");
  }
}

/** What a table has in a place. */
export type Cell = string | number | null;
