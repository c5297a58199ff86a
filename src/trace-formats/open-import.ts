import { open } from "node:fs/promises";
import { UserError } from "../platform/errors.js";
import { requireRegularFile } from "../platform/files.js";
import { readAtif } from "./atif-read.js";
import {
  BrokenDocument,
  type ImportSource,
  notUsable,
  parseLine,
  parseTrace,
  readLines,
  readMembers,
} from "./imported-trace.js";
import { readEvalFile, readJsonLog } from "./inspect-read.js";
import { readOtlp } from "./otlp-read.js";

/** Formats that traces are read from, by names of `export-traces` where it writes them. */
const READERS = {
  jsonl: readJsonl,
  otlp: readOtlp,
  inspect: readEvalFile,
  "inspect-json": readJsonLog,
  atif: readAtif,
} as const satisfies Record<string, (path: string) => ImportSource>;

export type ImportFormat = keyof typeof READERS;

/** What the formats of JSON have at their top, one document a line or one in all. */
const KEYS = new Map<string, ImportFormat>([
  ["traceId", "jsonl"],
  ["resourceSpans", "otlp"],
  ["schema_version", "atif"],
  ["eval", "inspect-json"],
]);

/** Tells a file's format by how it begins. Throws a UserError where it cannot be read. */
export async function openImport(path: string): Promise<ImportSource & { readonly format: ImportFormat }> {
  try {
    const format = await detectFormat(path);
    return { format, ...READERS[format](path) };
  } catch (cause) {
    if (!(cause instanceof Error && "syscall" in cause)) throw cause;
    throw new UserError("import_unreadable", `${path} cannot be read: ${cause.message}`, "Check the path.", 2, {
      cause,
    });
  }
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
    for await (const { key } of readMembers(path)) {
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
  for await (const { text, number } of readLines(path)) {
    parseLine(text, `${path}, line ${number}`);
    throw notUsable(path, error.message);
  }
  throw notUsable(path, "there is nothing in it");
}

/** Our own JSON lines, which hold all that a trace has. */
function readJsonl(file: string): ImportSource {
  return {
    async *traces() {
      for await (const { text, number } of readLines(file)) {
        const where = `${file}, line ${number}`;
        yield { where, trace: parseTrace(parseLine(text, where), where) };
      }
    },
    tools: () => [],
    run: () => ({}),
    lacking: () => ({}),
  };
}
