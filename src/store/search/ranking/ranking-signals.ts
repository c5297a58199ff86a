import { detectCorrespondents } from "./correspondents.js";
import type { RankingSignal } from "./ranking-signal.js";
import { detectRecency } from "./recency.js";
import { detectSentMonth, isSentMonth, periodsNamed } from "./sent-month.js";

/** All of one weight, which was not fitted: a signal decides between mails whose words fit about as well. */
const WEIGHT = 0.25;

export const RANKING_SIGNALS: readonly RankingSignal[] = [
  {
    name: "sent_month",
    meaning: "sent in a month that is named",
    weight: WEIGHT,
    detect: detectSentMonth,
    implies: isSentMonth,
    periods: periodsNamed,
  },
  { name: "correspondents", meaning: "from or to those who are named", weight: WEIGHT, detect: detectCorrespondents },
  { name: "recency", meaning: "sent shortly before the question", weight: WEIGHT, detect: detectRecency },
];
