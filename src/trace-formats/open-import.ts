// Detects the format of an import file and opens its reader. The table of import formats.
import { reasonOf, UserError } from "../platform/errors.js";
import { requireRegularFile } from "../platform/files.js";
import { readAtif } from "./atif/atif-read.js";
import { type ImportSource, notUsable, parseImported, parseTrace } from "./imported-trace.js";
import { readEvalFile, readJsonLog } from "./inspect/inspect-read.js";
import { BrokenDocument, firstBytes, readChunks, readDocuments, readMembers } from "./open-import/imported-file.js";
import { readOtlp } from "./otlp/otlp-read.js";

const INSPECT_LOG = "an Inspect log (.eval, .json)";

/** Formats that can be imported, under the names that `export-traces` uses, with their names in help and messages. */
const FORMATS = {
  jsonl: { read: readJsonl, files: "art-e JSON Lines" },
  inspect: { read: readEvalFile, files: INSPECT_LOG },
  "inspect-json": { read: readJsonLog, files: INSPECT_LOG },
  otlp: { read: readOtlp, files: "OTLP JSON Lines" },
  atif: { read: readAtif, files: "ATIF" },
} as const satisfies Record<string, { readonly read: (path: string) => ImportSource; readonly files: string }>;

export type ImportFormat = keyof typeof FORMATS;

/** The files that can be imported, for help and messages. */
export const IMPORTED_FILES = [...new Set(Object.values(FORMATS).map(({ files }) => files))]
  .join(", ")
  .replace(/, (?!.*, )/, " or ");

/** The top-level property that identifies each JSON format. */
const KEYS = new Map<string, ImportFormat>([
  ["traceId", "jsonl"],
  ["resourceSpans", "otlp"],
  ["resource_spans", "otlp"],
  // Parts of OTLP without the levels around them, and the REST API of Phoenix.
  ["scopeSpans", "otlp"],
  ["spans", "otlp"],
  ["spanId", "otlp"],
  ["data", "otlp"],
  ["schema_version", "atif"],
  ["eval", "inspect-json"],
]);

/** Properties of the exports of other tools, whose properties partly have the same names as art-e's. */
const FOREIGN = [
  { tool: "Jaeger", has: /^(?:operationName|spanID)$/ },
  { tool: "Tempo", has: /^batches$/ },
  { tool: "Langfuse", has: /^(?:observations|parentObservationId|startTime|projectId)$/ },
  { tool: "LangSmith", has: /^(?:run_type|child_run_ids|dotted_order)$/ },
  { tool: "the OpenAI Agents SDK", has: /^workflow_name$/ },
  { tool: "Phoenix", has: /^span_kind$/ },
] as const;

/** Lists that several tools export. The properties of their first item show the tool. */
const LISTS = new Set(["data", "runs", "spans"]);
const FIRST_ITEM_CHARS = 5_000;

function keysOf(key: string, text: string): readonly string[] {
  if (!LISTS.has(key)) return [key];
  return [...text.slice(0, FIRST_ITEM_CHARS).matchAll(/"(\w+)"\s*:/g)].map(([, name = ""]) => name);
}

/** Opens a file and detects its format from its first bytes. Throws a UserError if the file cannot be read. */
export async function openImport(path: string): Promise<ImportSource & { readonly format: ImportFormat }> {
  try {
    const format = await detectFormat(path);
    return { format, ...FORMATS[format].read(path) };
  } catch (cause) {
    if (!(cause instanceof Error && "syscall" in cause)) throw cause;
    throw new UserError("import_unreadable", `Cannot read ${path}: ${reasonOf(cause)}.`, "Check the path.", 2, {
      cause,
    });
  }
}

/** Properties of art-e's own traces that no other tool's export has. */
const OWN: ReadonlySet<string> = new Set(["sessionId", "agentId"]);

const ZIP_MAGIC = "PK\x03\x04";

async function detectFormat(path: string): Promise<ImportFormat> {
  requireRegularFile(path);
  if ((await firstBytes(path, 4)).toString("latin1") === ZIP_MAGIC) return "inspect";
  await refuseOtherEncodings(path);
  let isJsonl = false;
  try {
    for await (const { key, text } of readMembers(path)) {
      const foreign = FOREIGN.find(({ has }) => keysOf(key, text).some((name) => has.test(name)));
      if (foreign !== undefined)
        throw notUsable(path, `is an export of ${foreign.tool}. Export its spans as OTLP JSON (resourceSpans)`);
      const format = KEYS.get(key);
      if (format !== undefined && format !== "jsonl") return format;
      isJsonl ||= format === "jsonl";
      if (isJsonl && OWN.has(key)) return "jsonl";
    }
    if (isJsonl) return "jsonl";
  } catch (error) {
    if (!(error instanceof BrokenDocument)) throw error;
    return refuseFirstDocument(path, error);
  }
  throw notUsable(path, `is not a file of traces: ${IMPORTED_FILES}`);
}

const UTF16_MARKS: ReadonlySet<string> = new Set(["\xff\xfe", "\xfe\xff"]);

async function refuseOtherEncodings(path: string): Promise<void> {
  if (UTF16_MARKS.has((await firstBytes(path, 2)).toString("latin1"))) {
    throw notUsable(path, "is in UTF-16, and only UTF-8 is supported");
  }
  for await (const chunk of readChunks(path)) {
    // Reading a zip file requires random access.
    if (chunk.startsWith(ZIP_MAGIC)) throw notUsable(path, "is an .eval file inside gzip: unpack it with gunzip first");
    return;
  }
}

/** Reports the error in the first document with its line number, because most files consist of JSON lines. */
async function refuseFirstDocument(path: string, error: BrokenDocument): Promise<never> {
  for await (const { text, line } of readDocuments(path)) {
    parseImported(text, `${path}, line ${line}`);
    throw notUsable(path, error.message);
  }
  throw notUsable(path, "the file is empty");
}

/** Reads art-e's own JSON lines, which contain the complete trace. */
function readJsonl(file: string): ImportSource {
  return {
    async *traces() {
      for await (const { text, line } of readDocuments(file)) {
        const where = `${file}, line ${line}`;
        yield { where, trace: parseTrace(parseImported(text, where), where) };
      }
    },
    tools: () => [],
    run: () => ({}),
    lacking: () => ({}),
  };
}
