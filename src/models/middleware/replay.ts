import { type Completion, type Model, ModelError, type ModelRequest } from "../../domain/models/model.js";
import { requestKey } from "./cache-key.js";
import { type Recorded, readReplayFile, type Script, type ScriptedReply } from "./replay-file.js";

/**
 * `replay/FILE`: answers from a file, offline. A recorded reply answers the request it was recorded for, the nth
 * time the nth of them; a script answers its question by the number of replies already given in the conversation.
 * A request without an answer ends in a ModelError that no retry mends. Throws a UserError for an unusable file.
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
      throw new ModelError("protocol", `${path} holds no reply to this request`, { retryable: false });
    },
  };
}

/** Holds which of several recorded replies to the same request comes next. */
class Recording {
  readonly #models: ReadonlySet<string>;
  readonly #replies = new Map<string, Recorded[]>();

  constructor(entries: readonly Recorded[]) {
    this.#models = new Set(entries.map((entry) => entry.model));
    for (const entry of entries) {
      const replies = this.#replies.get(entry.key);
      if (replies) replies.push(entry);
      else this.#replies.set(entry.key, [entry]);
    }
  }

  next(request: ModelRequest): Completion | undefined {
    for (const model of this.#models) {
      const replies = this.#replies.get(requestKey(model, request));
      if (!replies) continue;
      const entry = replies.shift();
      if (entry) return outcomeOf(entry);
      throw new ModelError("protocol", "the recorded replies to this request are used up", { retryable: false });
    }
    return undefined;
  }
}

/** The reply again, or the failure: it has had its retries, and is not tried again. */
function outcomeOf(entry: Recorded): Completion {
  if ("completion" in entry) return entry.completion;
  const { failure } = entry;
  if ("timedOut" in failure) throw new DOMException("The recorded call outlasted its task.", "TimeoutError");
  const { kind, message, retries } = failure;
  throw new ModelError(kind, message, { retryable: false, retries });
}

function fromScripts(scripts: readonly Script[], request: ModelRequest): Completion | undefined {
  const userTexts = new Set(request.messages.map((message) => (message.role === "user" ? message.content.trim() : "")));
  const own = scripts.find(({ taskQuestion }) => taskQuestion !== undefined && userTexts.has(taskQuestion.trim()));
  const script = own ?? scripts.find(({ taskQuestion }) => taskQuestion === undefined);
  if (!script) return undefined;
  const turn = request.messages.filter((message) => message.role === "assistant").length;
  const reply = script.replies[turn];
  if (reply) return toCompletion(reply, turn);
  const message = `the script has ${script.replies.length} replies and turn ${turn + 1} was asked for`;
  throw new ModelError("protocol", message, { retryable: false });
}

function toCompletion(reply: ScriptedReply, turn: number): Completion {
  const toolCalls = reply.toolCalls.map((call, i) => ({ id: `call_${turn + 1}_${i + 1}`, ...call }));
  const finishReason = reply.finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop");
  const { content, usage } = reply;
  return { content, toolCalls, finishReason, rawFinishReason: finishReason, usage, latencyMs: 0, retries: [] };
}
