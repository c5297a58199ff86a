// Classifies spans, and reads model and tool calls in the conventions listed in `messages.ts`: model, finish reason,
// usage, tools.
import { z } from "zod";
import { finishReasonOf as finishReasonOfReply } from "../../../models/finish-reasons.js";
import type { FinishReason, ToolSpec } from "../../../models/model.js";
import { cacheWrites, reasoningUsage, type Usage } from "../../../models/usage.js";
import { isJsonObject, type JsonObject, type JsonValue, jsonObjectSchema } from "../../../platform/json.js";
import { finishReason, modelId } from "../otlp-encode.js";
import {
  type AttributeMap,
  countOf,
  itemsOf,
  jsonIn,
  jsonOf,
  jsonOrText,
  numberOf,
  textOf,
  textsOf,
} from "./attributes.js";
import type { ReadSpan } from "./spans.js";

const GEN_AI_MODEL_CALLS = new Set(["chat", "generate_content", "text_completion"]);

/** `ai.generateText` contains one `ai.generateText.doGenerate` per model call. */
const VERCEL_MODEL_CALL = /^ai\.(generate|stream)(Text|Object)\.do(Generate|Stream)$/;
const VERCEL_AGENT = /^ai\.(generate|stream)(Text|Object)$/;

const MODEL_KINDS = new Set(["LLM", "GENERATION", "CHAT_MODEL"]);

/** Attributes that only model calls have. */
const MODEL_ATTRIBUTES = ["request_data", "llm.request.type", "gcp.vertex.agent.llm_request"];

/** Attributes that only tool calls have. */
const TOOL_ATTRIBUTES = ["gen_ai.tool.name", "gen_ai.tool.call.id"];

type SpanKind = "model" | "tool" | "agent" | "other";

interface ReadToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
  readonly result: JsonValue;
}

export function kindOf({ attributes, name }: ReadSpan): SpanKind {
  const vercel = textOf(attributes, "ai.operationId") ?? (name.startsWith("ai.") ? (name.split(" ")[0] ?? "") : "");
  if (VERCEL_MODEL_CALL.test(vercel)) return "model";
  if (VERCEL_AGENT.test(vercel)) return "agent";
  if (vercel === "ai.toolCall") return "tool";
  const operation = textOf(attributes, "gen_ai.operation.name");
  if (operation !== undefined) {
    if (GEN_AI_MODEL_CALLS.has(operation)) return "model";
    return operation === "execute_tool" ? "tool" : operation === "invoke_agent" ? "agent" : "other";
  }
  const kind = textOf(
    attributes,
    "openinference.span.kind",
    "traceloop.span.kind",
    "langfuse.observation.type",
    "langsmith.span.kind",
    "mlflow.spanType",
  )
    ?.toUpperCase()
    .replaceAll('"', "");
  if (MODEL_KINDS.has(kind ?? "") || MODEL_ATTRIBUTES.some((name) => attributes.has(name))) return "model";
  if (kind === "TOOL" || TOOL_ATTRIBUTES.some((name) => attributes.has(name))) return "tool";
  return kind === "AGENT" ? "agent" : "other";
}

/** Returns `provider/name`, or null if the span does not specify a model. */
export function modelOf({ attributes }: ReadSpan): string | null {
  const model =
    textOf(
      attributes,
      "gen_ai.request.model",
      "gen_ai.response.model",
      "llm.model_name",
      "llm.request.model_name",
      "ai.model.id",
      "langfuse.observation.model.name",
    ) ?? mlflowText(attributes, "mlflow.llm.model");
  if (model === undefined) return null;
  const provider =
    textOf(attributes, "gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider") ??
    mlflowText(attributes, "mlflow.llm.provider");
  return modelId(attributes.has("ai.model.provider") ? provider?.split(".")[0] : provider, model);
}

/** MLflow writes every attribute as JSON. */
function mlflowText(attributes: AttributeMap, key: string): string | undefined {
  const value = jsonIn(attributes, key);
  return typeof value === "string" ? value : undefined;
}

export function responseModelOf(attributes: AttributeMap): string | undefined {
  return textOf(attributes, "gen_ai.response.model", "ai.response.model", "llm.response.model_name");
}

export function responseIdOf(attributes: AttributeMap): string | undefined {
  return textOf(attributes, "gen_ai.response.id", "ai.response.id");
}

const outputReasonSchema = z.array(z.looseObject({ finish_reason: z.string() })).min(1);

/** Returns the finish reason in the writer's words and in art-e's. If the span has none, `hasCalls` determines it. */
export function finishReasonOf(
  attributes: AttributeMap,
  hasCalls: boolean,
): { readonly finishReason: FinishReason; readonly raw: string } {
  const outputReason = jsonOf(attributes, "gen_ai.output.messages", outputReasonSchema)?.[0]?.finish_reason;
  const raw =
    textsOf(attributes, "gen_ai.response.finish_reasons")[0] ??
    textOf(
      attributes,
      "ai.response.finishReason",
      "ai.finishReason",
      "llm.finish_reason",
      "gen_ai.completion.0.finish_reason",
    );
  const reason = outputReason ?? raw;
  if (reason === undefined) return { finishReason: hasCalls ? "tool_calls" : "stop", raw: "" };
  return { finishReason: knownReason(reason, hasCalls), raw: raw ?? "" };
}

/** Writers pass on the finish reasons of all providers. Gemini's for a reply with tool calls is the same as without. */
function knownReason(name: string, hasCalls: boolean): FinishReason {
  const conventional = finishReason(name);
  if (conventional !== "other" && conventional !== "stop") return conventional;
  try {
    return finishReasonOfReply(name, hasCalls ? 1 : 0);
  } catch {
    return conventional;
  }
}

/** Returns null if token counts are missing. Some writers do not count cached tokens as input, but art-e does. */
export function usageOf(span: AttributeMap): Usage | null {
  const details = [...langfuseUsage(span), ...mlflowUsage(span)].filter(([, tokens]) => tokens > 0);
  const attributes: AttributeMap = new Map([...span, ...details]);
  const input = countOf(
    attributes,
    "gen_ai.usage.input_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    "gen_ai.usage.prompt_tokens",
    "details.input",
  );
  const output = countOf(
    attributes,
    "gen_ai.usage.output_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
    "gen_ai.usage.completion_tokens",
    "details.output",
  );
  if (input === undefined && output === undefined) return null;
  const cached = countOf(
    attributes,
    "gen_ai.usage.cache_read.input_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.inputTokenDetails.cacheReadTokens",
    "ai.usage.cachedInputTokens",
    "gen_ai.usage.cache_read_input_tokens",
    "details.cache_read",
  );
  const writes = countOf(
    attributes,
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "llm.token_count.prompt_details.cache_write",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.cache_write_input_tokens",
    "details.cache_write",
  );
  const reasoning = countOf(
    attributes,
    "gen_ai.usage.reasoning.output_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.outputTokenDetails.reasoningTokens",
    "ai.usage.reasoningTokens",
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "details.reasoning",
  );
  const inCache = (cached ?? 0) + (writes ?? 0);
  return {
    // More tokens than the input cannot be a part of it.
    inputTokens: (input ?? 0) + (inCache > (input ?? 0) ? inCache : 0),
    outputTokens: output ?? 0,
    cachedInputTokens: cached ?? 0,
    ...cacheWrites(writes ?? 0),
    ...reasoningUsage(reasoning),
  };
}

/** Token counts of a JSON attribute, under names that no writer uses. */
type Details = ReadonlyMap<string, number>;

const countsSchema = z.record(z.string(), z.unknown());

function sumOf(counts: Readonly<Record<string, unknown>>, names: RegExp): number {
  const matches = Object.entries(counts).filter(([name]) => names.test(name));
  return matches.reduce((sum, [, tokens]) => sum + (typeof tokens === "number" ? tokens : 0), 0);
}

/**
 * Reads Langfuse's usage details. Its own categories exclude each other: `input`, `input_cached_tokens`, ... Its
 * integration of OpenAI passes on OpenAI's report, and OpenAI counts cached tokens as input
 * (https://langfuse.com/docs/observability/features/token-and-cost-tracking).
 */
function langfuseUsage(attributes: AttributeMap): Details {
  const usage = jsonOf(attributes, "langfuse.observation.usage_details", countsSchema);
  if (usage === undefined) return new Map();
  const { prompt_tokens_details, input_tokens_details, completion_tokens_details, output_tokens_details } = usage;
  const ofInput = prompt_tokens_details ?? input_tokens_details;
  const ofOutput = completion_tokens_details ?? output_tokens_details;
  const isOpenAi = "prompt_tokens" in usage || ofInput !== undefined;
  const parts = isOpenAi ? { ...Object(ofInput), ...Object(ofOutput) } : usage;
  return new Map([
    ["details.input", sumOf(usage, isOpenAi ? /^(?:prompt|input)_tokens$/ : INPUT_CATEGORY)],
    ["details.output", sumOf(usage, isOpenAi ? /^(?:completion|output)_tokens$/ : /^output(?!_priority)/)],
    ["details.cache_read", sumOf(parts, /^(?:input_)?cache(?:d|_read)(?:_input)?(?:_tokens)?$/)],
    ["details.cache_write", sumOf(parts, /^(?:input_)?cache_(?:creation|write)(?:_input)?(?:_tokens)?$/)],
    ["details.reasoning", sumOf(parts, /^(?:output_)?reasoning(?:_tokens)?$/)],
  ]);
}

const INPUT_CATEGORY = /^input(?!_priority)|^cache_(?:read|creation)_input_tokens$/;

function mlflowUsage(attributes: AttributeMap): Details {
  const usage = jsonOf(attributes, "mlflow.chat.tokenUsage", countsSchema);
  if (usage === undefined) return new Map();
  return new Map([
    ["details.input", sumOf(usage, /^input_tokens$/)],
    ["details.output", sumOf(usage, /^output_tokens$/)],
    ["details.cache_read", sumOf(usage, /^cache_read_input_tokens$/)],
    ["details.cache_write", sumOf(usage, /^cache_creation_input_tokens$/)],
  ]);
}

/** Returns the cost of a model call in US dollars, or null if unknown. */
export function costOf(attributes: AttributeMap): number | null {
  const details = [
    jsonOf(attributes, "langfuse.observation.cost_details", z.looseObject({ total: z.number() }))?.total,
    jsonOf(attributes, "mlflow.llm.cost", z.looseObject({ total_cost: z.number() }))?.total_cost,
  ];
  const cost = numberOf(attributes, "llm.cost.total", "gen_ai.usage.cost", "gen_ai.cost.total_cost", "operation.cost");
  return cost ?? details.find((total) => total !== undefined) ?? null;
}

export function toolCallOf({ attributes, name }: ReadSpan): ReadToolCall {
  return {
    id: callIdOf(attributes),
    name: toolNameOf(attributes) ?? name,
    arguments:
      jsonIn(
        attributes,
        "gen_ai.tool.call.arguments",
        "ai.toolCall.args",
        "ai.toolCall.input",
        "tool_call.function.arguments",
        "input.value",
        // Either the arguments or their JSON Schema.
        "tool.parameters",
        "langfuse.observation.input",
        "traceloop.entity.input",
        "gen_ai.tool.input",
        "tool_arguments",
        "gcp.vertex.agent.tool_call_args",
        "mlflow.spanInputs",
      ) ?? {},
    result: jsonIn(
      attributes,
      "gen_ai.tool.call.result",
      "ai.toolCall.result",
      "ai.toolCall.output",
      "output.value",
      "langfuse.observation.output",
      "traceloop.entity.output",
      "gen_ai.tool.output",
      "tool_response",
      "gcp.vertex.agent.tool_response",
      "mlflow.spanOutputs",
    ),
  };
}

export function callIdOf(attributes: AttributeMap): string {
  return textOf(attributes, "gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id") ?? "";
}

export function toolNameOf(attributes: AttributeMap): string | undefined {
  return textOf(
    attributes,
    "gen_ai.tool.name",
    "ai.toolCall.name",
    "tool.name",
    "tool_call.function.name",
    "traceloop.entity.name",
  );
}

const definitionsSchema = z.array(
  z.looseObject({ name: z.string(), description: z.string().nullish(), parameters: jsonObjectSchema.nullish() }),
);

/** Returns the tools that the model received. Missing descriptions and parameters are empty. */
export function toolsOf(attributes: AttributeMap): readonly ToolSpec[] {
  const conventional = jsonOf(attributes, "gen_ai.tool.definitions", definitionsSchema) ?? [];
  const openInference = itemsOf(attributes, "llm.tools").flatMap((tool) => {
    const name = textOf(tool, "tool.name");
    const definition = definitionOf(jsonIn(tool, "tool.json_schema"));
    const description = textOf(tool, "tool.description") ?? definition?.description;
    return name === undefined && definition === null
      ? []
      : [{ ...definition, name: name ?? definition?.name ?? "", description }];
  });
  const vercel = textsOf(attributes, "ai.prompt.tools").flatMap((text) => definitionOf(jsonOrText(text)) ?? []);
  return [...conventional, ...openInference, ...vercel]
    .filter(({ name }) => name !== "")
    .map(({ name, description, parameters }) => ({
      name,
      description: description ?? "",
      parameters: parameters ?? {},
    }));
}

const definitionSchema = z.looseObject({
  name: z.string(),
  description: z.string().optional().catch(undefined),
  parameters: jsonObjectSchema.optional().catch(undefined),
  input_schema: jsonObjectSchema.optional().catch(undefined),
  inputSchema: jsonObjectSchema.optional().catch(undefined),
});

/** Reads a tool definition in the format of OpenAI, Anthropic or the AI SDK. */
function definitionOf(
  value: JsonValue,
): { name: string; description?: string | undefined; parameters?: JsonObject } | null {
  const inner = isJsonObject(value) && isJsonObject(value.function ?? null) ? value.function : value;
  const parsed = definitionSchema.safeParse(inner);
  if (!parsed.success) return null;
  const { name, description, parameters, input_schema, inputSchema } = parsed.data;
  return { name, description, parameters: parameters ?? input_schema ?? inputSchema ?? {} };
}
