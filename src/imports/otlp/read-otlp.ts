import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json.js";
import type { ToolSpec } from "../../domain/models/model.js";
import type { ImportSource } from "../imported-trace.js";
import { checkValue, notUsable, parseLine } from "../parse-line.js";
import type { FileLine } from "../read-lines.js";
import { jsonOf, textOf } from "./span-attributes.js";
import { toTrace } from "./to-trace.js";
import { type ReadSpan, spansOf, tracesDataSchema } from "./traces-data-schema.js";

/** The spans of a trace may stand anywhere in a collector's file, so all of them are held in memory. */
const MAX_CHARS = 512_000_000;

const definitionsSchema = z.array(
  z.looseObject({ name: z.string(), description: z.string().nullish(), parameters: jsonObjectSchema.nullish() }),
);

/** OTLP's TracesData, one a line, by the GenAI conventions or OpenInference's kinds of spans. */
export function readOtlp(file: string, lines: AsyncIterable<FileLine>): ImportSource {
  const tools = new Map<string, ToolSpec>();
  const lacking: Record<string, number> = {};
  const lacks = (what: string) => {
    lacking[what] = (lacking[what] ?? 0) + 1;
  };
  return {
    async *traces() {
      for (const [traceId, spans] of await spansByTrace(file, lines)) {
        const where = `${file}, trace ${traceId}`;
        const root = spans.find((span) => !span.parentSpanId) ?? earliest(spans);
        const models = spans.filter((span) => isOf(span, MODEL_CALLS, "LLM")).sort(byStart);
        const trace = toTrace({
          root,
          models,
          tools: spans.filter((span) => isOf(span, TOOL_CALLS, "TOOL")).sort(byStart),
        });
        for (const span of models) collectTools(span, tools);
        if (!("task" in trace)) lacks("no gold answer, so they are kept as chats");
        if (trace.messages.length === 0) lacks("no messages");
        if (trace.turns.length === 0) lacks("no model calls");
        else if (trace.turns.every(({ usage }) => usage === null)) lacks("no tokens");
        yield { where, trace };
      }
    },
    tools: () => [...tools.values()],
    lacking: () => lacking,
  };
}

async function spansByTrace(file: string, lines: AsyncIterable<FileLine>): Promise<Map<string, ReadSpan[]>> {
  const traces = new Map<string, ReadSpan[]>();
  let chars = 0;
  for await (const { text, number } of lines) {
    const where = `${file}, line ${number}`;
    chars += text.length;
    if (chars > MAX_CHARS) throw notUsable(where, `more than ${MAX_CHARS / 1e6} MB of spans: split the file by trace`);
    for (const span of spansOf(checkValue(tracesDataSchema, parseLine(text, where), where))) {
      const spans = traces.get(span.traceId);
      if (spans === undefined) traces.set(span.traceId, [span]);
      else spans.push(span);
    }
  }
  return traces;
}

const MODEL_CALLS = new Set(["chat", "generate_content", "text_completion"]);
const TOOL_CALLS = new Set(["execute_tool"]);

function isOf({ attributes }: ReadSpan, operations: ReadonlySet<string>, kind: string): boolean {
  const operation = textOf(attributes, "gen_ai.operation.name");
  return operation === undefined ? textOf(attributes, "openinference.span.kind") === kind : operations.has(operation);
}

function byStart(a: ReadSpan, b: ReadSpan): number {
  return a.startTimeUnixNano < b.startTimeUnixNano ? -1 : Number(a.startTimeUnixNano > b.startTimeUnixNano);
}

function earliest(spans: readonly ReadSpan[]): ReadSpan {
  return spans.reduce((a, b) => (byStart(b, a) < 0 ? b : a));
}

function collectTools({ attributes }: ReadSpan, tools: Map<string, ToolSpec>): void {
  for (const { name, description, parameters } of jsonOf(attributes, "gen_ai.tool.definitions", definitionsSchema) ??
    []) {
    if (!tools.has(name)) tools.set(name, { name, description: description ?? "", parameters: parameters ?? {} });
  }
}
