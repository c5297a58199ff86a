// Creates the model of any wire format: sends its requests, plainly or streamed, and reads the replies.
import { withDeadline } from "../../platform/deadline.js";
import { type Endpoint, secretsOf, withExtraHeaders } from "../endpoint.js";
import { attempt, type Reply } from "../http-attempt.js";
import type { Message, Model, ModelRequest, SentParameters } from "../model.js";
import { NO_EXTRAS, withExtraBody } from "../request-extras.js";
import type { AdaptiveParameters } from "../request-parameters.js";
import { type AdaptedTools, type SchemaDialect, toolAdapter } from "../tool-schemas.js";
import { jsonBytes, jsonHeaders, sdkReply, timeoutError } from "../wire/http-sender.js";
import type { RequestBody } from "../wire/omissions.js";
import { type OnDelta, postForReply, type ReplyAssembler, type Send, StreamSupport } from "../wire/stream-reply.js";

/** The differences between the wire formats. */
interface WireFormat {
  readonly id: string;
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
  /** Fields that a request without streaming has instead. */
  readonly plainFields?: RequestBody;
  bytesOf?(body: RequestBody): Buffer;
  assembler(onDelta: OnDelta): ReplyAssembler;
  read(body: unknown, earlier: readonly Message[]): Reply;
  /** Posts a request without streaming with the provider's SDK. */
  sdkPost?(body: RequestBody, headers: Record<string, string>, signal: AbortSignal): Parameters<typeof sdkReply>[0];
}

/** Creates a model that sends requests in a wire format: streamed if somebody receives the parts, otherwise plainly. */
export function httpModel(format: WireFormat): Model {
  const { id, endpoint, parameters, url, streamUrl = url, streamFields, plainFields = {}, sdkPost } = format;
  const { timeoutMs, extras = NO_EXTRAS } = endpoint;
  const adapt = toolAdapter(format.dialect);
  const streaming = new StreamSupport(streamUrl !== url);
  const secrets = secretsOf(endpoint);
  const bytesOf = format.bytesOf ?? jsonBytes;
  const addHeaders = withExtraHeaders(endpoint);
  return {
    id,
    complete(request, signal) {
      const { onDelta } = request;
      const tools = adapt(request.tools);
      return parameters.complete(
        request,
        (sent): RequestBody => ({
          ...withExtraBody(format.bodyOf(request, tools, sent), extras.body),
          ...(onDelta === undefined ? {} : streamFields),
        }),
        (sent, body) => {
          const headers = format.headersOf(body);
          const call = { headers: addHeaders(jsonHeaders(headers)), signal, timeoutMs, secrets };
          const post = (at: string, fields: RequestBody, isStreamed: boolean): Send => {
            // Created before the call, so that only the bytes stay in memory while it is running.
            const bytes = bytesOf(fields);
            return () =>
              postForReply({ ...call, url: at, body: bytes, isStreamed }, format.assembler(onDelta ?? (() => {})));
          };
          const plainBody = onDelta === undefined ? body : { ...without(body, streamFields), ...plainFields };
          const plain: Send =
            sdkPost === undefined
              ? post(url, plainBody, false)
              : () =>
                  withDeadline(
                    signal,
                    timeoutMs,
                    () => timeoutError({ timeoutMs }),
                    (within) => sdkReply(sdkPost(plainBody, headers, within)),
                  );
          const streamed = onDelta === undefined ? null : post(streamUrl, body, true);
          const send = streamed === null ? plain : () => streaming.send(streamed, plain);
          const read = (reply: unknown) => ({ sent, ...format.read(reply, request.messages) });
          return attempt(endpoint, signal, send, read, tools);
        },
      );
    },
  };
}

function without(body: RequestBody, fields: RequestBody): RequestBody {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !(name in fields)));
}
