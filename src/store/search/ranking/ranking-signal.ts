import type { DateRange } from "../date-range.js";

/** A search as the signals see it. */
export interface SignalQuery {
  /** As typed. */
  readonly words: string;
  /** Whose mailbox is searched; null: everybody's. */
  readonly owner: string | null;
  /** When it is asked (ISO 8601 UTC): the end of the question's day; null: not known. */
  readonly askedAt: string | null;
}

/** What the signals read of a mail. */
export interface SignalMail {
  readonly sender: string;
  /** To, cc and bcc. */
  readonly recipients: readonly string[];
  /** ISO 8601 UTC. */
  readonly date: string | null;
}

/** How much of a signal a mail shows, 0 to 1. */
export type SignalStrength = (mail: SignalMail) => number;

/** Something other than its words that makes a mail more likely to be the one meant. */
export interface RankingSignal {
  readonly name: string;
  /** What a mail has that shows it. */
  readonly meaning: string;
  /** The share by which the full signal raises the score of the words. */
  readonly weight: number;
  /** Null: the query does not ask for it. */
  readonly detect: (query: SignalQuery) => SignalStrength | null;
  /** Whether a mail that shows the signal counts as holding a word once, though its text may not. */
  readonly implies?: (word: string, mail: Pick<SignalMail, "date">) => boolean;
  /** Periods in which all mail shows the signal: of its words, mail is chosen for ranking by those implied too. */
  readonly periods?: (query: SignalQuery) => readonly DateRange[];
}
