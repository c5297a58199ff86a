import { stemsOf } from "../../models/baseline/keywords.js";

/** Of the stems of two questions, the share in common from which they ask the same. */
const SAME_QUESTION = 0.8;

/** Remembers the questions of a mailbox. `add` is false, and adds nothing, where one like it is there already. */
export class NearDuplicates {
  private readonly byInbox = new Map<string, Set<string>[]>();

  add({ inbox, question }: { readonly inbox: string; readonly question: string }): boolean {
    const stems = stemsOf(question);
    const others = this.byInbox.get(inbox) ?? [];
    if (others.some((other) => jaccard(stems, other) >= SAME_QUESTION)) return false;
    this.byInbox.set(inbox, [...others, stems]);
    return true;
  }
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const stem of a) if (b.has(stem)) common++;
  const all = a.size + b.size - common;
  return all === 0 ? 1 : common / all;
}
