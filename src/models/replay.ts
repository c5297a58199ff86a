// Answers from recorded replies, and records them.
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { reasonOf, UserError } from "../platform/errors.js";
import { requireRegularFile } from "../platform/files.js";
import { firstIssue, jsonValueSchema } from "../platform/json.js";
import { presentProperties } from "../platform/optional-values.js";
import { counted } from "../text/format.js";
import { requestKey } from "./cache.js";
import {
  type Completion,
  completionSchema,
  FINISH_REASONS,
  MODEL_ERROR_KINDS,
  type Model,
  ModelError,
  type ModelRequest,
  retrySchema,
} from "./model.js";
import { billedSchema, NO_USAGE, usageSchema } from "./usage.js";

/** Outcome of a call without a reply: an error from the model's server, or the task timeout. */
const recordedFailureSchema = z.union([
  z.strictObject({ timedOut: z.literal(true) }),
  z.strictObject({
    kind: z.enum(MODEL_ERROR_KINDS),
    message: z.string(),
    retries: z.array(retrySchema),
    billed: billedSchema.exactOptional(),
  }),
]);

const recordedKey = { key: z.string(), model: z.string() };

/** Line written by `recording`. `key` was computed for `model`. */
const recordedSchema = z.object({ ...recordedKey, completion: completionSchema });

const failedSchema = z.object({ ...recordedKey, failure: recordedFailureSchema });

type RecordedFailure = z.output<typeof recordedFailureSchema>;

const scriptedReplySchema = z.strictObject({
  content: z.string().default(""),
  toolCalls: z
    .array(z.strictObject({ name: z.string(), arguments: jsonValueSchema, invalid: z.string().optional() }))
    .default([]),
  finishReason: z.enum(FINISH_REASONS).optional(),
  usage: usageSchema.default(NO_USAGE),
});

/**
 * All replies to one question in order. Without `taskQuestion`, the script applies to every question without its own
 * script.
 */
const scriptSchema = z.strictObject({
  taskQuestion: z.string().optional(),
  replies: z.array(scriptedReplySchema),
});

type Recorded = z.output<typeof recordedSchema> | z.output<typeof failedSchema>;

type Script = z.output<typeof scriptSchema>;

type ScriptedReply = z.output<typeof scriptedReplySchema>;

/**
 * Creates the model `replay/FILE`, which answers offline from a file. A recorded reply answers its original request. If
 * the same request was recorded several times, its replies are returned in order. A script replies to its question,
 * choosing the reply by the number of earlier replies in the conversation. A request without a reply throws a
 * ModelError that is not retryable. Throws a UserError for an unusable file.
 */
export async function replayModel(path: string): Promise<Model> {
  const file = await readReplayFile(path);
  const recorded = new Recording(file.recorded);
  return {
    id: `replay/${path}`,
    async complete(request, signal): Promise<Completion> {
      signal.throwIfAborted();
      const completion = recorded.next(request) ?? fromScripts(file.scripts, request);
      if (completion) return completion;
      throw new ModelError("protocol", `${path} does not contain a reply to this request`, { retryable: false });
    },
  };
}

/** Keeps track of which of several recorded replies to the same request comes next. */
class Recording {
  private readonly models: ReadonlySet<string>;
  private readonly repliesByKey = new Map<string, Recorded[]>();

  constructor(entries: readonly Recorded[]) {
    this.models = new Set(entries.map((entry) => entry.model));
    for (const entry of entries) {
      const replies = this.repliesByKey.get(entry.key);
      if (replies) replies.push(entry);
      else this.repliesByKey.set(entry.key, [entry]);
    }
  }

  next(request: ModelRequest): Completion | undefined {
    for (const model of this.models) {
      const replies = this.repliesByKey.get(requestKey(model, request));
      if (!replies) continue;
      const entry = replies.shift();
      if (entry) return outcomeOf(entry);
      throw new ModelError("protocol", "all recorded replies to this request have been used", { retryable: false });
    }
    return undefined;
  }
}

/**
 * Returns the recorded reply or throws the recorded failure. A failure already includes its retries, so it is not
 * retried again.
 */
function outcomeOf(entry: Recorded): Completion {
  if ("completion" in entry) return entry.completion;
  const { failure } = entry;
  if ("timedOut" in failure)
    throw new DOMException("The recorded call took longer than its task's time limit.", "TimeoutError");
  const { kind, message, retries, billed } = failure;
  throw new ModelError(kind, message, { retryable: false, retries, ...presentProperties({ billed }) });
}

function fromScripts(scripts: readonly Script[], request: ModelRequest): Completion | undefined {
  const userTexts = new Set(request.messages.map((message) => (message.role === "user" ? message.content.trim() : "")));
  const own = scripts.find(({ taskQuestion }) => taskQuestion !== undefined && userTexts.has(taskQuestion.trim()));
  const script = own ?? scripts.find(({ taskQuestion }) => taskQuestion === undefined);
  if (!script) return undefined;
  const turn = request.messages.filter((message) => message.role === "assistant").length;
  const reply = script.replies[turn];
  if (reply) return toCompletion(reply, turn);
  const message = `the script has only ${counted(script.replies.length, "reply", "replies")}, but turn ${turn + 1} was requested`;
  throw new ModelError("protocol", message, { retryable: false });
}

function toCompletion(reply: ScriptedReply, turn: number): Completion {
  const toolCalls = reply.toolCalls.map((call, i) => ({ id: `call_${turn + 1}_${i + 1}`, ...call }));
  const finishReason = reply.finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop");
  const { content, usage } = reply;
  return { content, toolCalls, finishReason, rawFinishReason: finishReason, usage, latencyMs: 0, retries: [] };
}

/**
 * Decorates a model: passes each reply with its request to `write` as one line of JSON, including the line end, in the
 * format of `replay/FILE`. Also records calls that failed permanently and calls cut off by the task timeout, but not
 * calls that the user interrupted.
 */
export function recording(model: Model, write: (line: string) => void): Model {
  return {
    id: model.id,
    async complete(request, signal) {
      // Computed before the call, because the conversation might grow during it.
      const key = requestKey(model.id, request);
      const append = (outcome: { completion: Completion } | { failure: RecordedFailure }) =>
        write(`${JSON.stringify({ key, model: model.id, request, ...outcome })}\n`);
      try {
        const completion = await model.complete(request, signal);
        append({ completion });
        return completion;
      } catch (error) {
        const failure = failureOf(error);
        if (failure !== null) append({ failure });
        throw error;
      }
    },
  };
}

function failureOf(error: unknown): RecordedFailure | null {
  if (error instanceof ModelError) {
    const { kind, message, retries, billed } = error;
    return { kind, message, retries: [...retries], ...presentProperties({ billed }) };
  }
  return error instanceof DOMException && error.name === "TimeoutError" ? { timedOut: true } : null;
}

/**
 * Reads a replay file: either JSON lines, or one JSON document with an entry or a list of entries. Throws a UserError.
 */
async function readReplayFile(path: string) {
  const read = async () => {
    requireRegularFile(path);
    return readFile(path, "utf8");
  };
  const text = await read().catch((cause: unknown) => {
    const hint = "Pass replay/FILE with the path of a file of recorded or scripted replies.";
    throw new UserError(
      "replay_file_unreadable",
      `Cannot read the replay file ${path}: ${reasonOf(cause)}.`,
      hint,
      undefined,
      { cause },
    );
  });
  const recorded: Recorded[] = [];
  const scripts: Script[] = [];
  for (const { where, value } of entries(path, text)) {
    if (typeof value === "object" && value !== null && "key" in value) {
      recorded.push("failure" in value ? check(failedSchema, value, where) : check(recordedSchema, value, where));
    } else {
      scripts.push(check(scriptSchema, value, where));
    }
  }
  return { recorded, scripts };
}

function entries(path: string, text: string): { where: string; value: unknown }[] {
  try {
    const document: unknown = JSON.parse(text);
    const list = Array.isArray(document) ? document : [document];
    return list.map((value, i) => ({ where: `${path}, entry ${i + 1}`, value }));
  } catch {
    // Not a single document, so the file contains JSON lines.
  }
  const lines = text.split("\n").map((line, i) => ({ where: `${path}, line ${i + 1}`, line }));
  return lines
    .filter(({ line }) => line.trim() !== "")
    .map(({ where, line }) => ({ where, value: parseLine(line, where) }));
}

function parseLine(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    const hint = "Every line must be one JSON object. The last one might be incomplete.";
    throw new UserError("replay_file_invalid", `${where} is not JSON.`, hint, undefined, { cause });
  }
}

function check<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new UserError(
    "replay_file_invalid",
    `${where} is neither a recorded nor a scripted reply: ${firstIssue(result.error)}.`,
    'Recorded lines contain {key, model, completion} or {key, model, failure}. Scripts contain {"taskQuestion": "...", "replies": [{content?, toolCalls?}]}.',
  );
}
