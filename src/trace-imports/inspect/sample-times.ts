/** A time of a log in UTC, to the millisecond; null where it is none. */
export function isoTime(text: string | null | undefined): string | null {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

/** Seconds in ms; null where they are not known. */
export function msOf(seconds: number | null | undefined): number | null {
  return seconds == null || seconds < 0 || !Number.isFinite(seconds * 1_000) ? null : seconds * 1_000;
}

/** 0 where the end is not known. */
export function msBetween(start: string, end: string | null | undefined): number {
  return Math.max(0, Date.parse(end ?? "") - Date.parse(start)) || 0;
}
