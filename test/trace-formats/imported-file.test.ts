import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { FORMATS } from "../../src/trace-formats/formats.js";
import type { ImportedTrace } from "../../src/trace-formats/imported-trace.js";
import { openImport } from "../../src/trace-formats/open-import.js";
import { contextOf } from "./context.js";
import { inspectJsonLog } from "./inspect-json-log.js";
import { ANSWERED } from "./traces.js";

const folder = mkdtempSync(join(tmpdir(), "art-e-"));
afterAll(() => rmSync(folder, { recursive: true }));

const path = join(folder, "file");

async function read(content: string | Uint8Array): Promise<ImportedTrace[]> {
  writeFileSync(path, content);
  const traces: ImportedTrace[] = [];
  for await (const { trace } of (await openImport(path)).traces()) traces.push(trace);
  return traces;
}

const TRACES = [ANSWERED, { ...ANSWERED, traceId: "trace_2", taskId: 8, task: { ...ANSWERED.task, id: 8 } }];

const ids = (traces: readonly ImportedTrace[]) => traces.map(({ traceId }) => traceId);

/** The documents of each format. */
const FILES = {
  jsonl: [...FORMATS.jsonl.lines(TRACES, contextOf())],
  otlp: [...FORMATS.otlp.lines(TRACES, contextOf())],
  atif: [...FORMATS.atif.lines(TRACES, contextOf())],
  "inspect-json": [inspectJsonLog(TRACES, contextOf())],
} as const;

describe.each(Object.entries(FILES))("a file in %s", (_, documents) => {
  const lines = documents.map((document) => `${document}\n`).join("");
  const pretty = documents.map((document) => JSON.stringify(JSON.parse(document), null, 2)).join("\n");

  it.each([
    ["plain", lines],
    ["if it starts with a byte order mark", `\ufeff${lines}`],
    ["if it has Windows line ends", lines.replaceAll("\n", "\r\n")],
    ["pretty-printed", pretty],
    ["if it is pretty-printed and starts with a byte order mark", `\ufeff${pretty}`],
    ["if it is gzipped", gzipSync(lines)],
    ["if it is gzipped and pretty-printed, and starts with a byte order mark", gzipSync(`\ufeff${pretty}`)],
    ["if it consists of two gzip members", Buffer.concat([gzipSync(lines.slice(0, 500)), gzipSync(lines.slice(500))])],
  ])("yields its traces %s", async (_name, content) => {
    expect(ids(await read(content))).toEqual(ids(TRACES));
  });

  it("causes an error in one line if its gzip data is truncated", async () => {
    await expect(read(gzipSync(lines).subarray(0, -20))).rejects.toThrow(
      /cannot be unpacked with gzip: unexpected end/,
    );
  });
});

it("readDocuments finds the end of a document wherever a chunk ends", async () => {
  // Different numbers of quotes and backslashes around the 64 KiB chunk size.
  for (let shift = 0; shift < 12; shift++) {
    const answer = `${"x".repeat(65_400 - shift)}${'\\"{'.repeat(60)}`;
    const traces = TRACES.map((trace) => ({ ...trace, answer }));
    const [first, second] = await read(traces.map((trace) => JSON.stringify(trace)).join("\n"));
    expect([first?.answer, second?.answer]).toEqual([answer, answer]);
  }
});

it.each([
  ["in UTF-16", Buffer.from(`\ufeff${FILES.jsonl[0]}`, "utf16le"), "is in UTF-16"],
  ["that is a gzipped .eval file", gzipSync("PK\u0003\u0004"), "is an .eval file inside gzip"],
  ["that contains text between its documents", `${FILES.jsonl[0]}\nhello\n${FILES.jsonl[1]}`, "line 2: is not JSON."],
  ["that contains one bracket too many", `${FILES.jsonl[0]}}\n`, "line 1: is not JSON."],
])("openImport rejects a file %s", async (_, content, message) => {
  await expect(read(content)).rejects.toThrow(message);
});

it("parseImported reads NaN and infinities, which Python writes, as null, and leaves strings unchanged", async () => {
  const said = JSON.stringify({ ...ANSWERED, answer: 'NaN "-Infinity" \\', scores: { semanticScore: { value: 7 } } });
  for (const number of ["NaN", "Infinity", "-Infinity"]) {
    const [trace] = await read(said.replace('"value":7', `"value":${number}`));
    expect(trace).toMatchObject({ answer: 'NaN "-Infinity" \\', scores: { semanticScore: { value: null } } });
  }
});
