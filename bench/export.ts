import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { ExportedTrace } from "../src/trace-formats/export-traces/exported-trace.js";
import { FORMATS, type Format } from "../src/trace-formats/formats.js";
import { seeded } from "../test/random.js";
import { contextOf } from "../test/trace-formats/context.js";
import { BY_TOOL, TOOLS } from "../test/trace-formats/kinds-of-traces.js";

/** Speed and memory of each export format, over traces made from a seed. */

export interface ExportLine {
  readonly format: Format;
  readonly traces: number;
  readonly tracesPerSecond: number;
  readonly megabytesPerSecond: number;
  /** Growth of live memory: after a tenth of the traces, and its maximum over all tenths. */
  readonly megabytesHeldAtFirst: number;
  readonly megabytesHeldAtMost: number;
}

const TRACE_BYTES = 30_000;
const MEGABYTE = 1 << 20;

export function benchExport(traces: number): ExportLine[] {
  return (Object.keys(FORMATS) as Format[]).map((format) => measure(format, traces));
}

function measure(format: Format, count: number): ExportLine {
  const held: number[] = [];
  const before = liveMegabytes();
  let paused = 0;
  const traces = syntheticTraces(count, (i) => {
    if (i % Math.ceil(count / 10) !== 0) return;
    const began = performance.now();
    held.push(liveMegabytes() - before);
    paused += performance.now() - began;
  });
  const began = performance.now();
  let bytes = 0;
  for (const piece of pieces(format, traces)) bytes += piece.length;
  const seconds = (performance.now() - began - paused) / 1000;
  return {
    format,
    traces: count,
    tracesPerSecond: count / seconds,
    megabytesPerSecond: bytes / MEGABYTE / seconds,
    megabytesHeldAtFirst: held[1] ?? 0,
    megabytesHeldAtMost: Math.max(...held),
  };
}

function pieces(name: Format, traces: Iterable<ExportedTrace>): Iterable<string | Uint8Array> {
  const format = FORMATS[name];
  const context = contextOf({
    options: { dialect: "openai", reward: "semanticScore", content: true },
    toolsOf: () => TOOLS,
  });
  return "lines" in format ? format.lines(traces, context) : format.bytes(traces, context);
}

/** The traces, parsed from their text as from the database. */
function syntheticTraces(count: number, onTrace: (i: number) => void): Iterable<ExportedTrace> {
  const random = seeded(1);
  const words = Array.from({ length: 5_000 }, () => Math.floor(random() * 36 ** 6).toString(36));
  return {
    *[Symbol.iterator]() {
      for (let i = 0; i < count; i++) {
        onTrace(i);
        yield JSON.parse(traceText(i, words)) as ExportedTrace;
      }
    },
  };
}

function traceText(i: number, words: readonly string[]): string {
  const results = BY_TOOL.messages.filter(({ role }) => role === "tool").length;
  const messages = BY_TOOL.messages.map((message, k) => {
    if (message.role !== "tool") return message;
    const start = (i * 7 + k * 101) % 2_000;
    return { ...message, content: words.slice(start, start + TRACE_BYTES / results / 7).join(" ") };
  });
  return JSON.stringify({ ...BY_TOOL, traceId: `trace_${i}`, taskId: i, messages });
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function liveMegabytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / MEGABYTE;
}
