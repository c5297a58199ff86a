import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { crc32, deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { UserError } from "../../src/platform/errors.js";
import { FORMATS } from "../../src/trace-formats/formats.js";
import {
  directoryEnd,
  directoryEntry,
  dosTime,
  localHeader,
  ZipWriter,
} from "../../src/trace-formats/inspect/zip-writer.js";
import { openImport } from "../../src/trace-formats/open-import.js";
import { contextOf } from "./context.js";
import { inspectJsonLog } from "./inspect-json-log.js";
import { ALL_KINDS } from "./kinds-of-traces.js";
import { ANSWERED } from "./traces.js";

/** Broken or malicious files must lead to one clear line and use little memory. */

const folder = mkdtempSync(join(tmpdir(), "art-e-"));
afterAll(() => rmSync(folder, { recursive: true }));

const path = join(folder, "file");

/** Returns the number of traces, or the message for a refused file. Any other error fails the test. */
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Memory of this test's thread, because other threads of the process run tests too. */
function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function read(bytes: string | Uint8Array): Promise<number | string> {
  writeFileSync(path, bytes);
  let traces = 0;
  try {
    for await (const { trace } of (await openImport(path)).traces()) traces += trace.traceId === "" ? 0 : 1;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    expect(error.message).not.toContain("\n");
    expect(error.message.length).toBeLessThan(400);
    return error.message.replace(path, "FILE");
  }
  return traces;
}

const LOG = Buffer.concat([...FORMATS.inspect.bytes(ALL_KINDS, contextOf())]);
const JSON_LOG = inspectJsonLog(ALL_KINDS, contextOf());
const ATIF = [...FORMATS.atif.lines(ALL_KINDS, contextOf())].join("\n");

/** Some kinds of traces belong to the same task. */
const DISTINCT = new Set(
  ALL_KINDS.map((trace) => ("taskId" in trace ? `${trace.taskId} ${trace.epoch}` : trace.traceId)),
).size;

/** Creates an `.eval` file with these entries. */
function evalFile(entries: Readonly<Record<string, string>>): Buffer {
  const zip = new ZipWriter("2026-01-02T03:04:05.000Z");
  for (const [name, text] of Object.entries(entries)) zip.addText(name, text);
  zip.end();
  return Buffer.concat(zip.take());
}

const HEADER = JSON.stringify({
  version: 2,
  eval: { created: "2026-01-02T03:04:05Z", task: "t", model: "m/n", dataset: {}, config: {} },
});

/** Creates an entry with a compression method that art-e's writer never uses. */
function zipOfEntry(text: string, data: Buffer, method: number, size = text.length): Buffer {
  const entry = { name: Buffer.from("header.json"), crc: crc32(text), size, deflatedSize: data.length, offset: 0 };
  const [head, line] = [localHeader, directoryEntry].map((record) =>
    record({ ...entry, time: dosTime(new Date("2026-01-02")) }),
  ) as [Buffer, Buffer];
  head.writeUInt16LE(method, 8);
  line.writeUInt16LE(method, 10);
  return Buffer.concat([head, data, line, directoryEnd(1, head.length + data.length, line.length)]);
}

function withWrongChecksum(log: Buffer): Buffer {
  const copy = Buffer.from(log);
  const entry = copy.lastIndexOf("header.json") - 46;
  copy.writeUInt32LE(~copy.readUInt32LE(entry + 16) >>> 0, entry + 16);
  return copy;
}

describe("an .eval file", () => {
  it("yields all samples", async () => expect(await read(LOG)).toBe(DISTINCT));

  it.each([
    ["if it is truncated at its end", LOG.subarray(0, -30), "FILE: cannot be read as a zip: "],
    ["if it is truncated in the middle", LOG.subarray(0, LOG.length / 2), "FILE: cannot be read as a zip: "],
    ["if an entry does not have its checksum", withWrongChecksum(LOG), "its checksum (CRC-32) is wrong"],
    ["if it contains no log", evalFile({ "a.txt": "x" }), "FILE: is a zip without header.json or _journal/start.json"],
    [
      "if its header has another version",
      evalFile({ "header.json": '{"version":3}' }),
      "FILE, header.json: version: only",
    ],
    ["if its header is not JSON", evalFile({ "header.json": "{" }), "FILE, header.json: is not JSON."],
    [
      "if its header is nested too deeply",
      evalFile({ "header.json": "[".repeat(9_999) }),
      "FILE, header.json: is nested more",
    ],
    [
      "if a sample is truncated",
      evalFile({ "header.json": HEADER, "samples/1.json": '{"id":1,"epoch":0}' }),
      "FILE, samples/1.json: epoch: ",
    ],
    [
      "if it states a wrong size",
      zipOfEntry("{}", deflateRawSync("x".repeat(5_000)), 8),
      "FILE: cannot be read as a zip: ",
    ],
    [
      "if it claims to have 3 GB",
      zipOfEntry("{}", deflateRawSync("{}"), 8, 3e9),
      "FILE: cannot be read as a zip: header.json is larger",
    ],
    [
      "if its compression is unknown",
      zipOfEntry("{}", Buffer.from("{}"), 14),
      "FILE: cannot be read as a zip: header.json: unsup",
    ],
    [
      "if its Zstandard data is broken",
      zipOfEntry("{}", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff]), 93),
      "FILE: cannot be read as a zip: ",
    ],
  ])("causes an error %s", async (_, bytes, message) => {
    expect(await read(bytes)).toContain(message);
  });

  it("yields all samples if it is compressed with Zstandard, like Inspect's", async () => {
    const text = JSON.stringify({ version: 7 });
    expect(await read(zipOfEntry(text, zstandard(text), 93))).toContain("FILE, header.json: version: only");
  });

  it.each([
    ["Deflate", zipOfEntry("{}", deflateRawSync(Buffer.alloc(300_000_000)), 8, 1_000)],
    ["Zstandard", zipOfEntry("{}", zstandardBomb(300_000_000), 93, 1_000)],
  ])(
    "causes an error before it is unpacked if its %s data expands to far more than the stated size",
    async (_, bomb) => {
      const before = process.memoryUsage().rss;
      expect(await read(bomb)).toContain("FILE: cannot be read as a zip: header.json: ");
      expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
    },
  );
});

/** A Zstandard frame with one uncompressed block (RFC 8878, section 3.1.1: https://www.rfc-editor.org/rfc/rfc8878). */
function zstandard(text: string): Buffer {
  const head = [0x28, 0xb5, 0x2f, 0xfd, 0x20, text.length];
  return Buffer.from([...head, (text.length << 3) | 1, 0, 0, ...Buffer.from(text)]);
}

/** A Zstandard frame whose blocks each repeat one byte for 128 KB. */
function zstandardBomb(size: number): Buffer {
  const block = [((1 << 17) << 3) | 2, ((1 << 17) << 3) >> 8, ((1 << 17) << 3) >> 16, 0x20].map((byte) => byte & 0xff);
  const blocks = Array.from({ length: size >> 17 }, () => block).flat();
  return Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, ...blocks, ...block.with(0, (block[0] ?? 0) | 1)]);
}

describe("damage to a file", () => {
  const damaged = fc.record({ at: fc.nat(), to: fc.nat(255), isCut: fc.boolean() });

  it.each([
    ["an .eval file", LOG],
    ["a .json log", Buffer.from(JSON_LOG)],
    ["ATIF trajectories", Buffer.from(ATIF)],
  ])("harms nothing in %s, or causes an error of one line", async (_, whole) => {
    const expected = await read(whole);
    await fc.assert(
      fc.asyncProperty(damaged, async ({ at, to, isCut }) => {
        const bytes = Buffer.from(isCut ? whole.subarray(0, at % whole.length) : whole);
        if (!isCut) bytes[at % whole.length] = to;
        const found = await read(bytes);
        expect(typeof found === "string" || found <= Number(expected)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});

describe("a .json log", () => {
  it("yields all samples", async () => expect(await read(JSON_LOG)).toBe(ALL_KINDS.length));

  it.each([
    ["if its samples come first", '{"samples":[{}],"eval":{}}', "FILE: has its samples before its header."],
    ["if it ends early", JSON_LOG.slice(0, -40), "FILE: ends in the middle of its JSON."],
    ["if one of its samples is invalid", `{"version":2,"eval":{},"samples":[1]}`, "FILE: eval.created: "],
    ["if it is a list", "[1]", "FILE: is a JSON list: write one object per line (jq -c '.[]')."],
    ["if it is a plain string", '"x"', "FILE: is not a JSON object."],
    ["if its name is invalid", '{"a\\x": 1}', "FILE, line 1: is not JSON."],
  ])("causes an error %s", async (_, text, message) => expect(await read(text)).toContain(message));

  it.each([
    ["lists that are null", { events: null, messages: null }, { turns: [], messages: [] }],
    ["a stop reason with any name", { events: [modelEvent("toString")] }, { turns: [{ finishReason: "other" }] }],
    ["an invalid start time", { started_at: "yesterday" }, { startedAt: "2026-01-02T03:04:05.000Z" }],
  ])("yields all samples if a sample contains %s", async (_, changes, expected) => {
    const sample = { id: 1, epoch: 1, input: "q", target: "a", ...changes };
    writeFileSync(path, `${HEADER.slice(0, -1)},"samples":[${JSON.stringify(sample)}]}`);
    for await (const { trace } of (await openImport(path)).traces()) expect(trace).toMatchObject(expected);
  });

  it("yields a large file sample by sample", async () => {
    const sample = JSON.stringify({ id: 1, epoch: 1, input: "q", target: "a", store: { x: "x".repeat(1_000_000) } });
    const head = `${HEADER.slice(0, -1)},"samples":[`;
    writeFileSync(path, head);
    for (let i = 0; i < 60; i++) appendFileSync(path, i === 0 ? sample : `,${sample}`);
    appendFileSync(path, "]}");
    const before = heldBytes();
    let traces = 0;
    for await (const _ of (await openImport(path)).traces()) {
      if (++traces % 15 === 0) expect(heldBytes() - before).toBeLessThan(30_000_000);
    }
    expect(traces).toBe(60);
  });
});

describe("an ATIF file", () => {
  it.each([
    [
      "if it has another version",
      '{"schema_version":"ATIF-v9"}',
      "FILE, line 1: schema_version: only ATIF-v1.x is supported.",
    ],
    ["if it has no steps", trajectory({ steps: [] }), "FILE, line 1: steps: has no steps."],
    [
      "if arguments are a string",
      trajectory({ steps: [callStep("{}")] }),
      "FILE, line 1: steps.0.tool_calls.0.arguments: ",
    ],
    ["if it ends early", ATIF.slice(0, -20), `FILE, line ${ALL_KINDS.length}: is not JSON.`],
  ])("causes an error %s", async (_, text, message) => expect(await read(text)).toContain(message));

  it("yields a trace even if it spans many lines", async () => {
    expect(await read(JSON.stringify(JSON.parse(trajectory({ steps: [callStep({})] })), null, 2))).toBe(1);
  });

  it("causes an error if art-e's own fields are invalid, and otherwise counts as another program's file", async () => {
    const [line = ""] = FORMATS.atif.lines([ANSWERED], contextOf());
    const changed = (changes: object) => {
      const value = JSON.parse(line);
      return JSON.stringify({ ...value, extra: { ...value.extra, ...changes } });
    };
    expect(await read(changed({ ending: "won" }))).toContain("FILE, line 1, extra: ending: ");
    expect(await read(changed({ toolCalls: "none" }))).toBe(1);
  });
});

function modelEvent(stop_reason: string): object {
  return { event: "model", output: { choices: [{ stop_reason }] } };
}

function callStep(given: unknown): object {
  return { source: "agent", message: "", tool_calls: [{ tool_call_id: "1", function_name: "f", arguments: given }] };
}

function trajectory(changes: object): string {
  return JSON.stringify({ schema_version: "ATIF-v1.7", agent: { name: "a", version: "1" }, ...changes });
}

describe("an Inspect log from another program", () => {
  const log = (more: object) => `${HEADER.slice(0, -1)},${JSON.stringify(more).slice(1)}`;
  const sample = { id: 1, epoch: 1, input: "q", target: "", messages: [], output: { model: "m", choices: [] } };

  it("yields nothing without samples, and causes an error if its samples list is invalid", async () => {
    expect(await read(log({ samples: null }))).toBe(0);
    expect(await read(log({ samples: {} }))).toBe("FILE: samples is not a list.");
  });

  it("ends a sample at a limit with any name", async () => {
    for (const type of ["constructor", "__proto__", "toString", "message"]) {
      expect(await read(log({ samples: [{ ...sample, limit: { type, limit: 1 } }] }))).toBe(1);
    }
  });

  it("loses times that are invalid", async () => {
    const agent = { name: "a", version: "1", model_name: "m" };
    const steps = ["yesterday", "5", "2026-01-02T03:04:05+01:00"].map((timestamp, i) => ({
      step_id: i + 1,
      timestamp,
      source: "agent",
      message: "x",
    }));
    writeFileSync(path, JSON.stringify({ schema_version: "ATIF-v1.4", session_id: "s", agent, steps }));
    for await (const { trace } of (await openImport(path)).traces()) {
      expect(trace.startedAt).toBe("2026-01-02T02:04:05.000Z");
      expect(trace.turns.map(({ startedAt }) => startedAt)).toEqual(Array(3).fill("2026-01-02T02:04:05.000Z"));
    }
  });
});
