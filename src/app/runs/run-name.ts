import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { runOfName } from "../../store/runs/run-labels.js";

/** As short as it takes to be told from others, and never like an id, a path or `latest`. */
const NAME = /^(?!latest$|run_)[\p{L}\p{N}][\p{L}\p{N} ._-]{0,99}$/u;

/** Throws a UserError for what cannot name a run. `source` is the argument or flag that it comes from. */
export function checkRunName(name: string, source: string): void {
  if (NAME.test(name) && !name.endsWith(".json")) return;
  throw new UserError(
    "name_invalid",
    `${source}: "${name}" cannot name a run.`,
    "Take up to 100 letters, digits, spaces, dots, dashes and underscores, not beginning with run_ nor ending with .json.",
  );
}

/** Throws a UserError where the run that is to come cannot have the name of `--name`. */
export function checkNewRunName(db: Db, name: string): void {
  checkRunName(name, "--name");
  refuseTakenName(db, name, null);
}

/** Throws a UserError where another run has the name. `id`: the run that is to have it; null: one that is to come. */
export function refuseTakenName(db: Db, name: string, id: string | null): void {
  const holder = runOfName(db, name);
  if (holder === null || holder === id) return;
  throw new UserError(
    "name_taken",
    `Run ${holder} has the name "${name}".`,
    `Take another, or rename that one: art-e runs rename ${holder} OTHER`,
  );
}
