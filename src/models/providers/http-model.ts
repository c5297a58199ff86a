// Creates the model of any wire format: sends its requests, plainly or streamed, and reads the replies.
import { withDeadline } from "../../platform/deadline.js";
import type { JsonValue } from "../../platform/json.js";
import { memoize } from "../../platform/memoize.js";
import { presentProperties } from "../../platform/optional-values.js";
import { type Endpoint, secretsOf, withExtraHeaders } from "../endpoint.js";
import { finishReasonOf } from "../finish-reasons.js";
import { attempt, type Reply } from "../http-attempt.js";
import {
  type Message,
  type Model,
  ModelError,
  type ModelRequest,
  type SentParameters,
  type ToolCall,
} from "../model.js";
import { NO_EXTRAS, withExtraBody } from "../request-extras.js";
import type { AdaptiveParameters } from "../request-parameters.js";
import { type ReceivedCall, toToolCalls } from "../tool-calls.js";
import { type AdaptedTools, adaptTools, type SchemaDialect } from "../tool-schemas.js";
import { jsonBytes, jsonHeaders, sdkReply, timeoutError } from "../wire/http-sender.js";
import type { RequestBody } from "../wire/omissions.js";
import { type OnDelta, postForReply, type ReplyAssembler, type Send } from "../wire/stream-reply.js";

/** A reply in the terms that all wire formats share. */
interface ReceivedReply {
  readonly content: string;
  readonly calls: readonly ReceivedCall[];
  /** The provider's finish reason, or an empty string. */
  readonly reason: string;
  /** Whether a field other than the finish reason shows a refusal. */
  readonly isRefusal?: boolean;
  readonly model: string | undefined;
  readonly responseId: string | undefined;
  /** Returns the state to send back unchanged in the next request, or null. `calls` have their final IDs. */
  stateOf(calls: readonly ToolCall[]): JsonValue | null;
}

/** The differences between the wire formats. */
interface WireFormat {
  readonly id: string;
  /** Marks the state in messages. */
  readonly provider: string;
  readonly endpoint: Endpoint;
  readonly dialect: SchemaDialect;
  readonly parameters: AdaptiveParameters;
  readonly url: string;
  /** URL for streaming, if it has its own. */
  readonly streamUrl?: string;
  /** Headers in addition to the usual ones of a JSON request. */
  headersOf(body: RequestBody): Readonly<Record<string, string>>;
  bodyOf(request: ModelRequest, tools: AdaptedTools, sent: SentParameters): RequestBody;
  /** Fields that request a stream. */
  readonly streamFields: RequestBody;
  bytesOf?(body: RequestBody): Buffer;
  assembler(onDelta: OnDelta): ReplyAssembler;
  read(body: unknown): ReceivedReply;
  /** Posts a request without streaming with the provider's SDK. */
  sdkPost?(body: RequestBody, headers: Record<string, string>, signal: AbortSignal): Parameters<typeof sdkReply>[0];
}

/** Creates a model that sends requests in a wire format: streamed if somebody receives the parts, otherwise plainly. */
export function httpModel(format: WireFormat): Model {
  const { id, endpoint, parameters, url, streamUrl = url, streamFields, sdkPost, bytesOf = jsonBytes } = format;
  const { timeoutMs, extras = NO_EXTRAS } = endpoint;
  const adapt = memoize((tools: ModelRequest["tools"]) => adaptTools(tools, format.dialect));
  const secrets = secretsOf(endpoint);
  const addHeaders = withExtraHeaders(endpoint);

  const post = (body: RequestBody, headers: Record<string, string>, signal: AbortSignal, onDelta?: OnDelta): Send => {
    // Created before the call, so that only the bytes stay in memory while it is running.
    const call = { headers: addHeaders(jsonHeaders(headers)), body: bytesOf(body), signal, timeoutMs, secrets };
    const target = onDelta === undefined ? { url } : { url: streamUrl, isStreamed: true };
    return () => postForReply({ ...call, ...target }, format.assembler(onDelta ?? (() => {})));
  };

  /** Makes one call, streamed if there is an `onDelta`. */
  const complete = (request: ModelRequest, signal: AbortSignal, onDelta?: OnDelta) => {
    const tools = adapt(request.tools);
    return parameters.complete(
      request,
      (sent): RequestBody => ({
        ...withExtraBody(format.bodyOf(request, tools, sent), extras.body),
        ...(onDelta === undefined ? {} : streamFields),
      }),
      (sent, body) => {
        const headers = { ...format.headersOf(body) };
        const send: Send =
          sdkPost === undefined || onDelta !== undefined
            ? post(body, headers, signal, onDelta)
            : () =>
                withDeadline(
                  signal,
                  timeoutMs,
                  () => timeoutError({ timeoutMs }),
                  (within) => sdkReply(sdkPost(body, headers, within)),
                );
        const read = (reply: unknown) => ({
          sent,
          ...toReply(format.provider, format.read(reply), request.messages),
        });
        return attempt(endpoint, signal, send, read, tools);
      },
    );
  };

  let streams = true;
  return {
    id,
    async complete(request, signal) {
      if (!streams || request.onDelta === undefined) return complete(request, signal);
      try {
        return await complete(request, signal, request.onDelta);
      } catch (error) {
        if (!refusesStream(error, streamUrl !== url)) throw error;
      }
      const reply = await complete(request, signal);
      streams = false;
      return reply;
    },
  };
}

/** Converts a reply after the messages in `earlier`. Throws a ModelError if it broke off. */
export function toReply(provider: string, received: ReceivedReply, earlier: readonly Message[]): Reply {
  const { content, reason, isRefusal = false, model, responseId } = received;
  const toolCalls = toToolCalls(received.calls, earlier);
  const value = received.stateOf(toolCalls);
  return {
    content,
    toolCalls,
    finishReason: isRefusal ? "refusal" : finishReasonOf(reason, toolCalls.length),
    rawFinishReason: reason,
    ...presentProperties({ model, responseId, providerState: value === null ? null : { provider, value } }),
  };
}

/** Statuses for a request that the server does not support. */
const UNSUPPORTED = new Set([400, 403, 404, 405, 415, 422, 501]);
const UNKNOWN_PATH = new Set([404, 405, 501]);

/**
 * Returns whether a server refuses to stream, such as OpenAI for an organization that is not verified.
 *
 * @param hasOwnPath whether streaming has its own path, which a compatible server might not have
 */
function refusesStream(error: unknown, hasOwnPath: boolean): boolean {
  if (!(error instanceof ModelError) || error.status === null) return false;
  if (hasOwnPath && UNKNOWN_PATH.has(error.status)) return true;
  return UNSUPPORTED.has(error.status) && /stream(?!_options)/i.test(error.message);
}
