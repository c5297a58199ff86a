import { strFromU8, unzipSync } from "fflate";
import type { ExportContext, ExportedTrace } from "../../src/trace-formats/export-traces/exported-trace.js";
import { FORMATS } from "../../src/trace-formats/formats.js";

/** Writes traces as an `.eval` file and unpacks it into one JSON document, like `inspect log convert --to json`. */
export function inspectJsonLog(traces: Iterable<ExportedTrace>, context: ExportContext): string {
  const files = unzipSync(Buffer.concat([...FORMATS.inspect.bytes(traces, context)]));
  const text = (name: string) => strFromU8(files[name] ?? new Uint8Array());
  const summaries = JSON.parse(text("summaries.json")) as { id: string | number; epoch: number }[];
  const samples = summaries.map(({ id, epoch }) => text(`samples/${id}_epoch_${epoch}.json`));
  return `${text("header.json").slice(0, -1)},"samples":[${samples.join(",\n")}],"reductions":${text("reductions.json")}}\n`;
}
