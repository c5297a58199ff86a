// Finds the eval of a run's judge, and selects the judge of an eval for a run.
import { UserError } from "../platform/errors.js";
import type { JudgeOptions } from "../scoring/judge-settings.js";
import type { Db } from "../store/open-store.js";
import { getRun } from "../traces/runs-store.js";
import type { JudgeSettings } from "../traces/trace.js";
import { type EvalOf, evalOfScore, isEvalScore, type StoredEval } from "./definition.js";
import { canonicalJson } from "./store/canonical-json.js";
import { activeEval, getEval, listEvals } from "./store.js";

/** Returns the judge of a run. Throws a UserError if the run was not judged. */
export function judgeOfRun(db: Db, name: string): JudgeSettings {
  const { id, settings } = getRun(db, name);
  if (settings.judge !== null) return settings.judge;
  throw new UserError(
    "judge_missing",
    `Cannot use the judge of ${id}: no judge graded it.`,
    "Pass a model as provider/model.",
  );
}

type JudgeEval = StoredEval & { readonly definition: EvalOf<"judge"> };

function isJudgeEval(stored: StoredEval): stored is JudgeEval {
  return stored.definition.kind === "judge";
}

/** Returns the eval of the judge with these settings: the version in use, otherwise the newest one, or null. */
export function evalOfJudge(db: Db, judge: JudgeSettings): StoredEval | null {
  const same = listEvals(db).filter(
    (stored) => isJudgeEval(stored) && canonicalJson(stored.definition.judge) === canonicalJson(judge),
  );
  return same.find(({ status }) => status === "active") ?? same.at(-1) ?? null;
}

/** Replaces `--judge eval:NAME` by the judge of that eval: the specified version, otherwise the one in use. */
export function withJudgeOfEval<T extends JudgeOptions>(db: Db, options: T): T {
  const { judge } = options;
  if (judge === undefined || !isEvalScore(judge)) return options;
  const name = evalOfScore(judge);
  const stored = (name.includes("@") ? null : activeEval(db, name)) ?? getEval(db, name);
  if (!isJudgeEval(stored)) {
    throw new UserError(
      "judge_unknown",
      `--judge ${judge}: the eval is not a judge.`,
      "Pass the name of an eval from art-e evals add NAME --judge MODEL.",
    );
  }
  return { ...options, judge: undefined, judgeOfEval: stored.definition.judge };
}
