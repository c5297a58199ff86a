import { VERDICTS, type Verdict, type Vote } from "../../domain/scores/judgement.js";

export interface Decided {
  readonly verdict: Verdict | null;
  readonly reason: string;
  readonly agreement: number | null;
}

/**
 * The verdict most votes went to; of tied ones the stricter, so that a doubt never makes an answer better. Votes that could not be read do not count, but where
 * at least half of them could not, there is no verdict.
 */
export function majority(cast: readonly Vote[]): Decided {
  const read = cast.flatMap(({ verdict, reason }) => (verdict === null ? [] : [{ verdict, reason }]));
  if (read.length * 2 <= cast.length) {
    const unread = cast.find(({ verdict }) => verdict === null);
    return { verdict: null, reason: unread?.reason ?? "nobody voted", agreement: null };
  }
  const votesFor = (verdict: Verdict) => read.filter((vote) => vote.verdict === verdict);
  // Sorting is stable: the stricter verdicts stand first.
  const [verdict = "wrong"] = [...VERDICTS].sort((a, b) => votesFor(b).length - votesFor(a).length);
  const winners = votesFor(verdict);
  return { verdict, reason: winners[0]?.reason ?? "", agreement: winners.length / read.length };
}
