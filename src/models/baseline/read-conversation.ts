import { z } from "zod";
import type { JsonValue } from "../../domain/json.js";
import type { ToolCall } from "../../domain/models/conversation.js";
import type { ModelRequest } from "../../domain/models/model.js";
import { parseJsonOrNull } from "../../platform/parse-json.js";
import type { SeenMail } from "./passages.js";

/** A search result; ART's tool gives the id and the snippet alone. */
const hitSchema = z.object({
  message_id: z.string(),
  subject: z.string().nullish(),
  snippet: z.string().nullish(),
});

const hitsSchema = z.union([
  z.array(hitSchema),
  z.object({ emails: z.array(hitSchema) }).transform((found) => found.emails),
]);

const mailSchema = z.object({ message_id: z.string(), subject: z.string().nullish(), body: z.string().nullish() });

/** What has happened since the question, as far as the baseline needs it. */
export interface History {
  readonly question: string;
  readonly searches: number;
  /** Of the last search that found something, best first, each mail once. */
  readonly hits: readonly SeenMail[];
  /** Whether the mails found were asked for, though some may have failed. */
  readonly hasRead: boolean;
  readonly read: readonly SeenMail[];
}

/** Reads the conversation by the names of the search and read tools. Results that are not JSON count as nothing. */
export function readHistory(request: ModelRequest, searchTool: string | null, readTool: string | null): History {
  const asked = request.messages.findLastIndex((message) => message.role === "user");
  const question = request.messages[asked]?.content ?? "";
  const since = request.messages.slice(asked + 1);
  const calls = since.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const results = new Map(
    since.flatMap((message) =>
      message.role === "tool" && !message.isError
        ? [[message.toolCallId, parseJsonOrNull(message.content)] as const]
        : [],
    ),
  );
  const searches = calls.filter((call) => call.name === searchTool);
  const reads = calls.filter((call) => call.name === readTool);
  return {
    question,
    searches: searches.length,
    hits: searches.map((call) => toHits(results.get(call.id))).findLast((hits) => hits.length > 0) ?? [],
    hasRead: reads.length > 0,
    read: reads.flatMap((call) => toMail(call, results.get(call.id))),
  };
}

function toHits(result: JsonValue | undefined): SeenMail[] {
  const hits = hitsSchema.safeParse(result);
  if (!hits.success) return [];
  const byId = new Map<string, SeenMail>();
  for (const { message_id, subject, snippet } of hits.data) {
    if (byId.has(message_id)) continue;
    byId.set(message_id, { messageId: message_id, subject: subject ?? "", text: snippet ?? "" });
  }
  return [...byId.values()];
}

function toMail(call: ToolCall, result: JsonValue | undefined): SeenMail[] {
  const mail = mailSchema.safeParse(result);
  if (!mail.success || mail.data.message_id === "") return [];
  const asked = z.object({ message_id: z.string() }).safeParse(call.arguments);
  const { subject, body } = mail.data;
  return [{ messageId: asked.data?.message_id ?? mail.data.message_id, subject: subject ?? "", text: body ?? "" }];
}
