// Models that compute their replies without a server: the baseline, the oracle, and one that does nothing.
import { z } from "zod";
import { UserError } from "../../platform/errors.js";
import { type JsonValue, parseJsonOrNull } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import type { Completion, Model, ModelRequest, ToolCall } from "../model.js";
import { NO_USAGE } from "../usage.js";
import { pickPassage, rareWords, type SeenMail } from "./offline/answer-passage.js";
import { nextAction, type OfflineCall } from "./offline/mail-rules.js";

/** The conversation since the question, reduced to the parts that the baseline needs. */
interface History {
  readonly question: string;
  readonly searches: number;
  /** Distinct emails from the last search with results, best first. */
  readonly hits: readonly SeenMail[];
  /** Whether the agent tried to open the emails, even if some of these calls failed. */
  readonly hasRead: boolean;
  readonly read: readonly SeenMail[];
}

const TOOL = "apply_oracle";

const appliedSchema = z.object({ answer: z.string().optional(), sources: z.array(z.string()).optional() });

/** `offline/oracle`: calls the tool that puts the oracle's files in place, and returns the oracle's answer, if any. */
function oracleReply(request: ModelRequest): Completion {
  const result = request.messages.findLast((message) => message.role === "tool" && message.name === TOOL);
  if (result?.role !== "tool") {
    if (request.tools.some(({ name }) => name === TOOL)) {
      return offlineCompletion(request, "", [{ name: TOOL, arguments: {} }]);
    }
    return offlineAnswer(request, "Nothing was done: the task does not have an oracle.");
  }
  if (result.isError) return offlineAnswer(request, `Nothing was done: ${result.content}`);
  const { answer = "The solution was applied.", sources } = appliedSchema
    .catch({})
    .parse(parseJsonOrNull(result.content));
  return offlineAnswer(request, answer, sources);
}

const RESULTS = 10;
const MAILS_READ = 3;
const MAX_SEARCHES = 4;
const MAX_KEYWORDS = 4;
/** Maximum number of characters. The tool rejects longer queries. */
const MAX_QUERY = 10_000;
const DONT_KNOW = "I don't know";

/**
 * `offline/baseline`: searches with the question's words, opens the top emails, and answers with the sentence that best
 * covers the question. Models should score higher than this baseline.
 */
function baselineReply(request: ModelRequest): Completion {
  const names = request.tools.map((tool) => tool.name);
  const searchTool = ["email_search", "search_emails"].find((name) => names.includes(name)) ?? null;
  const readTool = ["email_get", "read_email"].find((name) => names.includes(name)) ?? null;
  const history = readHistory(request, searchTool, readTool);

  if (history.hits.length === 0) {
    const search = searchTool === null ? null : nextSearch(searchTool, request, history);
    return search === null ? offlineAnswer(request, DONT_KNOW) : offlineCompletion(request, "", [search]);
  }
  if (readTool !== null && !history.hasRead) {
    const topHits = history.hits.slice(0, MAILS_READ);
    return offlineCompletion(
      request,
      "",
      topHits.map(({ messageId }) => ({ name: readTool, arguments: { message_id: messageId } })),
    );
  }
  const mails = history.read.length > 0 ? history.read : history.hits;
  const picked = pickPassage(
    history.question,
    mails,
    history.hits.map((hit) => hit.text),
  );
  return picked === null
    ? offlineAnswer(request, DONT_KNOW)
    : offlineAnswer(request, picked.passage || picked.mail.subject, [picked.mail.messageId]);
}

/** Returns null if there is nothing left to try. */
function nextSearch(tool: string, request: ModelRequest, history: History): OfflineCall | null {
  if (tool === "email_search") {
    if (history.searches > 0) return null;
    const inbox = requires(request, tool, "inbox_id")
      ? /(?<![\w.+-])[\w.+-]+@[\w-]+(\.[\w-]+)+/.exec(request.system)?.[0]
      : undefined;
    const query = history.question.slice(0, MAX_QUERY);
    return { name: tool, arguments: { query, ...presentProperties({ inbox_id: inbox }), limit: RESULTS } };
  }
  // This tool only finds emails with all keywords, so each further attempt drops the most common one.
  const keywords = rareWords(history.question, MAX_KEYWORDS);
  const keywordCount = keywords.length - history.searches;
  if (history.searches >= MAX_SEARCHES || keywordCount < 1) return null;
  return { name: tool, arguments: { keywords: keywords.slice(0, keywordCount), max_results: RESULTS } };
}

function requires(request: ModelRequest, tool: string, parameter: string): boolean {
  const required = request.tools.find(({ name }) => name === tool)?.parameters.required;
  return Array.isArray(required) && required.includes(parameter);
}

/** Search result. ART's tool returns only the ID and the snippet. */
const hitSchema = z.object({
  message_id: z.string(),
  subject: z.string().nullish(),
  snippet: z.string().nullish(),
});

const hitsSchema = z.union([
  z.array(hitSchema),
  z.object({ emails: z.array(hitSchema) }).transform((result) => result.emails),
]);

const mailSchema = z.object({ message_id: z.string(), subject: z.string().nullish(), body: z.string().nullish() });

/** Reads the conversation's search and read calls. Results that are not JSON are ignored. */
function readHistory(request: ModelRequest, searchTool: string | null, readTool: string | null): History {
  const questionIndex = request.messages.findLastIndex((message) => message.role === "user");
  const question = request.messages[questionIndex]?.content ?? "";
  const since = request.messages.slice(questionIndex + 1);
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
  const request = z.object({ message_id: z.string() }).safeParse(call.arguments);
  const { subject, body } = mail.data;
  return [{ messageId: request.data?.message_id ?? mail.data.message_id, subject: subject ?? "", text: body ?? "" }];
}

/**
 * Built-in models that need no language model. They send nothing, and always give the same reply to the same request.
 * They use the agent's own tools, so they exercise an entire run.
 */
const REPLIES: Readonly<Record<string, (request: ModelRequest) => Completion>> = {
  baseline: baselineReply,
  noop: (request) => offlineAnswer(request, "Nothing was done."),
  oracle: oracleReply,
  "mail-rules": (request) => {
    const step = nextAction(request);
    return "calls" in step ? offlineCompletion(request, "", step.calls) : offlineAnswer(request, step.answer);
  },
};

export function offlineModel(name: string): Model {
  const reply = Object.hasOwn(REPLIES, name) ? REPLIES[name] : undefined;
  if (reply === undefined) {
    const available = Object.keys(REPLIES).map((one) => `offline/${one}`);
    throw new UserError("model_unknown", `Unknown offline model "${name}".`, `Available: ${available.join(", ")}.`);
  }
  return {
    id: `offline/${name}`,
    async complete(request, signal) {
      signal.throwIfAborted();
      return reply(request);
    },
  };
}

/** Returns the reply of an offline model: tool calls if there are any, otherwise text. */
function offlineCompletion(request: ModelRequest, content: string, steps: readonly OfflineCall[]): Completion {
  const turn = request.messages.filter((message) => message.role === "assistant").length + 1;
  const finishReason = steps.length > 0 ? "tool_calls" : "stop";
  return {
    content,
    toolCalls: steps.map((step, i) => ({ id: `offline_${turn}_${i + 1}`, ...step })),
    finishReason,
    rawFinishReason: finishReason,
    usage: NO_USAGE,
    latencyMs: 0,
    retries: [],
  };
}

/** Returns an answer via `return_final_answer` if the agent has that tool, otherwise as text. */
function offlineAnswer(request: ModelRequest, answer: string, sources: readonly string[] = []): Completion {
  const hasTool = request.tools.some(({ name }) => name === "return_final_answer");
  if (!hasTool) return offlineCompletion(request, answer, []);
  return offlineCompletion(request, "", [{ name: "return_final_answer", arguments: { answer, sources } }]);
}
