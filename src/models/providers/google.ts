// Speaks Gemini's generateContent API.
import { FunctionCallingMode } from "@google/generative-ai";
import { z } from "zod";
import { isShallow, type JsonObject, type JsonValue, jsonObjectSchema, parseJsonOrNull } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { type Endpoint, urlBelow } from "../endpoint.js";
import type { Message, Model, ModelRequest, SentParameters, ToolCall, ToolMessage } from "../model.js";
import { AdaptiveParameters, googleRules } from "../request-parameters.js";
import { addTurn, sendableToolName, wellFormed } from "../tool-calls.js";
import type { AdaptedTools } from "../tool-schemas.js";
import { GoogleAssembler } from "../wire/google-stream.js";
import { callSchema, itemsSchema, nameSchema, partsSchema, textSchema } from "../wire/reply-fields.js";
import { httpModel } from "./http-model.js";

const PROVIDER = "google";

const GOOGLE_URL = "https://generativelanguage.googleapis.com";

/** Creates a model on Gemini's `generateContent` at Google or a compatible server (`baseUrl`, without `/v1beta`). */
export function googleModel(name: string, endpoint: Endpoint): Model {
  const urlOf = (method: string) =>
    urlBelow(endpoint.baseUrl ?? GOOGLE_URL, `/v1beta/${pathOf(name)}:${method}`, /\/v1(beta)?$/);
  return httpModel({
    id: `${PROVIDER}/${name}`,
    provider: PROVIDER,
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

function toContents(messages: readonly Message[]): { role: string; parts: JsonObject[] }[] {
  const turns: { role: string; content: JsonObject[] }[] = [];
  const theirIds = new Set<string>();
  for (const message of messages) {
    addTurn(turns, message.role === "assistant" ? "model" : "user", toParts(message, theirIds));
  }
  return turns.map(({ role, content }) => ({ role, parts: content }));
}

/** Collects Google's own call IDs in `theirIds`. Only these are sent back with the results. Generated IDs are not. */
function toParts(message: Message, theirIds: Set<string>): JsonObject[] {
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

function textPart(text: string): JsonObject[] {
  return text === "" ? [] : [{ text: wellFormed(text) }];
}

/** Returns an object with `output` or `error`, the property names from the API documentation. */
function functionResponse(message: ToolMessage, theirIds: ReadonlySet<string>): JsonObject {
  const { name, toolCallId, content, isError } = message;
  const response = isError ? { error: wellFormed(content) } : { output: asJson(wellFormed(content)) };
  const fields = { name: sendableToolName(name), response };
  return theirIds.has(toolCallId) ? { id: toolCallId, ...fields } : fields;
}

function asJson(text: string): JsonValue {
  const value = parseJsonOrNull(text);
  return value !== null && isShallow(value) ? value : text;
}

/** The reply's unchanged parts, and the IDs assigned to its function calls in order. */
const stateSchema = z.object({ parts: z.array(jsonObjectSchema), ids: z.array(z.string()) });

const partSchema = z.object({
  text: textSchema,
  thought: z.boolean().catch(false),
  thoughtSignature: textSchema,
  functionCall: callSchema.optional().catch(undefined),
});

/** Rejects an empty object: a reply must contain a candidate or the reason for blocking it. */
const replySchema = z
  .object({
    modelVersion: nameSchema,
    responseId: nameSchema,
    candidates: itemsSchema.pipe(z.array(z.object({ content: partsSchema, finishReason: textSchema }))),
    promptFeedback: z.object({ blockReason: textSchema }).catch({ blockReason: "" }),
  })
  .refine(({ candidates, promptFeedback }) => candidates.length > 0 || promptFeedback.blockReason !== "");

function fromBody(body: unknown) {
  const { candidates, promptFeedback, modelVersion, responseId } = replySchema.parse(body);
  const [candidate] = candidates;
  const rawParts = candidate?.content.parts ?? [];
  const parts = rawParts.map((part) => partSchema.parse(part));
  const isStateful = parts.some((part) => part.thoughtSignature || part.thought || part.functionCall?.id);
  return {
    content: parts.map((part) => (part.thought ? "" : part.text)).join(""),
    calls: parts.flatMap((part) => part.functionCall ?? []),
    reason: candidate?.finishReason ?? promptFeedback.blockReason,
    isRefusal: candidate === undefined,
    model: modelVersion,
    responseId,
    stateOf: (calls: readonly ToolCall[]) => (isStateful ? { parts: rawParts, ids: calls.map(({ id }) => id) } : null),
  };
}
