/** As in ART, a question is asked so many days after the newest mail that answers it. */
const DAYS_AFTER = { min: 1, max: 30 } as const;

const DAY_MS = 86_400_000;

/**
 * The day of a question, `YYYY-MM-DD`: 1 to 30 days after its newest source. Mails that repeat the source may come
 * later: those before the day are sources too, and a day on which one came is passed over.
 * @param askableFrom date of the mail that must be there, ISO 8601
 * @param sources dates of all mails that answer
 */
export function queryDate(askableFrom: string, sources: readonly string[], random: (limit: number) => number): string {
  let day = shiftDay(askableFrom, DAYS_AFTER.min + random(DAYS_AFTER.max - DAYS_AFTER.min + 1));
  while (sources.some((date) => date.startsWith(day))) day = shiftDay(day, 1);
  return day;
}

/** A day on which the oldest source was not there yet: 1 to 30 days before it. */
export function queryDateBefore(oldestSource: string, random: (limit: number) => number): string {
  return shiftDay(oldestSource, -(DAYS_AFTER.min + random(DAYS_AFTER.max - DAYS_AFTER.min + 1)));
}

function shiftDay(date: string, days: number): string {
  const day = Date.parse(`${date.slice(0, 10)}T00:00:00Z`);
  return new Date(day + days * DAY_MS).toISOString().slice(0, 10);
}
