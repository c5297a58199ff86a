// Speaks Gemini's generateContent API.
import { FunctionCallingMode } from "@google/generative-ai";
import { z } from "zod";
import { type JsonValue, jsonValueSchema } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { type Endpoint, urlBelow } from "../endpoint.js";
import { finishReasonOf } from "../finish-reasons.js";
import type { Reply } from "../http-attempt.js";
import type { Message, Model, ModelRequest, SentParameters, ToolMessage } from "../model.js";
import { AdaptiveParameters, googleRules } from "../request-parameters.js";
import { addTurn, sendableToolName, toToolCalls, wellFormed } from "../tool-calls.js";
import type { AdaptedTools } from "../tool-schemas.js";
import { GoogleAssembler } from "../wire/google-stream.js";
import { idSchema, listSchema, modelNameSchema, responseIdSchema, textSchema } from "../wire/reply-fields.js";
import { httpModel } from "./http-model.js";

type GooglePart = { [key: string]: JsonValue };

const PROVIDER = "google";

const GOOGLE_URL = "https://generativelanguage.googleapis.com";

/** Creates a model on Gemini's `generateContent` at Google or a compatible server (`baseUrl`, without `/v1beta`). */
export function googleModel(name: string, endpoint: Endpoint): Model {
  const urlOf = (method: string) =>
    urlBelow(endpoint.baseUrl ?? GOOGLE_URL, `/v1beta/${pathOf(name)}:${method}`, /\/v1(beta)?$/);
  return httpModel({
    id: `${PROVIDER}/${name}`,
    endpoint,
    dialect: "google",
    parameters: new AdaptiveParameters(googleRules(name)),
    url: urlOf("generateContent"),
    streamUrl: `${urlOf("streamGenerateContent")}?alt=sse`,
    headersOf: () => ({ "x-goog-api-key": endpoint.apiKey }),
    bodyOf: toBody,
    streamFields: {},
    assembler: (onDelta) => new GoogleAssembler(onDelta),
    read: fromBody,
  });
}

/** Tuned models already include their collection: `tunedModels/mine`. */
function pathOf(name: string): string {
  const path = name.includes("/") ? name : `models/${name}`;
  return path.split("/").map(encodeURIComponent).join("/");
}

/**
 * Returns the same body as Google's SDK. The SDK's transport is not used, because it follows redirects with the key and
 * hides the headers of error responses.
 */
function toBody({ system, messages }: ModelRequest, { tools }: AdaptedTools, sentParameters: SentParameters) {
  const { maxTokens, temperature, toolChoice, reasoningEffort = null } = sentParameters;
  return {
    contents: toContents(messages),
    ...(system === "" ? {} : { systemInstruction: { role: "system", parts: [{ text: wellFormed(system) }] } }),
    generationConfig: {
      maxOutputTokens: maxTokens,
      ...presentProperties({ temperature }),
      ...(reasoningEffort === null ? {} : { thinkingConfig: thinkingConfig(reasoningEffort) }),
    },
    ...(tools.length === 0
      ? {}
      : {
          tools: [
            {
              functionDeclarations: tools.map(({ name, description, parameters }) => ({
                name,
                description,
                ...presentProperties({ parameters }),
              })),
            },
          ],
          toolConfig: {
            functionCallingConfig: {
              mode: toolChoice === "required" ? FunctionCallingMode.ANY : FunctionCallingMode.AUTO,
            },
          },
        }),
  };
}

/**
 * Gemini 3 and later accept a level, and Gemini 2.5 accepts a budget (https://ai.google.dev/gemini-api/docs/thinking).
 */
function thinkingConfig(effort: string | number) {
  return typeof effort === "number" ? { thinkingBudget: effort } : { thinkingLevel: effort };
}

function toContents(messages: readonly Message[]): { role: string; parts: GooglePart[] }[] {
  const turns: { role: string; content: GooglePart[] }[] = [];
  const theirIds = new Set<string>();
  for (const message of messages) {
    addTurn(turns, message.role === "assistant" ? "model" : "user", toParts(message, theirIds));
  }
  return turns.map(({ role, content }) => ({ role, parts: content }));
}

/** Collects Google's own call IDs in `theirIds`. Only these are sent back with the results. Generated IDs are not. */
function toParts(message: Message, theirIds: Set<string>): GooglePart[] {
  if (message.role === "tool") return [{ functionResponse: functionResponse(message, theirIds) }];
  if (message.role !== "assistant") return textPart(message.content);
  if (message.providerState?.provider !== PROVIDER) {
    const calls = message.toolCalls.map((call) => ({
      functionCall: { name: sendableToolName(call.name), args: call.arguments },
    }));
    return [...textPart(message.content), ...calls];
  }
  const state = stateSchema.parse(message.providerState.value);
  const ids = [...state.ids];
  const callIds = new Set(message.toolCalls.map((call) => call.id));
  const parts = state.parts.filter((part) => {
    const call = partSchema.parse(part).functionCall;
    if (!call) return true;
    const id = ids.shift() ?? "";
    if (call.id === id) theirIds.add(id);
    return callIds.has(id);
  });
  // A reply that contains only thoughts is omitted like an empty one.
  return parts.every((part) => part.thought === true) ? [] : parts;
}

function textPart(text: string): GooglePart[] {
  return text === "" ? [] : [{ text: wellFormed(text) }];
}

/** Returns an object with `output` or `error`, the property names from the API documentation. */
function functionResponse(message: ToolMessage, theirIds: ReadonlySet<string>): GooglePart {
  const { name, toolCallId, content, isError } = message;
  const response = isError ? { error: wellFormed(content) } : { output: asJson(wellFormed(content)) };
  const fields = { name: sendableToolName(name), response };
  return theirIds.has(toolCallId) ? { id: toolCallId, ...fields } : fields;
}

function asJson(text: string): JsonValue {
  try {
    return jsonValueSchema.parse(JSON.parse(text));
  } catch {
    return text;
  }
}

const rawPartSchema = z.record(z.string(), jsonValueSchema);

/** The reply's unchanged parts, and the IDs assigned to its function calls in order. */
const stateSchema = z.object({ parts: z.array(rawPartSchema), ids: z.array(z.string()) });

const partSchema = z.object({
  text: textSchema,
  thought: z.boolean().catch(false),
  thoughtSignature: textSchema,
  functionCall: z.object({ id: idSchema, name: textSchema, args: z.unknown().optional() }).optional().catch(undefined),
});

const replySchema = z.object({
  modelVersion: modelNameSchema,
  responseId: responseIdSchema,
  candidates: z
    .array(z.object({ content: z.object({ parts: listSchema }).catch({ parts: [] }), finishReason: textSchema }))
    .catch([]),
  promptFeedback: z.object({ blockReason: textSchema }).catch({ blockReason: "" }),
});

/** Rejects an empty object: a reply must contain a candidate or the reason for blocking it. */
const wholeReplySchema = replySchema.refine(
  (reply) => reply.candidates.length > 0 || reply.promptFeedback.blockReason !== "",
);

function fromBody(body: unknown, earlier: readonly Message[]): Reply {
  const reply = wholeReplySchema.parse(body);
  const [candidate] = reply.candidates;
  if (candidate === undefined) {
    const raw = reply.promptFeedback.blockReason;
    return {
      content: "",
      toolCalls: [],
      finishReason: "refusal",
      rawFinishReason: raw,
      ...reply.modelVersion,
      ...reply.responseId,
    };
  }
  const rawParts = candidate.content.parts;
  const parts = rawParts.map((part) => partSchema.parse(part));
  const calls = parts.flatMap((part) => part.functionCall ?? []);
  const toolCalls = toToolCalls(
    calls.map(({ id, name, args }) => ({ id, name, arguments: args })),
    earlier,
  );
  const ids = toolCalls.map(({ id }) => id);
  const raw = candidate.finishReason;
  const needed = parts.some((part) => part.thoughtSignature || part.thought || part.functionCall?.id);
  return {
    content: parts.map((part) => (part.thought ? "" : part.text)).join(""),
    toolCalls,
    finishReason: finishReasonOf(raw, toolCalls.length),
    rawFinishReason: raw,
    ...reply.modelVersion,
    ...reply.responseId,
    ...(needed ? { providerState: { provider: PROVIDER, value: { parts: rawParts, ids } } } : {}),
  };
}
