import { UserError } from "../../domain/errors.js";
import type { StoredEval } from "../../domain/evals/eval-definition.js";
import { criterionOf, refineRules } from "../../evalgen/selection/refine-rules.js";
import { getEval, saveDraft } from "../../store/evals/evals.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { requireLabels } from "./label-counts.js";
import { measureTraining } from "./measure-training.js";

export interface RefinedEval {
  readonly parent: StoredEval;
  /** Null: the training labels give no reason to change it. */
  readonly refined: StoredEval | null;
}

/** Makes a new version of an eval from what contradicts it in the training half. */
export function refineEval(name: string, criterion: string, seed: number, settings: AppSettings): Promise<RefinedEval> {
  return withStore(settings, (db) => {
    const parent = getEval(db, name);
    const { definition } = parent;
    if (definition.kind !== "rules") {
      throw new UserError(
        "eval_unrefinable",
        `${definition.name} is no rule, so labels set nothing in it.`,
        definition.kind === "cases"
          ? "art-e evals suggest --cases makes its cases anew."
          : "Change its file and import it, or have a model write others: art-e evals generate.",
      );
    }
    const { measured, labels, hash } = measureTraining(db, criterion, seed);
    const good = labels.bad.filter((isBad) => !isBad).length;
    requireLabels("training", good, labels.bad.length - good, criterion);
    const all = refineRules(definition.pass.all, measured, labels, seed);
    if (JSON.stringify(all) === JSON.stringify(definition.pass.all)) return { parent, refined: null };
    const { version: _, ...draft } = definition;
    const { stored } = saveDraft(
      db,
      {
        ...draft,
        criterion: criterionOf(all),
        pass: { all },
        origin: { by: "templates", seed, labels: hash, parent: definition.version },
      } as Omit<typeof definition, "version">,
      new Date().toISOString(),
    );
    return { parent, refined: stored };
  });
}
