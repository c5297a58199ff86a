import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../../domain/errors.js";
import type { EvalDefinition, StoredEval } from "../../../domain/evals/eval-definition.js";
import { saveDraft } from "../../../store/evals/evals.js";
import type { AppSettings } from "../../use-case-context.js";
import { withStore } from "../../with-store.js";
import { readEvalFile } from "./read-eval-definition.js";

export interface ImportedEval {
  readonly path: string;
  readonly stored: StoredEval;
  /** False: a version that says the same was there. */
  readonly isNew: boolean;
}

/** Imports eval files, or all of a folder, as drafts; all or none. */
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
    .filter((name) => /\.(json|py)$/.test(name))
    .sort();
  if (files.length > 0) return files.map((name) => join(path, name));
  throw new UserError(
    "evals_empty",
    `${path} holds no .json or .py files.`,
    "Name eval files, or a folder that evals export wrote.",
  );
}
