import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../../domain/errors.js";
import type { EvalDefinition } from "../../../domain/evals/eval-definition.js";
import { writeFileAtomically } from "../../../platform/atomic-file.js";
import { listEvals } from "../../../store/evals/evals.js";
import type { AppSettings } from "../../use-case-context.js";
import { withStore } from "../../with-store.js";
import { openEvals } from "../open-evals.js";
import { newestOf } from "../review-eval.js";

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
