// Reads Inspect logs, JSON documents and `.eval` files, sample by sample.
import { crc32 } from "node:zlib";
import { Decompress } from "fzstd";
import { type Entry, openPromise, type ZipFile } from "yauzl";
import { parseJsonOrNull } from "../../platform/json.js";
import { definedProperties } from "../../platform/optional-values.js";
import { entriesOf, WRONG_CRC } from "../../platform/zip-checks.js";
import { NamedCounts } from "../../statistics/intervals.js";
import { SPLITS } from "../../tasks/question.js";
import { SUITE_SPLIT } from "../../tasks/task-kind.js";
import { FACTS_KEY, fromTraceFacts } from "../../traces/trace-facts.js";
import {
  checkValue,
  DescribedTools,
  type ImportedTrace,
  type ImportSource,
  notUsable,
  parseImported,
  parseTrace,
  type RunFacts,
} from "../imported-trace.js";
import { BrokenDocument, readMembers } from "../open-import/imported-file.js";
import {
  headerSchema,
  isoTime,
  type LogHeader,
  type Sample,
  sampleSchema,
  TaskNumbers,
  toMessages,
  toScores,
  toTrace,
  withAttachments,
} from "./inspect-read-sample.js";

/** A part of a log as unchecked JSON: the header first, then each sample. */
type LogPart =
  | { readonly header: unknown; readonly where: string }
  | { readonly sample: unknown; readonly where: string };

/** Reads an Inspect log in one JSON document, whose header comes before its samples. */
export function readJsonLog(file: string): ImportSource {
  return readLog(jsonLogParts(file));
}

async function* jsonLogParts(file: string): AsyncGenerator<LogPart> {
  const header: Record<string, unknown> = {};
  let samples = 0;
  try {
    for await (const { key, text, isItem } of readMembers(file)) {
      if (key !== "samples") {
        if (samples === 0) header[key] = parseImported(text, `${file}, ${key}`);
        continue;
      }
      // A log that ended in an error has null instead of a list.
      if (!isItem && text === "null") continue;
      if (!isItem) throw notUsable(file, "samples is not a list");
      if (!("eval" in header)) throw notUsable(file, "has its samples before its header");
      if (samples++ === 0) yield { header, where: file };
      yield { sample: parseImported(text, `${file}, sample ${samples}`), where: `${file}, sample ${samples}` };
    }
    if (samples === 0) yield { header, where: file };
  } catch (error) {
    throw error instanceof BrokenDocument ? notUsable(file, error.message) : error;
  }
}

/** Reads an Inspect log in an `.eval` file, which is a zip with one entry for the header and one per sample. */
export function readEvalFile(file: string): ImportSource {
  return readLog(zipParts(file));
}

/** Paths of the header. An unfinished log only has the one that was written to its journal at the start. */
const HEADERS = ["header.json", "_journal/start.json"];

async function* zipParts(file: string): AsyncGenerator<LogPart> {
  let zip: ZipFile | undefined;
  try {
    zip = await orBroken(openPromise(file, { autoClose: false, decodeStrings: false }));
    const entries = await readEntries(zip);
    const head = HEADERS.find((name) => entries.has(name));
    const header = entries.get(head ?? "");
    if (header === undefined)
      throw notUsable(file, `is a zip without ${HEADERS.join(" or ")}, so it is not an Inspect log`);
    const inHeader = `${file}, ${head}`;
    yield { header: parseImported(await readEntry(zip, header), inHeader), where: inHeader };
    for (const [name, entry] of entries) {
      if (!name.startsWith("samples/") || !name.endsWith(".json")) continue;
      const where = `${file}, ${name}`;
      yield { sample: parseImported(await readEntry(zip, entry), where), where };
    }
  } catch (error) {
    throw error instanceof BrokenZip ? notUsable(file, `cannot be read as a zip: ${error.message}`) : error;
  } finally {
    zip?.close();
  }
}

/** Thrown for a zip or a zip entry that cannot be read. */
class BrokenZip extends Error {
  override readonly name = "BrokenZip";
}

const ZSTANDARD = 93;

/** Maximum size of an entry, because entries are held in memory. Typical samples are about a thousand times smaller. */
const MAX_ENTRY_BYTES = 256_000_000;

const MAX_ENTRIES = 2_000_000;

/** Entries by name. The names are never used as paths. */
async function readEntries(zip: ZipFile): Promise<ReadonlyMap<string, Entry>> {
  if (zip.entryCount > MAX_ENTRIES) throw new BrokenZip(`has more than ${MAX_ENTRIES} entries`);
  const entries = new Map<string, Entry>();
  const reading = async () => {
    for await (const entry of entriesOf(zip)) entries.set(entry.fileNameRaw.toString(), entry);
  };
  await orBroken(reading());
  return entries;
}

/** Decodes an entry as UTF-8 text. */
function readEntry(zip: ZipFile, entry: Entry): Promise<string> {
  const name = entry.fileNameRaw.toString();
  if (entry.uncompressedSize > MAX_ENTRY_BYTES) {
    throw new BrokenZip(`${name} is larger than ${MAX_ENTRY_BYTES / 1e6} MB`);
  }
  return orBroken(unpacked(zip, entry), `${name}: `);
}

async function unpacked(zip: ZipFile, entry: Entry): Promise<string> {
  const isZstandard = entry.compressionMethod === ZSTANDARD;
  const stream = await zip.openReadStreamPromise(entry, isZstandard ? { decodeFileData: false } : {});
  const chunks: Uint8Array[] = [];
  let size = 0;
  const add = (chunk: Uint8Array) => {
    size += chunk.length;
    // The zip library checks the stated sizes only for the compression methods that it supports itself.
    if (size > entry.uncompressedSize) throw new BrokenZip("is larger than the zip says");
    chunks.push(chunk);
  };
  const decoder = new Decompress(add);
  for await (const chunk of stream) {
    if (isZstandard) decoder.push(chunk as Uint8Array);
    else add(chunk as Uint8Array);
  }
  if (size < entry.uncompressedSize) throw new BrokenZip("is smaller than the zip says");
  const content = Buffer.concat(chunks);
  if (crc32(content) !== entry.crc32) throw new BrokenZip(WRONG_CRC);
  return content.toString();
}

async function orBroken<T>(reading: Promise<T>, of = ""): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof Error) || "syscall" in error) throw error;
    throw new BrokenZip(`${of}${error.message}`, { cause: error });
  }
}

/** Reads logs from art-e, whose samples contain the whole trace in their store, and logs from other programs. */
function readLog(parts: AsyncIterable<LogPart>): ImportSource {
  const tools = new DescribedTools();
  const lacking = new NamedCounts();
  const numbers = new TaskNumbers();
  let header: LogHeader | null = null;
  return {
    async *traces() {
      for await (const part of parts) {
        const { where } = part;
        if ("header" in part) {
          header = checkValue(headerSchema, part.header, where);
          continue;
        }
        if (header === null) throw new Error("a log's header is read before its samples");
        const sample = checkValue(sampleSchema, part.sample, where);
        tools.add(sample.events.flatMap((event) => event.tools ?? []));
        yield { where, trace: ownTrace(sample, where, lacking) ?? otherTrace(sample, part.sample, header, where) };
      }
    },
    tools: () => tools.list(),
    run: () => (header === null ? {} : headerFacts(header)),
    lacking: () => lacking.counts,
  };

  function otherTrace(sample: Sample, value: unknown, head: LogHeader, where: string): ImportedTrace {
    const attachments = sample.attachments ?? {};
    const isWhole = Object.keys(attachments).length === 0;
    const whole = isWhole ? sample : checkValue(sampleSchema, withAttachments(value, attachments), where);
    return toTrace(whole, head, numbers, lacking);
  }
}

/** Returns null if the sample was written by another program. */
function ownTrace({ store, messages, scores }: Sample, where: string, lacking: NamedCounts): ImportedTrace | null {
  const text = store?.[FACTS_KEY];
  if (typeof text !== "string") return null;
  const facts = fromTraceFacts(parseJsonOrNull(text), toMessages(messages));
  if (facts === null) return null;
  const trace = parseTrace(facts, `${where}, store.${FACTS_KEY}`);
  const later = Object.entries(scores ?? {}).filter(([name]) => !Object.hasOwn(trace.scores, name));
  if (later.length === 0) return trace;
  // Inspect has scored the trace again.
  return { ...trace, scores: { ...trace.scores, ...toScores(Object.fromEntries(later), lacking) } };
}

/** Returns the facts about a log's run. */
function headerFacts({ status, eval: spec, tags }: LogHeader): RunFacts {
  const { config, model_generate_config: generate, metadata, dataset } = spec;
  const { split, ...selection } = spec.task_args ?? {};
  const { agent_version, task_timeout_ms, corpus_fingerprint, dataset_revision } = metadata ?? {};
  const seconds = config.time_limit;
  const taskTimeoutMs = positive(task_timeout_ms) ?? positive(seconds == null ? null : seconds * 1_000);
  const settings = {
    agentVersion: Number.isSafeInteger(agent_version) ? Math.max(0, Number(agent_version)) : undefined,
    maxTurns: wholePositive(config.turn_limit),
    maxTokens: wholePositive(generate?.max_tokens),
    temperature: generate?.temperature ?? undefined,
    maxTaskCostUsd: config.cost_limit ?? undefined,
    taskTimeoutMs,
    selection,
  };
  return {
    // art-e cannot continue an unfinished log, so its run counts as interrupted.
    status: status == null || status === "success" ? "completed" : "interrupted",
    startedAt: isoTime(spec.created) ?? undefined,
    tags: tags ?? [],
    split: [...SPLITS, SUITE_SPLIT].find((name) => name === split),
    dataset: { source: dataset.name ?? spec.task, revision: textOrNull(dataset_revision) },
    corpusFingerprint: textOrNull(corpus_fingerprint) ?? undefined,
    settings: definedProperties(settings),
  };
}

function positive(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}

function wholePositive(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? positive(value) : undefined;
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
