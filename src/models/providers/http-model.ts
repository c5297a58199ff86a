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
import { fromEventText, type OnDelta, postForReply, type ReplyAssembler, type Send } from "../wire/stream-reply.js";

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
    return () => postForReply({ ...call, ...target }, format.assembler(onDelta ?? ignore));
  };

  /** Posts a request without streaming. Some gateways stream the reply anyway, which an SDK returns as text. */
  const postPlain = (body: RequestBody, headers: Record<string, string>, signal: AbortSignal): Send => {
    if (sdkPost === undefined) return post(body, headers, signal);
    const send = async (within: AbortSignal) => {
      const reply = await sdkReply(sdkPost(body, headers, within));
      return { ...reply, body: await fromEventText(reply.body, format.assembler(ignore), within) };
    };
    return () => withDeadline(signal, timeoutMs, () => timeoutError({ timeoutMs }), send);
  };

  /** Whether the server only streams, learned from its error. */
  let onlyStreams = false;

  /** Makes one call, streamed if there is an `onDelta` or the server only streams. */
  const complete = (request: ModelRequest, signal: AbortSignal, listener?: OnDelta) => {
    const tools = adapt(request.tools);
    const onDelta = listener ?? (onlyStreams ? ignore : undefined);
    return parameters.complete(
      request,
      (sent): RequestBody => ({
        ...withExtraBody(format.bodyOf(request, tools, sent), extras.body),
        ...(onDelta === undefined ? {} : streamFields),
      }),
      async (sent, body) => {
        const headers = { ...format.headersOf(body) };
        const read = (reply: unknown) => ({
          sent,
          ...toReply(format.provider, format.read(reply), request.messages),
        });
        if (onDelta !== undefined) return attempt(endpoint, signal, post(body, headers, signal, onDelta), read, tools);
        try {
          return await attempt(endpoint, signal, postPlain(body, headers, signal), read, tools);
        } catch (error) {
          if (!requiresStream(error)) throw error;
        }
        onlyStreams = true;
        const streamed = post({ ...body, ...streamFields }, headers, signal, ignore);
        return attempt(endpoint, signal, streamed, read, tools);
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

const ignore: OnDelta = () => {};

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

/** Words of servers that only stream, such as Alibaba Cloud's for some models. */
const ONLY_STREAMS =
  /\bonly (?:\w+ )?(?:supports? |available (?:in|with) )?(?:the )?stream(?:ing)?\b|\benable (?:the )?stream|\bstream[`'"]? (?:must|needs to|should) be (?:set to )?true|\bnon-stream(?:ing)?\b|\bstreaming is required\b/i;

/** Returns whether a server rejects a request because it is not streamed. */
function requiresStream(error: unknown): boolean {
  return error instanceof ModelError && UNSUPPORTED.has(error.status ?? 0) && ONLY_STREAMS.test(error.message);
}
