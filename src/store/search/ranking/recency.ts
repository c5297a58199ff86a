import type { SignalQuery, SignalStrength } from "./ranking-signal.js";

const DAY_MS = 86_400_000;

/** The preference for new mail halves in two weeks: mail that is months old is not told apart by its age. */
const HALF_LIFE_DAYS = 14;

/** Mail sent shortly before the question is asked: of a thread, the later mail, which holds what is true now. */
export function detectRecency({ askedAt }: SignalQuery): SignalStrength | null {
  if (askedAt === null) return null;
  const asked = Date.parse(askedAt);
  return ({ date }) => {
    if (date === null) return 0;
    const days = Math.max(0, asked - Date.parse(date)) / DAY_MS;
    return 0.5 ** (days / HALF_LIFE_DAYS);
  };
}
