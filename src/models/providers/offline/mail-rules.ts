// `offline/mail-rules`: does the obvious in a mailbox. It reads the addresses, dates and quoted words of the task,
// searches once, and changes every email found. Agents with a language model should score higher.
import { z } from "zod";
import { type JsonValue, parseJsonOrNull } from "../../../platform/json.js";
import { presentProperties } from "../../../platform/optional-values.js";
import { parseDatesAndTimes } from "../../../text/dates-and-numbers.js";
import type { ModelRequest } from "../../model.js";
import { pickPassage } from "./answer-passage.js";

/** A tool call of an offline model. */
export type OfflineCall = { readonly name: string; readonly arguments: JsonValue };

type NextStep = { readonly calls: readonly OfflineCall[] } | { readonly answer: string };

const SEARCH_LIMIT = 50;

/** Returns the next tool calls for the task, or the answer that ends it. */
export function nextAction(request: ModelRequest): NextStep {
  const start = request.messages.findLastIndex(({ role }) => role === "user");
  const task = request.messages[start]?.content ?? "";
  const results = new Map<string, JsonValue>();
  for (const message of request.messages.slice(start + 1)) {
    if (message.role === "tool") results.set(message.name, message.isError ? null : parseJsonOrNull(message.content));
  }
  if (/\b(discard|send)\b[^.:]*\bdraft to\b/i.test(task)) return manageDraft(task, results);
  const hits = results.has("email_search") ? hitsOf(results.get("email_search")) : null;
  const isWriting = /\b(draft|reply to|answer everyone|forward)\b/i.test(task);
  if (hits === null) return call("email_search", isWriting ? writingQuery(task, request) : markingQuery(task, request));
  return isWriting ? write(task, hits, results) : mark(task, hits, results);
}

const draftsSchema = z.object({ drafts: z.array(z.object({ draft_id: z.string(), to: z.array(z.string()) })) });

function manageDraft(task: string, results: ReadonlyMap<string, JsonValue>): NextStep {
  const tool = /^discard/i.test(task) ? "discard_draft" : "send_draft";
  if (results.has(tool)) return { answer: "Done." };
  if (!results.has("list_drafts")) return call("list_drafts", {});
  const { drafts = [] } = draftsSchema.safeParse(results.get("list_drafts")).data ?? {};
  const [recipient = ""] = addressesIn(task);
  const draft = drafts.find(({ to }) => to.includes(recipient));
  return draft === undefined ? { answer: "There is no such draft." } : call(tool, { draft_id: draft.draft_id });
}

function mark(task: string, hits: readonly Hit[], results: ReadonlyMap<string, JsonValue>): NextStep {
  const message_ids = hits.map(({ message_id }) => message_id);
  const name = /(?:with|folder|label) "([^"]+)"/i.exec(task)?.[1] ?? "Done";
  const [tool, changes]: [string, Record<string, JsonValue>] = /\blabel\b/i.test(task)
    ? ["label_emails", { add: [name] }]
    : /\bmove\b/i.test(task)
      ? ["move_emails", { folder: name }]
      : ["mark_emails", /\bflag\b/i.test(task) ? { flagged: true } : { unread: true }];
  if (hits.length === 0) return { answer: "There is nothing to do." };
  return results.has(tool) ? { answer: "Done." } : call(tool, { message_ids, ...changes });
}

function write(task: string, [best]: readonly Hit[], results: ReadonlyMap<string, JsonValue>): NextStep {
  if (best === undefined) return { answer: "The email was not found." };
  const draft = z.object({ draft_id: z.string() }).safeParse(results.get("create_draft"));
  if (results.has("create_draft")) {
    const isDone = !draft.success || results.has("send_draft") || /do not send/i.test(task);
    return isDone ? { answer: "Done." } : call("send_draft", { draft_id: draft.data.draft_id });
  }
  const mail = { messageId: best.message_id, subject: best.subject, text: best.snippet };
  const body =
    /write: "([^"]+)"/i.exec(task)?.[1] ?? pickPassage(task, [mail], [best.snippet])?.passage ?? best.snippet;
  const addresses = addressesIn(task);
  if (/^forward/i.test(task)) return call("create_draft", { forward: best.message_id, to: addresses, body });
  if (/^write a draft/i.test(task)) return call("create_draft", { to: addresses.slice(0, 1), body });
  return call("create_draft", { reply_to: best.message_id, reply_all: /everyone/i.test(task), body });
}

/** A task with a question is searched with the question, any other with its quoted subject. */
function writingQuery(task: string, request: ModelRequest): JsonValue {
  const question = /: ([^"]+\?)/.exec(task)?.[1];
  return { query: question ?? /"([^"]+)"/.exec(task)?.[1] ?? task, ...inboxOf(request), limit: 5 };
}

function markingQuery(task: string, request: ModelRequest): JsonValue {
  const [address] = addressesIn(task);
  const domain = /address at (\S+)/.exec(task)?.[1];
  const who = address ?? domain;
  const subject = /(?:conversation|word) "([^"]+)"/.exec(task)?.[1];
  const isRecipient = address !== undefined && task.includes(`to ${address}`);
  return {
    query: subject ?? who?.replace(/[@._-]+/g, " ") ?? task,
    ...inboxOf(request),
    ...presentProperties(isRecipient ? { to: who } : { from: who }),
    ...periodIn(task),
    limit: SEARCH_LIMIT,
  };
}

/** Returns the first day or month that the task names, as search filters. */
function periodIn(task: string): { sent_after?: string; sent_before?: string } {
  const [found] = parseDatesAndTimes(task).days;
  if (found?.year == null) return {};
  const { year, month, day } = found;
  const dateOf = (monthIndex: number, date: number) =>
    new Date(Date.UTC(year, monthIndex, date)).toISOString().slice(0, 10);
  return day === null
    ? { sent_after: dateOf(month - 1, 1), sent_before: dateOf(month, 1) }
    : { sent_after: dateOf(month - 1, day), sent_before: dateOf(month - 1, day + 1) };
}

function addressesIn(task: string): string[] {
  return [...task.matchAll(/[^\s@"(),:;]+@[^\s@"(),:;]+[^\s@"(),:;.]/g)].map(([address]) => address);
}

function inboxOf({ system }: ModelRequest): { inbox_id?: string } {
  return presentProperties({ inbox_id: addressesIn(system)[0] });
}

const hitSchema = z.object({
  message_id: z.string(),
  subject: z.string().default(""),
  snippet: z.string().default(""),
});

type Hit = z.output<typeof hitSchema>;

function hitsOf(result: JsonValue | undefined): readonly Hit[] {
  return z.object({ emails: z.array(hitSchema) }).safeParse(result).data?.emails ?? [];
}

function call(name: string, args: JsonValue): NextStep {
  return { calls: [{ name, arguments: args }] };
}
