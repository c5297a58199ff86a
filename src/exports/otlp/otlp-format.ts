import type { Span, SpanSource, TracesData } from "../../otlp/traces-data.js";
import { type ExportContext, type ExportedTrace, perTrace } from "../trace-format.js";
import { agentSpan } from "./agent-span.js";
import { text, toKeyValues } from "./attributes.js";
import { modelSpans } from "./model-spans.js";
import type { OtlpOptions } from "./otlp-options.js";
import { toolSpans } from "./tool-spans.js";

/** The conventions that the attributes follow. */
const SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev";

const NAME = "art-e";

/** The spans of a trace by the GenAI conventions: its agent's, then model and tool calls by their start. */
export function otlpSpans(trace: ExportedTrace, options: OtlpOptions): Span[] {
  const below = [...modelSpans(trace, options), ...toolSpans(trace, options)];
  return [agentSpan(trace, options), ...below.sort(byStart)];
}

/** This program, as spans name where they come from. */
export function spanSource(version: string): SpanSource {
  const attributes = toKeyValues({
    "service.name": text(NAME),
    "service.version": text(version),
    "openinference.project.name": text(NAME),
  });
  return { resource: { attributes }, scope: { name: NAME, version }, schemaUrl: SCHEMA_URL };
}

/** A trace as OTLP's TracesData on one line, as a collector's otlpjsonfile receiver reads it. */
export const otlpFormat = perTrace((trace, context) => [otlpLine(trace, context)]);

function otlpLine(trace: ExportedTrace, { programVersion, options, toolsOf }: ExportContext): string {
  const { resource, scope, schemaUrl } = spanSource(programVersion);
  const spans = otlpSpans(trace, { content: options.content, tools: toolsOf(trace) });
  const scopeSpans = [{ scope, schemaUrl, spans }];
  const data: TracesData = { resourceSpans: [{ resource, scopeSpans }] };
  return JSON.stringify(data);
}

function byStart(a: Span, b: Span): number {
  const difference = BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano);
  return difference < 0n ? -1 : Number(difference > 0n);
}
