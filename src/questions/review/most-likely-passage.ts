import { stemsOf } from "../../models/baseline/keywords.js";
import { splitPassages } from "../../models/baseline/passages.js";

/** A word of the answer tells more of where it stands than one of the question. */
const ANSWER_WEIGHT = 3;

/** The passage of a mail that most likely gives the answer, by the words of both; null: none holds any. */
export function mostLikelyPassage(
  body: string,
  { question, answer }: { question: string; answer: string },
): string | null {
  const [ofAnswer, ofQuestion] = [stemsOf(answer), stemsOf(question)];
  let best: { passage: string; score: number } | null = null;
  for (const passage of splitPassages(body)) {
    const stems = stemsOf(passage);
    const shared = (words: ReadonlySet<string>) => [...words].filter((word) => stems.has(word)).length;
    const score = ANSWER_WEIGHT * shared(ofAnswer) + shared(ofQuestion);
    if (score > (best?.score ?? 0)) best = { passage, score };
  }
  return best?.passage ?? null;
}
