import { VERDICTS, type Verdict, type Vote } from "../../domain/scores/judgement.js";

export interface MajorityVerdict {
  readonly verdict: Verdict | null;
  readonly reason: string;
  readonly agreement: number | null;
}

/**
 * The verdict with the most votes; on a tie the stricter one, so that doubt never improves a score. Unreadable votes do
 * not count, but if at least half are unreadable there is no verdict.
 */
export function majority(cast: readonly Vote[]): MajorityVerdict {
  const readable = cast.flatMap(({ verdict, reason }) => (verdict === null ? [] : [{ verdict, reason }]));
  if (readable.length * 2 <= cast.length) {
    const unreadable = cast.find(({ verdict }) => verdict === null);
    return { verdict: null, reason: unreadable?.reason ?? "nobody voted", agreement: null };
  }
  const votesFor = (verdict: Verdict) => readable.filter((vote) => vote.verdict === verdict);
  // VERDICTS has the strictest first, and sort is stable.
  const [verdict = "wrong"] = [...VERDICTS].sort((a, b) => votesFor(b).length - votesFor(a).length);
  const winners = votesFor(verdict);
  return { verdict, reason: winners[0]?.reason ?? "", agreement: winners.length / readable.length };
}
