import { createReadStream } from "node:fs";
import type { z } from "zod";
import type { ToolSpec } from "../models/model.js";
import { UserError } from "../platform/errors.js";
import { type JsonObject, jsonDepth, MAX_JSON_DEPTH } from "../platform/json.js";
import type { RunSettings } from "../traces/run-settings.js";
import type { RunStatus } from "../traces/task-result.js";
import { type ChatTrace, chatTraceSchema, suiteTraceSchema, type Trace, traceSchema } from "../traces/trace.js";

/** A number of tokens as a file gives it; 0 where it gives none that can be one. */
export function tokenCount(tokens: number | null | undefined): number {
  return Number.isSafeInteger(tokens) ? Math.max(0, tokens ?? 0) : 0;
}

interface ContentPart {
  readonly type: string;
  readonly text?: string | null | undefined;
}

/** What stands in the text parts; reasoning, images and files are left out. */
export function textOfContent(content: string | readonly ContentPart[]): string {
  if (typeof content === "string") return content;
  return content.flatMap(({ type, text }) => (type === "text" ? (text ?? "") : [])).join("");
}

export interface FileLine {
  readonly text: string;
  /** From 1. */
  readonly number: number;
}

/** Characters of a line, a sample or another member: some hundred times a usual trace. */
export const MAX_LENGTH = 128_000_000;

/** A file's text, some of it at a time. */
export function readChunks(path: string): AsyncIterable<string> {
  return createReadStream(path, { encoding: "utf8" });
}

/** The lines of a file that are not blank, one at a time. */
export async function* readLines(path: string): AsyncGenerator<FileLine> {
  let pieces: string[] = [];
  let length = 0;
  let number = 1;
  for await (const chunk of readChunks(path)) {
    const parts = chunk.split("\n");
    for (const [i, part] of parts.entries()) {
      if (i > 0) {
        const text = pieces.join("");
        if (text.trim() !== "") yield { text, number };
        [pieces, length] = [[], 0];
        number++;
      }
      pieces.push(part);
      length += part.length;
      if (length > MAX_LENGTH) throw notUsable(path, `line ${number} is too long`);
    }
  }
  const text = pieces.join("");
  if (text.trim() !== "") yield { text, number };
}

/** A trace by the names of our own fields, of a task or of a chat. Throws a UserError that names what is wrong. */
export function parseTrace(value: unknown, where: string): ImportedTrace {
  return inOrderOf(value, checkValue(schemaOf(value), value, where)) as ImportedTrace;
}

function schemaOf(value: unknown) {
  const has = (key: string) => typeof value === "object" && value !== null && key in value;
  if (!has("task") && has("question")) return chatTraceSchema;
  return has("grade") ? suiteTraceSchema : traceSchema;
}

/** The checked value with its keys as the file has them, so that it is written as it was read. */
function inOrderOf(given: unknown, checked: unknown): unknown {
  if (Array.isArray(checked)) return checked.map((item, i) => inOrderOf((given as unknown[])[i], item));
  if (typeof checked !== "object" || checked === null) return checked;
  const known = new Map(Object.entries(checked));
  const keys = new Set([...Object.keys(given as object).filter((key) => known.has(key)), ...known.keys()]);
  return Object.fromEntries(
    [...keys].map((key) => [key, inOrderOf((given as Record<string, unknown>)[key], known.get(key))]),
  );
}

/** A member of a JSON object, or an item of the one array that is read item by item. */
interface JsonMember {
  readonly key: string;
  /** Its JSON, as it stands there. */
  readonly text: string;
  /** Whether it is one of the items of a member. */
  readonly isItem: boolean;
}

/** A document that is no JSON object, ends early or has a member that is too long. */
export class BrokenDocument extends Error {
  override readonly name = "BrokenDocument";
}

/** The member that is an array whose items are given one at a time. */
const ITEMS_OF = "samples";

/**
 * The members of the JSON object that a file begins with, one at a time, so that a large document is never in memory
 * whole. Throws `BrokenDocument`. That each member is JSON is left to who parses it.
 */
export async function* readMembers(path: string): AsyncGenerator<JsonMember> {
  const scanner = new MemberScanner();
  for await (const chunk of readChunks(path)) {
    yield* scanner.scan(chunk);
    if (scanner.hasEnded) return;
  }
  throw new BrokenDocument("ends in the middle of its JSON");
}

class MemberScanner {
  hasEnded = false;
  private depth = 0;
  private inString = false;
  private isEscaped = false;
  private inItems = false;
  private key: string | null = null;
  private pieces: string[] = [];
  private length = 0;

  *scan(chunk: string): Generator<JsonMember> {
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const char = chunk.charCodeAt(i);
      if (this.isEscaped) this.isEscaped = false;
      else if (this.inString) {
        if (char === BACKSLASH) this.isEscaped = true;
        else if (char === QUOTE) this.inString = false;
      } else if (STRUCTURAL.has(char)) {
        const ends = this.structural(char);
        if (ends === "within") continue;
        this.take(chunk.slice(start, i));
        start = i + 1;
        yield* this.complete(ends);
        if (this.hasEnded) return;
      } else if (this.depth === 0 && !BLANK.has(char)) throw new BrokenDocument("is no JSON object");
    }
    this.take(chunk.slice(start));
  }

  /** What a character ends, if it stands between members. */
  private structural(char: number): "within" | "nothing" | "key" | "member" | "last member" | "items" {
    if (char === QUOTE) {
      this.inString = true;
      if (this.depth === 0) throw new BrokenDocument("is no JSON object");
      return "within";
    }
    if (char === BRACE || char === BRACKET) {
      if (this.depth++ === 0) {
        if (char === BRACKET) throw new BrokenDocument("is no JSON object");
        return "nothing";
      }
      if (this.depth !== 2 || char !== BRACKET || this.key !== ITEMS_OF || this.inItems) return "within";
      this.inItems = true;
      return "nothing";
    }
    if (char === COMMA) return this.depth === (this.inItems ? 2 : 1) ? "member" : "within";
    if (char === COLON) return this.depth === 1 && this.key === null ? "key" : "within";
    this.depth--;
    if (this.depth === 0) return "last member";
    return this.depth === 1 && this.inItems ? "items" : "within";
  }

  private take(text: string): void {
    this.pieces.push(text);
    this.length += text.length;
    if (this.length > MAX_LENGTH) throw new BrokenDocument(`has a member that is too long (${this.key})`);
  }

  private *complete(ended: "nothing" | "key" | "member" | "last member" | "items"): Generator<JsonMember> {
    const text = this.pieces.join("").trim();
    [this.pieces, this.length] = [[], 0];
    if (ended === "key") this.key = keyOf(text);
    else if (this.key !== null && text !== "") yield { key: this.key, text, isItem: this.inItems };
    if (ended === "items") this.inItems = false;
    else if (ended === "member" && !this.inItems) this.key = null;
    this.hasEnded = ended === "last member";
  }
}

function keyOf(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    throw new BrokenDocument("is not JSON");
  }
}

const [QUOTE, BACKSLASH, BRACKET, BRACE, COMMA, COLON] = ['"', "\\", "[", "{", ",", ":"].map((char) =>
  char.charCodeAt(0),
) as [number, number, number, number, number, number];

const STRUCTURAL: ReadonlySet<number> = new Set([...'"[]{},:'].map((char) => char.charCodeAt(0)));

const BLANK: ReadonlySet<number> = new Set([..." \t\r\n\ufeff"].map((char) => char.charCodeAt(0)));

interface ReadTool {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: JsonObject | null | undefined;
}

/** Tools as a file describes them, each once. */
export class DescribedTools {
  private readonly tools = new Map<string, ToolSpec>();

  add(tools: readonly ReadTool[]): void {
    for (const { name, description, parameters } of tools) {
      const { properties = null } = parameters ?? {};
      const hasParameters = typeof properties === "object" && Object.keys(properties ?? {}).length > 0;
      // Without both it is only the name of a tool that was called.
      if (this.tools.has(name) || (!description && !hasParameters)) continue;
      this.tools.set(name, { name, description: description ?? "", parameters: parameters ?? {} });
    }
  }

  list(): readonly ToolSpec[] {
    return [...this.tools.values()];
  }
}

/** JSON in a text may stand within JSON in a text. */
const MAX_DEPTH = MAX_JSON_DEPTH + 20;

/** A line's JSON. Throws a UserError that says what is wrong with it. */
export function parseLine(text: string, where: string): unknown {
  if (jsonDepth(text) > MAX_DEPTH) throw notUsable(where, `is nested more than ${MAX_DEPTH} levels deep`);
  try {
    return JSON.parse(text);
  } catch {
    throw notUsable(where, "is not JSON");
  }
}

/** Checks a value against a schema. Throws a UserError that names the first field that is wrong. */
export function checkValue<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") ?? "";
  throw notUsable(where, `${field === "" ? "" : `${field}: `}${issue?.message ?? "cannot be used"}`);
}

export function notUsable(where: string, problem: string): UserError {
  return new UserError(
    "import_invalid",
    `${where}: ${problem}.`,
    "Read are art-e's JSON lines, OTLP JSON lines, Inspect logs (.eval, .json) and ATIF trajectories. Nothing was imported.",
  );
}

/** Of a task with a gold answer or a grade; of a chat where the file has neither. */
export type ImportedTrace = Trace | ChatTrace;

/** What such chats lack. */
export const NO_GOLD = "no gold answer, so they are kept as chats";

/** What a file says of the run that its traces are of; absent: nothing. */
export interface RunFacts {
  readonly status?: RunStatus | undefined;
  /** ISO 8601. */
  readonly startedAt?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly split?: string | undefined;
  readonly dataset?: { readonly source: string; readonly revision: string | null } | undefined;
  readonly corpusFingerprint?: string | undefined;
  readonly settings?: Partial<RunSettings> | undefined;
}

/** What is read from one file. */
export interface ImportSource {
  /** Where in the file, for errors. */
  traces(): AsyncIterable<{ readonly where: string; readonly trace: ImportedTrace }>;
  /** What the model was told of its tools, as far as was read. */
  tools(): readonly ToolSpec[];
  /** Of the run of the trace that was read last. */
  run(): RunFacts;
  /** What traces lack that this program's own have, by what it is. */
  lacking(): Readonly<Record<string, number>>;
}
