import { open } from "node:fs/promises";
import { UserError } from "../platform/errors.js";
import { requireRegularFile } from "../platform/files.js";
import { parseJsonOrNull } from "../platform/json.js";
import { readAtif } from "./atif-read.js";
import {
  BrokenDocument,
  type FileLine,
  type ImportSource,
  LineTooLong,
  notUsable,
  parseLine,
  parseTrace,
  readChunks,
  readLines,
  readMembers,
} from "./imported-trace.js";
import { readEvalFile, readJsonLog } from "./inspect-read.js";
import { readOtlp } from "./otlp-read.js";

/** Formats that traces are read from, by names of `export-traces` where it writes them. */
const READERS = {
  jsonl: (path: string) => readJsonl(path, linesOf(path)),
  otlp: (path: string) => readOtlp(path, linesOf(path)),
  inspect: readEvalFile,
  "inspect-json": (path: string) => readJsonLog(path, readChunks(path)),
  atif: (path: string) => readAtif(path, trajectoriesOf(path)),
} as const satisfies Record<string, (path: string) => ImportSource>;

export type ImportFormat = keyof typeof READERS;

/** What the formats of JSON have at their top, one document a line or one in all. */
const KEYS = new Map<string, ImportFormat>([
  ["traceId", "jsonl"],
  ["resourceSpans", "otlp"],
  ["schema_version", "atif"],
  ["eval", "inspect-json"],
]);

/** Characters of a line: some hundred times a usual trace. */
const MAX_LINE = 128_000_000;

/** Tells a file's format by how it begins. Throws a UserError where it cannot be read. */
export async function openImport(path: string): Promise<ImportSource & { readonly format: ImportFormat }> {
  const format = await orUnreadable(path, detectFormat(path));
  return { format, ...READERS[format](path) };
}

const ZIP_MAGIC = Buffer.from("PK\x03\x04");

async function detectFormat(path: string): Promise<ImportFormat> {
  requireRegularFile(path);
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    if (buffer.equals(ZIP_MAGIC)) return "inspect";
  } finally {
    await file.close();
  }
  try {
    for await (const { key } of readMembers(readChunks(path), { itemsOf: "samples", maxLength: MAX_LINE })) {
      const format = KEYS.get(key);
      if (format !== undefined) return format;
    }
  } catch (error) {
    if (!(error instanceof BrokenDocument)) throw error;
    return refuseFirstLine(path, error);
  }
  throw notUsable(path, "is neither traces nor an Inspect log, OTLP's TracesData or an ATIF trajectory");
}

/** Says what is wrong with it as a line, which is what most people give. */
async function refuseFirstLine(path: string, error: BrokenDocument): Promise<never> {
  for await (const { text, number } of linesOf(path)) {
    parseLine(text, `${path}, line ${number}`);
    throw notUsable(path, error.message);
  }
  throw notUsable(path, "there is nothing in it");
}

async function* linesOf(path: string): AsyncGenerator<FileLine> {
  try {
    yield* readLines(path, MAX_LINE);
  } catch (error) {
    throw error instanceof LineTooLong ? notUsable(path, error.message) : error;
  }
}

/** One a line; a single one over all lines where the first line is none. */
async function* trajectoriesOf(path: string): AsyncGenerator<FileLine> {
  let isFirst = true;
  for await (const line of linesOf(path)) {
    if (isFirst && parseJsonOrNull(line.text) === null) {
      yield await wholeFile(path);
      return;
    }
    isFirst = false;
    yield line;
  }
}

async function wholeFile(path: string): Promise<FileLine> {
  const chunks: string[] = [];
  let length = 0;
  for await (const chunk of readChunks(path)) {
    length += chunk.length;
    if (length > MAX_LINE) throw notUsable(path, "is too long for one trajectory");
    chunks.push(chunk);
  }
  return { text: chunks.join(""), number: 1 };
}

async function orUnreadable<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new UserError("import_unreadable", `${path} cannot be read: ${error.message}`, "Check the path.", 2, {
      cause: error,
    });
  }
}

/** Our own JSON lines, which hold all that a trace has. */
function readJsonl(file: string, lines: AsyncIterable<FileLine>): ImportSource {
  return {
    async *traces() {
      for await (const { text, number } of lines) {
        const where = `${file}, line ${number}`;
        yield { where, trace: parseTrace(parseLine(text, where), where) };
      }
    },
    tools: () => [],
    run: () => ({}),
    lacking: () => ({}),
  };
}
