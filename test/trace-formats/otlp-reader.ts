import { z } from "zod";

/** The rules of OTLP's JSON encoding and of the GenAI conventions, written independently of the program. */

const anyValue = z.lazy(
  (): z.ZodType =>
    z.union([
      z.strictObject({ stringValue: z.string().refine((text) => text.isWellFormed() && !text.includes("\0")) }),
      z.strictObject({ boolValue: z.boolean() }),
      z.strictObject({ intValue: z.string().regex(/^-?\d{1,19}$/) }),
      z.strictObject({ doubleValue: z.number() }),
      z.strictObject({ arrayValue: z.strictObject({ values: z.array(anyValue) }) }),
    ]),
);

const nano = z.string().regex(/^\d{1,19}$/);
const attributes = z.array(z.strictObject({ key: z.string().min(1), value: anyValue }));

const span = z.strictObject({
  traceId: z.string().regex(/^(?!0+$)[0-9a-f]{32}$/),
  spanId: z.string().regex(/^(?!0+$)[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: nano,
  endTimeUnixNano: nano,
  attributes,
  events: z.array(z.strictObject({ timeUnixNano: nano, name: z.string(), attributes })).optional(),
  status: z.strictObject({ code: z.int().min(0).max(2), message: z.string() }).optional(),
});

export const tracesDataSchema = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          schemaUrl: z.string(),
          spans: z.array(span).min(1),
        }),
      ),
    }),
  ),
});

export type ReadSpan = z.output<typeof span>;

/** Names that the conventions dropped or never contained. */
const GEN_AI_NAMES = new Set(
  `operation.name provider.name agent.name conversation.id request.model request.temperature request.max_tokens
   response.model response.id response.finish_reasons usage.input_tokens usage.output_tokens
   usage.cache_read.input_tokens usage.cache_creation.input_tokens usage.reasoning.output_tokens system_instructions input.messages output.messages
   tool.definitions tool.name tool.type tool.description tool.call.id tool.call.arguments tool.call.result
   evaluation.name evaluation.score.value evaluation.score.label evaluation.explanation`
    .split(/\s+/)
    .map((name) => `gen_ai.${name}`),
);

const part = z.union([
  z.looseObject({ type: z.literal("reasoning"), content: z.string() }),
  z.looseObject({ type: z.literal("text"), content: z.string() }),
  z.looseObject({ type: z.literal("tool_call"), id: z.string(), name: z.string() }),
  z.looseObject({ type: z.literal("tool_call_response"), id: z.string(), response: z.unknown() }),
]);

const message = z.strictObject({ role: z.enum(["system", "user", "assistant", "tool"]), parts: z.array(part) });

const MESSAGES: Readonly<Record<string, z.ZodType>> = {
  "gen_ai.system_instructions": z.array(part),
  "gen_ai.input.messages": z.array(message),
  "gen_ai.output.messages": z.array(message.extend({ finish_reason: z.string().refine((r) => r !== "tool_calls") })),
  "gen_ai.tool.definitions": z.array(z.looseObject({ type: z.literal("function"), name: z.string() })),
};

const KINDS: Readonly<Record<string, number>> = { invoke_agent: 1, chat: 3, execute_tool: 1 };
const OPENINFERENCE: Readonly<Record<string, string>> = { invoke_agent: "AGENT", chat: "LLM", execute_tool: "TOOL" };

export function valuesOf(of: { readonly attributes: ReadSpan["attributes"] }): Map<string, unknown> {
  return new Map(
    of.attributes.map(({ key, value }) => [key, Object.values(value as Record<string, unknown>)[0]] as const),
  );
}

/** Throws for a file that breaks a rule. */
export function readOtlp(text: string): void {
  const problems = text.trimEnd().split("\n").flatMap(problemsOf);
  if (problems.length > 0) throw new Error(problems.join("; "));
}

/** Returns the faults of a file's line, or an empty list. */
export function problemsOf(line: string): string[] {
  const data = tracesDataSchema.safeParse(JSON.parse(line));
  if (!data.success) return data.error.issues.map(({ path, message: said }) => `${path.join(".")}: ${said}`);
  const spans = spansOf(data.data);
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return [
    ...(ids.size === spans.length ? [] : ["two spans have one id"]),
    ...(spans.filter(({ parentSpanId }) => parentSpanId === undefined).length === 1 ? [] : ["not exactly one root"]),
    ...spans.flatMap((one) => [...problemsOfSpan(one, ids)].map((problem) => `${one.name}: ${problem}`)),
  ];
}

export function spansOf(data: z.output<typeof tracesDataSchema>): ReadSpan[] {
  return data.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

function* problemsOfSpan(one: ReadSpan, ids: ReadonlySet<string>): Generator<string> {
  const values = valuesOf(one);
  const operation = String(values.get("gen_ai.operation.name"));
  const subject = { invoke_agent: "gen_ai.agent.name", chat: "gen_ai.request.model", execute_tool: "gen_ai.tool.name" };
  if (!Object.hasOwn(subject, operation)) return yield `unknown operation ${operation}`;
  const name = `${operation} ${values.get(subject[operation as keyof typeof subject])}`;
  if (one.name !== name) yield `should be named ${name}`;
  if (one.kind !== KINDS[operation]) yield `is of kind ${one.kind}`;
  if (values.get("openinference.span.kind") !== OPENINFERENCE[operation]) yield "has another OpenInference kind";
  if (values.size !== one.attributes.length) yield "has an attribute twice";
  if (operation === "chat" && !values.has("gen_ai.provider.name")) yield "has no provider";
  if (operation !== "chat" && values.has("gen_ai.usage.input_tokens")) yield "has a usage that its calls have";
  if (operation === "execute_tool" && !values.has("gen_ai.tool.call.id")) yield "has no call";
  if (one.parentSpanId !== undefined && !ids.has(one.parentSpanId)) yield "has a parent elsewhere";
  if (BigInt(one.endTimeUnixNano) < BigInt(one.startTimeUnixNano)) yield "ends before it starts";
  if ((one.status?.code === 2) !== values.has("error.type")) yield "has an error without its status, or the reverse";
  const [input, cached] = ["input_tokens", "cache_read.input_tokens"].map((key) => values.get(`gen_ai.usage.${key}`));
  if (Number(cached ?? 0) > Number(input ?? 0)) yield "does not count cached tokens as input";
  for (const [key, value] of values) yield* problemsOfAttribute(key, value);
  for (const event of one.events ?? []) {
    const of = valuesOf(event);
    if (event.name !== "gen_ai.evaluation.result" || !of.has("gen_ai.evaluation.name")) yield `event ${event.name}`;
    if (!of.has("gen_ai.evaluation.score.value") && !of.has("gen_ai.evaluation.score.label")) yield "empty score";
  }
}

function* problemsOfAttribute(key: string, value: unknown): Generator<string> {
  if (key.startsWith("gen_ai.") && !GEN_AI_NAMES.has(key)) yield `${key} is not an attribute of the conventions`;
  const schema = MESSAGES[key];
  if (schema === undefined) return;
  const parsed = schema.safeParse(JSON.parse(String(value)));
  if (!parsed.success) yield `${key}: ${parsed.error.issues[0]?.message}`;
}
