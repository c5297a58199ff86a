// What an import format returns, and the checks of values from other programs' files.
import type { z } from "zod";
import type { ToolSpec } from "../models/model.js";
import { helpHint } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { type JsonObject, jsonDepth, MAX_JSON_DEPTH } from "../platform/json.js";
import type { ImportedRunSettings } from "../traces/run-settings.js";
import type { RunStatus } from "../traces/task-result.js";
import { anyTraceSchema, type ChatTrace, type Trace } from "../traces/trace.js";

interface ContentPart {
  readonly type: string;
  readonly text?: string | null | undefined;
}

interface ReadTool {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: JsonObject | null | undefined;
}

/** A task trace if the file has a gold answer or a grade, otherwise a chat. */
export type ImportedTrace = Trace | ChatTrace;

/** Facts about the run of the imported traces. A fact that the file does not state is absent. */
export interface RunFacts {
  readonly status?: RunStatus | undefined;
  /** ISO 8601. */
  readonly startedAt?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly split?: string | undefined;
  readonly dataset?: { readonly source: string; readonly revision: string | null } | undefined;
  readonly corpusFingerprint?: string | undefined;
  readonly settings?: Partial<Omit<ImportedRunSettings, "kind" | "imported">> | undefined;
}

/** The contents of one import file. */
export interface ImportSource {
  /** `where` is the position in the file, for error messages. */
  traces(): AsyncIterable<{ readonly where: string; readonly trace: ImportedTrace }>;
  /** Tools that the model received, in the part of the file read so far. */
  tools(): readonly ToolSpec[];
  /** Facts about the run of the most recent trace. */
  run(): RunFacts;
  /** Number of traces per kind of missing data, such as "no tokens". */
  lacking(): Readonly<Record<string, number>>;
}

/** Returns a file's token count, or 0 if it is missing or invalid. */
export function tokenCount(tokens: number | null | undefined): number {
  return Number.isSafeInteger(tokens) ? Math.max(0, tokens ?? 0) : 0;
}

/** Returns the text of a message's content without reasoning, images and files. */
export function textOfContent(content: string | readonly ContentPart[]): string {
  if (typeof content === "string") return content;
  return content.flatMap(({ type, text }) => (type === "text" ? (text ?? "") : [])).join("");
}

/** Returns a message's `reasoning` property, or no property without reasoning. */
export function reasoningField(texts: readonly (string | null | undefined)[]): { readonly reasoning?: string } {
  const reasoning = texts.filter((text) => text != null && text.trim() !== "").join("\n\n");
  return reasoning === "" ? {} : { reasoning };
}

/** Parses the trace of a task or a chat in art-e's own format. Throws a UserError that names the invalid field. */
export function parseTrace(value: unknown, where: string): ImportedTrace {
  return inOrderOf(value, checkValue(anyTraceSchema, value, where)) as ImportedTrace;
}

/**
 * Returns the checked value with its keys in the same order as in the file, so that exporting it again gives the same
 * bytes.
 */
function inOrderOf(original: unknown, checked: unknown): unknown {
  if (Array.isArray(checked)) return checked.map((item, i) => inOrderOf((original as unknown[])[i], item));
  if (typeof checked !== "object" || checked === null) return checked;
  const checkedValues = new Map(Object.entries(checked));
  const keys = new Set([
    ...Object.keys(original as object).filter((key) => checkedValues.has(key)),
    ...checkedValues.keys(),
  ]);
  return Object.fromEntries(
    [...keys].map((key) => [key, inOrderOf((original as Record<string, unknown>)[key], checkedValues.get(key))]),
  );
}

/** Tools described in a file, without duplicates. */
export class DescribedTools {
  private readonly tools = new Map<string, ToolSpec>();

  add(tools: readonly ReadTool[]): void {
    for (const { name, description, parameters } of tools) {
      const { properties = null } = parameters ?? {};
      const hasParameters = typeof properties === "object" && Object.keys(properties ?? {}).length > 0;
      // Without a description or parameters, it is only the name of a called tool.
      if (this.tools.has(name) || (!description && !hasParameters)) continue;
      this.tools.set(name, { name, description: description ?? "", parameters: parameters ?? {} });
    }
  }

  list(): readonly ToolSpec[] {
    return [...this.tools.values()];
  }
}

/** Leaves room for the structure of a trace around its JSON values. */
const MAX_DEPTH = MAX_JSON_DEPTH + 20;

/** Parses JSON from a file. Throws a UserError that describes the fault. */
export function parseImported(text: string, where: string): unknown {
  if (jsonDepth(text) > MAX_DEPTH) throw notUsable(where, `is nested more than ${MAX_DEPTH} levels deep`);
  try {
    return JSON.parse(text);
  } catch {
    return parsePythonJson(text, where);
  }
}

/** Python's json module writes NaN and infinities, which are not valid JSON. They are read as null. */
function parsePythonJson(text: string, where: string): unknown {
  const notJson = () => notUsable(where, "is not JSON");
  if (!text.includes("NaN") && !text.includes("Infinity")) throw notJson();
  try {
    return JSON.parse(outsideStrings(text, (part) => part.replace(/-?\b(?:NaN|Infinity)\b/g, "null")));
  } catch {
    throw notJson();
  }
}

function outsideStrings(text: string, change: (part: string) => string): string {
  const parts: string[] = [];
  let i = 0;
  while (i < text.length) {
    const quote = text.indexOf('"', i);
    if (quote === -1) break;
    parts.push(change(text.slice(i, quote)));
    i = quote + 1;
    while (i < text.length && text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
    parts.push(text.slice(quote, ++i));
  }
  parts.push(change(text.slice(i)));
  return parts.join("");
}

/** Checks a value against a schema. Throws a UserError that names the first invalid field. */
export function checkValue<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") ?? "";
  throw notUsable(where, `${field === "" ? "" : `${field}: `}${issue?.message ?? "cannot be used"}`);
}

export function notUsable(where: string, problem: string): UserError {
  return new UserError("import_invalid", `${where}: ${problem}.`, `Nothing was imported. ${helpHint("import-traces")}`);
}

/** Reason why an imported trace became a chat. */
export const NO_GOLD = "no gold answer, so they are kept as chats";
