import { seededRandom } from "../../statistics/seeded-random.js";

/**
 * Shuffles labels among questions with as many traces, so that the repeats of a question keep theirs together: they
 * are not independent, and shuffled singly they would make chance look rarer than it is.
 */
export function labelShuffler(
  { bad, questions }: { readonly bad: readonly boolean[]; readonly questions: readonly string[] },
  seed: number,
): () => boolean[] {
  const random = seededRandom(seed);
  const traces = new Map<string, number[]>();
  for (const [i, question] of questions.entries()) traces.set(question, [...(traces.get(question) ?? []), i]);
  const bySize = new Map<number, number[][]>();
  for (const indexes of traces.values()) bySize.set(indexes.length, [...(bySize.get(indexes.length) ?? []), indexes]);
  return () => {
    const shuffled = [...bad];
    for (const groups of bySize.values()) {
      const order = groups.map((_, i) => i);
      for (let i = order.length - 1; i > 0; i--) {
        const j = random(i + 1);
        [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
      }
      for (const [i, group] of groups.entries()) {
        const from = groups[order[i] ?? 0] ?? group;
        for (const [k, trace] of group.entries()) shuffled[trace] = bad[from[k] ?? trace] === true;
      }
    }
    return shuffled;
  };
}
