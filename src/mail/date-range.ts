// The rule for dates: which mail is visible up to a cutoff, as dates or as positions in the index.
import type { Db } from "../store/open-store.js";

/** ISO 8601 UTC dates, or null for an open end. */
export interface DateRange {
  /** Inclusive. */
  readonly after: string | null;
  /** Exclusive. */
  readonly before: string | null;
}

export interface PositionRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Returns the range of the mail that an agent can see with a cutoff (ISO 8601 UTC, exclusive), or of all mail if the
 * cutoff is null.
 */
export function upTo(cutoff: string | null): DateRange {
  return { after: null, before: cutoff };
}

export function intersection(a: DateRange, b: DateRange): DateRange {
  return {
    after: a.after === null || (b.after !== null && b.after > a.after) ? b.after : a.after,
    before: a.before === null || (b.before !== null && b.before < a.before) ? b.before : a.before,
  };
}

/**
 * Whether mail of this date is in a range. Undated mail is only in the unlimited range, because it could be after a
 * cutoff.
 */
export function isInRange(date: string | null, { after, before }: DateRange): boolean {
  if (date === null) return after === null && before === null;
  return (after === null || date >= after) && (before === null || date < before);
}

export const ALL_POSITIONS: PositionRange = { first: 0, last: Number.MAX_SAFE_INTEGER };

const NO_POSITIONS: PositionRange = { first: 1, last: 0 };

export const DATE_RANGE_SQL = {
  newestBefore: "SELECT position FROM mail_order WHERE date < ? ORDER BY date DESC, position LIMIT 1",
  oldestFrom: "SELECT position FROM mail_order WHERE date >= ? ORDER BY date, position DESC LIMIT 1",
} as const;

/** Converts dates to positions, newest first, following the same rule as `isInRange`. */
export function openDateRanges(db: Db): { positions(period: DateRange): PositionRange } {
  const newestBefore = db.prepare(DATE_RANGE_SQL.newestBefore).pluck();
  const oldestFrom = db.prepare(DATE_RANGE_SQL.oldestFrom).pluck();
  return {
    positions({ after, before }) {
      if (after === null && before === null) return ALL_POSITIONS;
      const first = before === null ? ALL_POSITIONS.first : (newestBefore.get(before) as number | undefined);
      // Every date sorts after "".
      const last = oldestFrom.get(after ?? "") as number | undefined;
      return first === undefined || last === undefined ? NO_POSITIONS : { first, last };
    },
  };
}

/** Returns the exclusive end of a day: `2001-05-15T00:00:00Z` for `2001-05-14`. */
export function endOfDay(day: string): string {
  // The year 10000 would sort before all other years.
  if (day.startsWith("9999-12-31")) return "9999-12-31T24:00:00Z";
  const next = new Date(`${day.slice(0, 10)}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return `${next.toISOString().slice(0, 19)}Z`;
}
