// Requests to external agents over HTTP: one chat completion, or a stream of events. They are sent and read like those
// to models, but not sent again.
import { type Endpoint, failureInReply, openaiHeaders, secretsOf, withExtraHeaders } from "./endpoint.js";
import { ModelError } from "./model.js";
import { toModelError } from "./provider-errors.js";
import { readChatReply } from "./providers/openai-chat.js";
import { ChatAssembler } from "./wire/chat-stream.js";
import { readEvents } from "./wire/event-stream.js";
import { httpError, jsonBytes, jsonHeaders, sendRequest } from "./wire/http-sender.js";
import { type ReportedUsage, reportedUsage } from "./wire/reported-usage.js";
import { postForReply } from "./wire/stream-reply.js";

interface EventRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Maximum silence between two bytes, in milliseconds. */
  readonly idleMs: number;
  /** Redacted from every error. */
  readonly apiKey: string;
}

/**
 * Sends one chat completion and returns the body of its reply with the reported usage. `onUsage` receives the usage
 * before the reply is read. An agent's call is expensive, so an unusable reply is not retried.
 *
 * @throws ModelError, or the signal's reason
 */
export async function completeChat(
  url: string,
  endpoint: Endpoint,
  body: object,
  signal: AbortSignal,
  onUsage: (usage: ReportedUsage) => void,
) {
  const { timeoutMs } = endpoint;
  const secrets = secretsOf(endpoint);
  const headers = withExtraHeaders(endpoint)(jsonHeaders(openaiHeaders(endpoint)));
  const call = { url, headers, body: jsonBytes(body), signal, timeoutMs, secrets };
  try {
    const received = await postForReply(call, new ChatAssembler(() => {}, []));
    onUsage(reportedUsage(received));
    const problem = failureInReply(received.body);
    if (problem !== null) throw problem;
    return readChatReply(received.body);
  } catch (error) {
    const failure = toModelError(error, secrets);
    throw failure instanceof ModelError && failure.kind === "protocol" ? failure.with({ retryable: false }) : failure;
  }
}

/**
 * Posts JSON and yields the data of each server-sent event when it arrives. The caller stops after the last event. If
 * the stream ends inside a frame, that part is still yielded.
 *
 * @throws ModelError if the reply is not an event stream, or the signal's reason
 */
export async function* postForEvents(request: EventRequest, signal: AbortSignal): AsyncGenerator<string> {
  const headers = { ...request.headers, "content-type": "application/json", accept: "text/event-stream" };
  const options = { signal, timeoutMs: request.idleMs, isIdleTimeout: true };
  let stop: ((why: Error) => void) | null = null;
  try {
    const reply = await sendRequest(request.url, { method: "POST", headers, body: jsonBytes(request.body) }, options);
    if (!reply.ok) throw await httpError(reply);
    stop = reply.stop;
    const type = reply.headers.get("content-type") ?? "no type";
    if (!/^text\/event-stream\b/i.test(type)) {
      throw new ModelError("protocol", `the server returned ${type}, expected text/event-stream`, { retryable: false });
    }
    for await (const { data } of readEvents(reply.chunks())) yield data;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw toModelError(error, [request.apiKey]);
  } finally {
    stop?.(new ModelError("network", "the stream is no longer read", { retryable: false }));
  }
}
