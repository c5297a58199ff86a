import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json.js";
import { NamedCounts } from "../../statistics/named-counts.js";
import { DescribedTools } from "../described-tools.js";
import { type ImportSource, NO_GOLD } from "../imported-trace.js";
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
  const tools = new DescribedTools();
  const lacking = new NamedCounts();
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
        for (const span of models)
          tools.add(jsonOf(span.attributes, "gen_ai.tool.definitions", definitionsSchema) ?? []);
        if (!("task" in trace)) lacking.add(NO_GOLD);
        if (trace.messages.length === 0) lacking.add("no messages");
        if (trace.turns.length === 0) lacking.add("no model calls");
        else if (trace.turns.every(({ usage }) => usage === null)) lacking.add("no tokens");
        yield { where, trace };
      }
    },
    tools: () => tools.list(),
    run: () => ({}),
    lacking: () => lacking.counts,
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
