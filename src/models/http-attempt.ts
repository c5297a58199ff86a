// One HTTP attempt at a model call: sends, reads the body, and checks that the reply is usable.
import { type Endpoint, failureInReply, secretsOf } from "./endpoint.js";
import { type Completion, type FinishReason, ModelError, type ModelErrorKind } from "./model.js";
import { toModelError } from "./provider-errors.js";
import type { AdaptedTools } from "./tool-schemas.js";
import { MAX_NAME } from "./wire/reply-fields.js";
import { type ReportedUsage, reportedUsage } from "./wire/reported-usage.js";
import type { Send } from "./wire/stream-reply.js";

/** The parts of a completion that depend on the wire format. */
export type Reply = Omit<Completion, "latencyMs" | "retries" | keyof ReportedUsage>;

/**
 * Makes one attempt. `send` sends the request and returns the parsed reply within its deadline, `read` validates the
 * body, and `tools` are the sent tools. Rejects with the signal's reason, or with a ModelError without keys that
 * includes the usage of a billed reply. Any other error is a bug in this program and is rethrown unchanged.
 */
export async function attempt(
  endpoint: Endpoint,
  signal: AbortSignal,
  send: Send,
  read: (body: unknown) => Reply,
  tools: Pick<AdaptedTools, "notes" | "restore">,
): Promise<Completion> {
  const startedAt = performance.now();
  let reported: ReportedUsage | null = null;
  try {
    const received = await send();
    const latencyMs = performance.now() - startedAt;
    reported = reportedUsage(received);
    const problem = failureInReply(received.body);
    if (problem !== null) throw problem;
    const reply = read(received.body);
    // A refused reply is truncated, so its calls and its text are incomplete.
    const calls = reply.finishReason === "refusal" ? [] : reply.toolCalls;
    const toolCalls = calls.map((call) => ({ ...call, arguments: tools.restore(call.name, call.arguments) }));
    const notes = [...(reported.notes ?? []), ...tools.notes];
    return { latencyMs, retries: [], ...reply, ...reported, toolCalls, ...(notes.length === 0 ? {} : { notes }) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = withBilled(toModelError(error, secretsOf(endpoint)), reported);
    const finishReason = failure instanceof ModelError ? FINISHED[failure.kind] : undefined;
    if (failure instanceof ModelError && finishReason !== undefined) {
      return { ...emptyReply(failure.message, finishReason, performance.now() - startedAt), ...reported };
    }
    throw failure;
  }
}

/** Adds the usage reported by the server to the error of an unusable reply. */
export function withBilled(error: unknown, reply: Pick<Completion, "usage" | "costUsd"> | null): unknown {
  if (!(error instanceof ModelError) || !reply?.usage) return error;
  const { usage, costUsd = null } = reply;
  return error.with({ billed: { usage, costUsd } });
}

/** Kinds of errors that are the model's doing. They can arrive as an HTTP error or as a finish reason. */
const FINISHED: Readonly<Partial<Record<ModelErrorKind, FinishReason>>> = {
  refused: "refusal",
  broken_call: "broken_call",
};

function emptyReply(message: string, finishReason: FinishReason, latencyMs: number): Completion {
  const rawFinishReason = message.slice(0, MAX_NAME);
  return { content: "", toolCalls: [], finishReason, rawFinishReason, usage: null, latencyMs, retries: [] };
}
