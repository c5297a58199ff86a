import { shuffled } from "../shuffle.js";
import type { QuestionDraft } from "./question-draft.js";

/**
 * Drafts in an order in which any first part of them is spread over mailboxes, kinds, months and senders: each next
 * one is of those that had the least so far. Of equal ones a shuffle by `seed` decides.
 */
export function* stratifiedOrder(drafts: readonly QuestionDraft[], seed: number): Generator<QuestionDraft> {
  const rest = shuffled(drafts, seed).map((draft) => ({ draft, groups: groupsOf(draft) }));
  const used = new Map<string, number>();
  while (rest.length > 0) {
    let best = 0;
    let fewest = Number.POSITIVE_INFINITY;
    for (const [i, { groups }] of rest.entries()) {
      const uses = groups.reduce((sum, group) => sum + (used.get(group) ?? 0), 0);
      if (uses >= fewest) continue;
      fewest = uses;
      best = i;
    }
    const [next] = rest.splice(best, 1);
    if (next === undefined) return;
    for (const group of next.groups) used.set(group, (used.get(group) ?? 0) + 1);
    yield next.draft;
  }
}

function groupsOf({ inbox, kind, sender, sources }: QuestionDraft): string[] {
  return [`inbox ${inbox}`, `kind ${kind}`, `sender ${sender}`, `month ${sources[0]?.date.slice(0, 7)}`];
}
