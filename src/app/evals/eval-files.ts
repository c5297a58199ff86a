import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../domain/errors.js";
import { type EvalDefinition, evalDefinitionSchema, type StoredEval } from "../../domain/evals/eval-definition.js";
import { FEATURES } from "../../evalgen/features/feature-table.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { listEvals, saveDraft } from "../../store/evals/evals.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { openEvals } from "./open-evals.js";
import { newestOf } from "./review-eval.js";

/** Evals to write: those named, else of each name the version in use or the newest. */
export function evalsToExport(names: readonly string[], settings: AppSettings): Promise<EvalDefinition[]> {
  return withStore(settings, (db) => {
    const evals = names.length > 0 ? openEvals(db, names) : newestOf(listEvals(db));
    if (evals.length === 0) {
      throw new UserError("evals_empty", "There are no evals to export.", "Make some: art-e evals suggest.");
    }
    return evals.map(({ definition }) => definition);
  });
}

/** Writes files into a folder, which is made where it is missing; files of other names stay. */
export async function writeFolder(folder: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    const message = `--output: ${folder} cannot be made: ${(cause as Error).message}.`;
    throw new UserError("output_unwritable", message, "Name another folder.", 2, { cause });
  }
  const paths: string[] = [];
  for (const [name, content] of files) {
    const path = join(folder, name);
    await writeFileAtomically(path, [content]);
    paths.push(path);
  }
  return paths;
}

/** The file of an eval: `numbers_from_mail.json`. */
export function toEvalFile(definition: EvalDefinition): readonly [name: string, content: string] {
  return [`${definition.name}.json`, `${JSON.stringify(definition, null, 2)}\n`];
}

export interface ImportedEval {
  readonly path: string;
  readonly stored: StoredEval;
  /** False: a version that says the same was there. */
  readonly isNew: boolean;
}

/** Imports eval files, or all `.json` files of a folder, as drafts; all or none. */
export function importEvals(paths: readonly string[], settings: AppSettings): Promise<ImportedEval[]> {
  const read = paths.flatMap(filesOf).map((path) => ({ path, definition: readEvalFile(path) }));
  return withStore(settings, (db) =>
    db
      .transaction(() =>
        read.map(({ path, definition: { version: _, ...draft } }) => ({
          path,
          ...saveDraft(db, draft as Omit<EvalDefinition, "version">, new Date().toISOString()),
        })),
      )
      .immediate(),
  );
}

function filesOf(path: string): string[] {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path];
  const files = readdirSync(path)
    .filter((name) => name.endsWith(".json"))
    .sort();
  if (files.length > 0) return files.map((name) => join(path, name));
  throw new UserError(
    "evals_empty",
    `${path} holds no .json files.`,
    "Name eval files, or a folder that evals export wrote.",
  );
}

const MAX_BYTES = 16_000_000;

function readEvalFile(path: string): EvalDefinition {
  const unusable = (why: string, cause?: unknown) =>
    new UserError("eval_file_unusable", `${path} is no eval: ${why}`, "See docs/evals.md for what a file holds.", 2, {
      cause,
    });
  let json: unknown;
  try {
    if (statSync(path).size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    json = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw unusable(`${(cause as Error).message}.`, cause);
  }
  const { data, error } = evalDefinitionSchema.safeParse(json);
  if (data === undefined) {
    const [issue] = error.issues;
    throw unusable(`${issue?.path.join(".") || "the document"}: ${issue?.message}.`, error);
  }
  if (data.kind === "rules") {
    const unknown = data.pass.all.find(({ feature }) => !Object.hasOwn(FEATURES, feature));
    if (unknown !== undefined)
      throw unusable(`there is no feature "${unknown.feature}"; there are ${Object.keys(FEATURES).join(", ")}.`);
  }
  return data;
}
