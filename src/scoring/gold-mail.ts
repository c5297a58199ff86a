import { listedMails, openedMail } from "../domain/runs/returned-mails.js";
import type { ToolCallRecord } from "../domain/runs/trace.js";
import type { ScorableQuestion, Scorer } from "../domain/scores/score.js";

/** Scores about gold mail apply to these questions only. */
export function hasGoldMail({ goldMails }: ScorableQuestion): boolean {
  return goldMails > 0;
}

/**
 * Whether the Message-IDs include a gold mail. Each gold mail of a question contains the whole answer, so one is
 * enough; a copy under another Message-ID is the same mail. Unscored if the question has no gold mail.
 */
function namesGoldMail(messageIdsOf: (trace: Parameters<Scorer>[0]) => readonly string[]): Scorer {
  return (trace, sameMail) => {
    if (trace.task.message_ids.length === 0) return { value: null, explanation: "the question has no gold mail" };
    const goldIds = new Set(trace.task.message_ids);
    const ids = messageIdsOf(trace);
    // Mostly the id itself matches, which saves looking up the copies.
    if (ids.some((id) => goldIds.has(id))) return { value: 1 };
    const gold = new Set(trace.task.message_ids.map(sameMail));
    return { value: ids.some((id) => gold.has(sameMail(id))) ? 1 : 0 };
  };
}

/** 1 if the answer's sources include a gold mail. */
export const sourcesCorrect = namesGoldMail((trace) => trace.sources);

/** 1 if any search listed a gold mail. */
export const foundGold = namesGoldMail((trace) => trace.toolCalls.flatMap(listedIds));

/** 1 if the agent opened a gold mail. */
export const readGold = namesGoldMail((trace) => trace.toolCalls.flatMap(openedIds));

export function listedIds(call: ToolCallRecord): string[] {
  return listedMails(call).map(({ message_id }) => message_id);
}

function openedIds(call: ToolCallRecord): string[] {
  const mail = openedMail(call);
  return mail === null ? [] : [mail.message_id];
}
