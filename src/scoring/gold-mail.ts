import type { JsonValue } from "../domain/json.js";
import type { ToolCallRecord } from "../domain/runs/trace.js";
import type { ScorableQuestion, Scorer } from "../domain/scores/score.js";

/** What is about gold mail applies to these questions only. */
export function hasGoldMail({ goldMails }: ScorableQuestion): boolean {
  return goldMails > 0;
}

/**
 * Whether the agent cited, found or read a gold mail. A question's gold mails hold the answer each by
 * itself, so one is enough; a copy under another Message-ID is the same mail. Unscored where the question
 * has no gold mail.
 */
function goldAmong(messageIdsOf: (trace: Parameters<Scorer>[0]) => readonly string[]): Scorer {
  return (trace, sameMail) => {
    if (trace.task.message_ids.length === 0) return { value: null, explanation: "the question has no gold mail" };
    const named = new Set(trace.task.message_ids);
    const ids = messageIdsOf(trace);
    // Under its own Message-ID most often: then nobody need be asked which mails are the same.
    if (ids.some((id) => named.has(id))) return { value: 1 };
    const gold = new Set(trace.task.message_ids.map(sameMail));
    return { value: ids.some((id) => gold.has(sameMail(id))) ? 1 : 0 };
  };
}

/** 1 where the answer's sources name a gold mail. */
export const sourcesCorrect = goldAmong((trace) => trace.sources);

/** 1 where any search listed a gold mail. */
export const foundGold = goldAmong((trace) => trace.toolCalls.flatMap(listedIds));

/** 1 where the agent opened a gold mail. */
export const readGold = goldAmong((trace) => trace.toolCalls.flatMap(openedIds));

/** Searches answer with a list of mails, bare or as `emails`, whatever the tool is called. */
export function listedIds({ result }: ToolCallRecord): string[] {
  const list = Array.isArray(result) ? result : isObject(result) ? result.emails : undefined;
  if (!Array.isArray(list)) return [];
  const ids: string[] = [];
  for (const item of list as readonly JsonValue[]) if (hasId(item)) ids.push(item.message_id);
  return ids;
}

/** Reading answers with one mail. */
function openedIds({ result }: ToolCallRecord): string[] {
  return isObject(result) && result.body !== undefined && hasId(result) ? [result.message_id] : [];
}

function hasId(value: JsonValue): value is { readonly message_id: string } {
  return isObject(value) && typeof value.message_id === "string";
}

function isObject(value: JsonValue): value is { readonly [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
