import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { FORMATS } from "../../src/trace-formats/formats.js";
import { type ImportFormat, openImport } from "../../src/trace-formats/open-import.js";
import type { ExportedTrace } from "../../src/trace-formats/trace-format.js";
import { contextOf } from "./context.js";
import { hostileConversation } from "./hostile-conversations.js";
import { ALL_KINDS, TOOLS } from "./kinds-of-traces.js";

/** What a format holds of a trace comes back: exported, imported and exported again it is the same bytes. */

const folder = mkdtempSync(join(tmpdir(), "art-e-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** OTLP holds less of what is no conversation; its own tests import what a run leaves. */
const WHOLE: readonly ImportFormat[] = ["jsonl", "inspect", "inspect-json", "atif"];

function exported(name: ImportFormat, traces: readonly ExportedTrace[]): Buffer {
  const format = FORMATS[name];
  const context = contextOf({ toolsOf: () => TOOLS });
  if ("bytes" in format) return Buffer.concat([...format.bytes(traces, context)]);
  if ("pieces" in format) return Buffer.from([...format.pieces(traces, context)].join(""));
  return Buffer.from([...format.lines(traces, context)].map((line) => `${line}\n`).join(""));
}

async function imported(bytes: Buffer): Promise<{ format: string; traces: ExportedTrace[]; lacking: object }> {
  const path = join(folder, "file");
  writeFileSync(path, bytes);
  const source = await openImport(path);
  const traces: ExportedTrace[] = [];
  for await (const { trace } of source.traces()) traces.push(trace);
  return { format: source.format, traces, lacking: source.lacking() };
}

describe.each(WHOLE)("traces as %s", (format) => {
  it.each(ALL_KINDS.map((trace) => [trace.traceId, trace] as const))(
    "of the kind %s are the same again",
    async (_, trace) => {
      const bytes = exported(format, [trace]);
      const read = await imported(bytes);
      expect(read.format).toBe(format);
      expect(exported(format, read.traces).toString()).toBe(bytes.toString());
    },
  );
});

const TRACES = process.env.ART_E_LONG ? 10_000 : 200;
const SEED = Math.floor(Math.random() * 2 ** 31);

describe.each(WHOLE)("hostile traces as %s", (format) => {
  it("are the same again", async () => {
    const traces = fc
      .sample(hostileConversation, { numRuns: TRACES, seed: SEED })
      // zod leaves out keys of this name.
      .filter((trace) => !JSON.stringify(trace).includes('"__proto__":'))
      .map((trace, i) => ({ ...trace, taskId: i, traceId: `trace_${i}` }));
    expect(traces.length).toBeGreaterThan(TRACES / 2);
    const bytes = exported(format, traces);
    const again = exported(format, (await imported(bytes)).traces);
    if (again.equals(bytes)) return;
    for (const trace of traces) {
      const one = exported(format, [trace]);
      expect(exported(format, (await imported(one)).traces).toString(), `seed ${SEED}`).toBe(one.toString());
    }
    expect.unreachable("each trace is the same, but all of them are not");
  });
});
