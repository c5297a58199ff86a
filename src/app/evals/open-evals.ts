import { UserError } from "../../domain/errors.js";
import type { StoredEval } from "../../domain/evals/eval-definition.js";
import type { Db } from "../../store/connection/open-store.js";
import { activeEval, getEval } from "../../store/evals/evals.js";

/** The evals of these names: the version that is named, else the one in use. Each name once. */
export function openEvals(db: Db, names: readonly string[]): StoredEval[] {
  const evals = names.map((name) => (name.includes("@") ? getEval(db, name) : inUse(db, name)));
  const used = new Set<string>();
  for (const { definition } of evals) {
    if (used.has(definition.name)) {
      throw new UserError(
        "eval_twice",
        `The eval ${definition.name} is named twice.`,
        "One version of a name at a time.",
      );
    }
    used.add(definition.name);
  }
  return evals;
}

function inUse(db: Db, name: string): StoredEval {
  const active = activeEval(db, name);
  if (active !== null) return active;
  const { definition } = getEval(db, name);
  throw new UserError(
    "eval_inactive",
    `No version of the eval ${name} is in use.`,
    `Put one into use (art-e evals use ${name}), or name a version: ${name}@${definition.version}.`,
  );
}
