// Imports and exports eval files.
import { readdirSync, statSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { z } from "zod";
import { serverOf } from "../models/connections.js";
import { parseModelName } from "../models/model-names.js";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { reasonOf, UserError } from "../platform/errors.js";
import { statOf } from "../platform/file-stats.js";
import { createFolder, readNamedText, writeFileAtomically } from "../platform/files.js";
import { firstIssue } from "../platform/json.js";
import { withStore } from "../store/open-store.js";
import { type ExportedEval, withoutMain } from "./as-python.js";
import {
  BY_PERSON,
  type EvalDefinition,
  type EvalLanguage,
  evalDefinitionSchema,
  evalNameSchema,
  type FileValidation,
  fileValidationSchema,
  type StoredEval,
} from "./definition.js";
import { FEATURES } from "./features.js";
import { type CodeDescription, describePython } from "./run-evals/run-python-evals.js";
import { describeTypescript } from "./run-evals/run-typescript-evals.js";
import { requireSandbox } from "./run-evals.js";
import { toFileValidation } from "./store/file-validation.js";
import { hashDefinition, latestTest, listEvals, newestOf, saveDraft, saveImportedTest } from "./store.js";
import { openEvals } from "./use-evals.js";

interface ImportedEval {
  readonly path: string;
  readonly stored: StoredEval;
  /** False if an identical version already existed. */
  readonly isNew: boolean;
  /** What happened to the test in the file, or null if the file does not contain one. */
  readonly validation: ReturnType<typeof saveImportedTest> | null;
}

interface ReadEvalFile {
  readonly definition: EvalDefinition;
  readonly validation?: FileValidation | undefined;
}

interface CodeReader {
  readonly parse: (text: string, name: string, signal: AbortSignal) => Promise<unknown>;
  readonly hint: string;
}

/** Imports eval files, or all files of a folder, as drafts. Imports all of them or none. */
export async function importEvals(
  paths: readonly string[],
  settings: AppSettings,
  signal: AbortSignal,
): Promise<ImportedEval[]> {
  const read: (ReadEvalFile & { path: string })[] = [];
  for (const path of paths.flatMap(filesOf)) read.push({ path, ...(await readEvalFile(path, signal)) });
  for (const { path, definition } of read) refuseServerOfFile(path, definition, settings);
  return withStore(settings, (db) =>
    db
      .transaction(() =>
        read.map(({ path, definition: { version: _, ...draft }, validation }) => {
          const saved = saveDraft(db, draft, new Date().toISOString());
          const storedTest = validation === undefined ? null : saveImportedTest(db, saved.stored, validation);
          return { path, ...saved, validation: storedTest };
        }),
      )
      .immediate(),
  );
}

/** Throws if a judge in a file has a server that the environment does not select, because it would receive the key. */
function refuseServerOfFile(path: string, definition: EvalDefinition, { env }: AppSettings): void {
  if (definition.kind !== "judge" || definition.judge.baseUrl === null) return;
  const { model, baseUrl } = definition.judge;
  if (serverOf(parseModelName(model, null).provider, undefined, env) === baseUrl) return;
  throw new UserError(
    "eval_file_unusable",
    `Cannot import the eval ${path}: its judge uses the server ${baseUrl}, which would receive your API key.`,
    "If you trust it, set the provider's base URL, such as OPENAI_BASE_URL, to this server.",
  );
}

function filesOf(path: string): string[] {
  if (statOf(path)?.isDirectory() !== true) return [path];
  const files = readdirSync(path)
    .filter((name) => /\.(json|py|ts|js)$/.test(name))
    .sort();
  if (files.length > 0) return files.map((name) => join(path, name));
  throw new UserError(
    "evals_empty",
    `${path} does not contain .json, .py, .ts or .js files.`,
    `Pass eval files, or a folder written by ${commandLine`art-e evals export`}.`,
  );
}

/** Returns the evals to export: the specified ones, otherwise the active version or the newest version of each name. */
export function evalsToExport(names: readonly string[], settings: AppSettings): Promise<ExportedEval[]> {
  return withStore(settings, (db) => {
    const evals = names.length > 0 ? openEvals(db, names) : newestOf(listEvals(db));
    if (evals.length === 0) {
      throw new UserError(
        "evals_empty",
        "Cannot export evals: the database does not contain any evals.",
        `Make evals first: ${commandLine`art-e evals suggest`}`,
      );
    }
    return evals.map((stored) => {
      const { definition } = stored;
      const test = latestTest(db, stored);
      if (test === null || test.isStale) return { definition, validation: null };
      return { definition, validation: toFileValidation(test.report, hashDefinition(definition), test.createdAt) };
    });
  });
}

/** Writes files into a folder and creates it if necessary. Other files are kept. */
export async function writeFolder(folder: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  createFolder("--output", folder);
  const paths: string[] = [];
  for (const [name, content] of files) {
    const path = join(folder, name);
    await writeFileAtomically(path, [content]);
    paths.push(path);
  }
  return paths;
}

const MAX_BYTES = 16_000_000;

/** Reads an eval's JSON file, or a file with the code of an eval. Never executes the code. */
async function readEvalFile(path: string, signal: AbortSignal): Promise<ReadEvalFile> {
  const extension = extname(path);
  const read = CODE_READERS[extension];
  try {
    if (statSync(path).size > MAX_BYTES) throw new Error(`the file is larger than ${MAX_BYTES} bytes`);
    const text = readNamedText(path);
    if (read === undefined) return readDefinition(fromJson(text, extension));
    return readDefinition(await read.parse(text, basename(path, extension), signal));
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof UserError && cause.code === "sandbox_missing") throw cause;
    const message = reasonOf(cause);
    throw new UserError(
      "eval_file_unusable",
      `Cannot read the eval ${path}: ${/[.!?]$/.test(message) ? message : `${message}.`}`,
      `${read?.hint ?? ""}See docs/eval-files.md for the format.`.trim(),
      2,
      { cause },
    );
  }
}

const fileSchema = z.looseObject({ validation: fileValidationSchema.optional() });

function readDefinition(value: unknown): ReadEvalFile {
  const { validation, ...written } = checked(fileSchema, value);
  const definition = checked(evalDefinitionSchema, written);
  if (definition.kind === "rules") {
    const unknown = definition.pass.all.find(({ feature }) => !Object.hasOwn(FEATURES, feature));
    if (unknown !== undefined)
      throw new Error(`unknown feature "${unknown.feature}"; available: ${Object.keys(FEATURES).join(", ")}`);
  }
  return { definition, validation };
}

function checked<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new Error(firstIssue(error, "the document"));
}

function fromJson(text: string, extension: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (extension === ".json") throw new Error(`invalid JSON: ${(cause as Error).message}`, { cause });
    throw new Error("expected JSON, Python (.py) or TypeScript (.ts, .js); other formats cannot be imported", {
      cause,
    });
  }
}

async function fromPython(text: string, name: string, signal: AbortSignal): Promise<unknown> {
  const code = withoutMain(text);
  const sandbox = await requireSandbox(`The eval ${name} is written in Python`);
  return codeDefinition("python", name, { code, ...(await describePython(code, sandbox, signal)) });
}

async function fromTypescript(code: string, name: string): Promise<unknown> {
  const described = describeTypescript(code);
  if (described === null) throw new Error("it exports no function");
  return codeDefinition("typescript", name, { code, ...described });
}

function codeDefinition(
  kind: EvalLanguage,
  fileName: string,
  { code, criterion, reference }: CodeDescription & { readonly code: string },
): unknown {
  const name = snakeCase(fileName);
  if (!evalNameSchema.safeParse(name).success)
    throw new Error("the file name cannot be an eval's name, which starts with a letter and has at most 64 characters");
  return {
    name,
    version: 1,
    kind,
    reference,
    criterion: criterion ?? `The check ${name} passes.`,
    origin: BY_PERSON,
    code,
  };
}

const TYPESCRIPT: CodeReader = {
  parse: fromTypescript,
  hint: "The file must export one function (input, output, trace) that returns {score, reason}. ",
};

/** Converts names as files have them, such as `briefAnswer`, `brief-answer` and `check (1)`. */
function snakeCase(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_|_$/g, "");
}

/** Readers by file extension. */
const CODE_READERS: Readonly<Record<string, CodeReader>> = {
  ".py": { parse: fromPython, hint: "The file must define eval_function(task, task_metadata, trace, ctx). " },
  ".ts": TYPESCRIPT,
  ".js": TYPESCRIPT,
};
