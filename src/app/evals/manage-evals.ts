import { UserError } from "../../domain/errors.js";
import type { StoredEval } from "../../domain/evals/eval-definition.js";
import type { Db } from "../../store/connection/open-store.js";
import { latestTest, type StoredEvalTest } from "../../store/evals/eval-tests.js";
import { activateEval, activeEval, getEval, listEvals, setStatus } from "../../store/evals/evals.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";

/** A version of an eval with its newest test; null: it was never tested. */
export interface DescribedEval {
  readonly stored: StoredEval;
  readonly test: StoredEvalTest | null;
}

/** All versions of all evals; or without retired ones. */
export function describeEvals(withRetired: boolean, settings: AppSettings): Promise<DescribedEval[]> {
  return withStore(settings, (db) =>
    listEvals(db)
      .filter(({ status }) => withRetired || status !== "retired")
      .map((stored) => withLatestTest(db, stored)),
  );
}

/** One version, and all versions of its name. */
export function describeEval(
  name: string,
  settings: AppSettings,
): Promise<DescribedEval & { readonly versions: readonly DescribedEval[] }> {
  return withStore(settings, (db) => {
    const stored = getEval(db, name);
    const versions = listEvals(db, stored.definition.name).map((version) => withLatestTest(db, version));
    return { ...withLatestTest(db, stored), versions };
  });
}

export function withLatestTest(db: Db, stored: StoredEval): DescribedEval {
  return { stored, test: latestTest(db, stored.id) };
}

export interface ActivatedEval {
  readonly stored: StoredEval;
  /** The version that it replaces; null: none was in use. */
  readonly former: StoredEval | null;
}

/** Puts a version into use. Refused without a passed test, unless `anyway`; cases are right as they are. */
export function useEval(name: string, anyway: boolean, settings: AppSettings): Promise<ActivatedEval> {
  return withStore(settings, (db) => {
    const stored = getEval(db, name);
    const { definition } = stored;
    const label = `${definition.name}@${definition.version}`;
    const test = latestTest(db, stored.id);
    if (!anyway && definition.kind !== "cases") {
      if (test === null) {
        throw new UserError(
          "eval_untested",
          `${label} was never tested on labels it has not seen.`,
          `Test it: art-e evals test ${label}. Or use it all the same with --anyway.`,
        );
      }
      if (test.report.rejections.length > 0) {
        throw new UserError(
          "eval_rejected",
          `${label} was rejected: ${test.report.rejections.join("; ")}.`,
          `Refine it (art-e evals refine ${definition.name}), or use it all the same with --anyway.`,
        );
      }
    }
    const former = activeEval(db, definition.name);
    activateEval(db, stored);
    return { stored: getEval(db, label), former: former?.id === stored.id ? null : former };
  });
}

/** Takes a version out of use: the one named, else the active one of the name. */
export function retireEval(name: string, settings: AppSettings): Promise<StoredEval> {
  return withStore(settings, (db) => {
    const stored = (name.includes("@") ? null : activeEval(db, name)) ?? getEval(db, name);
    setStatus(db, stored.id, "retired");
    return { ...stored, status: "retired" };
  });
}
