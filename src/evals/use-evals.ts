// Versions of evals: opening, describing, activating and retiring them.
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { didYouMean } from "../platform/near-names.js";
import { type Db, withStore } from "../store/open-store.js";
import { JUDGED } from "../traces/headline-score.js";
import type { JudgeSettings } from "../traces/judgment.js";
import { matchesRun } from "../traces/runs-store.js";
import { modeFlag, OVERALL } from "./criteria.js";
import {
  type EvalScore,
  evalOfScore,
  isEvalScore,
  type StoredEval,
  type ValidatedScore,
  validationOf,
} from "./definition.js";
import { labeledTracesWord } from "./labels.js";
import {
  activateEval,
  activeEval,
  allTests,
  evalNames,
  evalOfJudge,
  findEval,
  getEval,
  latestTest,
  listEvals,
  newestDrafts,
  type StoredEvalTest,
  setStatus,
  testedCriteria,
} from "./store.js";

/** The part of a run that eval lookups need. */
export interface ScoredRun {
  readonly settings: { readonly scorers: readonly string[]; readonly judge: JudgeSettings | null };
}

/** A version of an eval with its newest test, or null if it was never tested. */
export interface DescribedEval {
  readonly stored: StoredEval;
  readonly test: StoredEvalTest | null;
}

interface ActivatedEval {
  readonly stored: StoredEval;
  /** The replaced version, or null if none was active. */
  readonly former: StoredEval | null;
  /** The argument that selects the traces with its newest label: a run, or `--chats`. Null without labels. */
  readonly labeledTraces: string | null;
}

/**
 * Returns the version of an eval that scored a run, with its newest test: the recorded version, otherwise the newest
 * one. For `judgeCorrect`, returns the eval of the run's judge. Returns null if the database does not contain the eval.
 */
export function describedEvalOfRun(db: Db, score: ValidatedScore, run: ScoredRun | null): DescribedEval | null {
  const stored = score === JUDGED ? judgeOf(db, run) : versionOf(db, score, run);
  return stored === null ? null : describeStored(db, stored);
}

function judgeOf(db: Db, run: ScoredRun | null): StoredEval | null {
  const judge = run?.settings.judge ?? null;
  return judge === null ? null : evalOfJudge(db, judge);
}

function versionOf(db: Db, score: EvalScore, run: ScoredRun | null): StoredEval | null {
  const onRecord = run?.settings.scorers.filter(isEvalScore).find((name) => name.startsWith(`${score}@`));
  return findEval(db, evalOfScore(onRecord ?? score));
}

/** Returns the named evals as `openEvals` does, otherwise all active ones. */
export function activeEvals(db: Db, names: readonly string[]): StoredEval[] {
  const evals = names.length > 0 ? openEvals(db, names) : listEvals(db).filter(({ status }) => status === "active");
  if (evals.length > 0) return evals;
  throw new UserError(
    "evals_none",
    "No eval is active.",
    `Activate the drafts that passed their test (${commandLine`art-e evals use`}), or name an eval.`,
  );
}

/** Opens evals by name: the specified version, otherwise the active one. Throws if a name occurs twice. */
export function openEvals(db: Db, names: readonly string[]): StoredEval[] {
  const evals = names.map((name) => (name.includes("@") ? getEval(db, name) : requireActive(db, name)));
  const used = new Set<string>();
  for (const { definition } of evals) {
    if (used.has(definition.name)) {
      throw new UserError(
        "eval_repeated",
        `The eval ${definition.name} is specified twice.`,
        "Specify only one version of each eval.",
      );
    }
    used.add(definition.name);
  }
  return evals;
}

/**
 * Separates names of evals from names of runs. A name of both is an eval. Throws a UserError for a word that is
 * neither.
 */
export function separateEvalsFromRuns(
  words: readonly string[],
  settings: AppSettings,
): Promise<{ readonly evals: readonly string[]; readonly runs: readonly string[] }> {
  return withStore(settings, (db) => {
    const evals = words.filter((word) => findEval(db, word) !== null);
    const runs = words.filter((word) => !evals.includes(word));
    const unknown = runs.find((word) => !matchesRun(db, word));
    if (unknown === undefined) return { evals, runs };
    throw new UserError(
      "eval_unknown",
      `Unknown eval or run "${unknown}" in ${db.name}.`,
      `${didYouMean(unknown, evalNames(db))}List them: ${commandLine`art-e evals list`}, ${commandLine`art-e runs list`}`,
    );
  });
}

function requireActive(db: Db, name: string): StoredEval {
  const active = activeEval(db, name);
  if (active !== null) return active;
  const { definition } = getEval(db, name);
  throw new UserError(
    "eval_inactive",
    `Cannot run the eval ${name}: no version is active.`,
    `Activate one (${commandLine`art-e evals use ${name}`}), or specify a version: ${name}@${definition.version}.`,
  );
}

/** Lists all versions of all evals, optionally including retired ones. */
export function describeEvals(withRetired: boolean, settings: AppSettings): Promise<DescribedEval[]> {
  return withStore(settings, (db) => listDescribedEvals(db, withRetired));
}

export function listDescribedEvals(db: Db, withRetired: boolean): DescribedEval[] {
  return listEvals(db)
    .filter(({ status }) => withRetired || status !== "retired")
    .map((stored) => describeStored(db, stored));
}

/** A version of an eval with all of its tests. */
export interface EvalHistory {
  readonly stored: StoredEval;
  readonly tests: readonly StoredEvalTest[];
}

type EvalWithHistory = DescribedEval & { readonly history: readonly EvalHistory[] };

/** Returns one version, and all versions of the same name. */
export function describeEval(name: string, settings: AppSettings): Promise<EvalWithHistory> {
  return withStore(settings, (db) => evalWithHistory(db, name));
}

export function evalWithHistory(db: Db, name: string): EvalWithHistory {
  const stored = getEval(db, name);
  const versions = listEvals(db, stored.definition.name);
  const history = versions.map((version) => ({ stored: version, tests: allTests(db, version) }));
  return { ...describeStored(db, stored), history };
}

/** Returns a version with its newest test. */
export function describeStored(db: Db, stored: StoredEval): DescribedEval {
  return { stored, test: latestTest(db, stored) };
}

/** Activates versions, all or none: the named ones, otherwise all drafts that passed a test. */
export function useEvals(
  { names, ...options }: { readonly names: readonly string[] } & UseOptions,
  settings: AppSettings,
): Promise<readonly ActivatedEval[]> {
  return withStore(settings, (db) => activateEvals(db, names, options));
}

export function activateEvals(db: Db, names: readonly string[], options: UseOptions): readonly ActivatedEval[] {
  return db.transaction(() => evalsToUse(db, names).map((stored) => activated(db, stored, options))).immediate();
}

function evalsToUse(db: Db, names: readonly string[]): StoredEval[] {
  if (names.length > 0) return names.map((name) => getEval(db, name));
  const passed = newestDrafts(db).filter((stored) => passedModes(db, stored).length > 0);
  if (passed.length > 0) return passed;
  throw new UserError(
    "evals_none",
    "No draft has passed a test.",
    `Test the drafts (${commandLine`art-e evals test`}), or name an eval.`,
  );
}

/** Returns the criteria whose newest test passed and is not stale. */
function passedModes(db: Db, stored: StoredEval): string[] {
  return testedCriteria(db, stored).filter((criterion) => validationOf(latestTest(db, stored, criterion)) === "passed");
}

interface UseOptions {
  readonly anyway: boolean;
  readonly criterion?: string | undefined;
}

/** Activates a version. Requires a passed test unless `anyway` is set. Regression cases do not need a test. */
function activated(db: Db, stored: StoredEval, { anyway, criterion }: UseOptions): ActivatedEval {
  const { definition } = stored;
  const label = `${definition.name}@${definition.version}`;
  const tested = testedCriteria(db, stored);
  const passed = passedModes(db, stored);
  if (criterion === undefined && tested.length > 1 && passed.length !== 1 && !anyway) {
    throw new UserError(
      "mode_missing",
      `${label} was tested for ${tested.join(" and ")}.`,
      "Specify the mode to use it for: --mode NAME.",
    );
  }
  const only = passed.length === 1 ? passed : tested;
  const validatedFor = criterion ?? (only.length === 1 ? (only[0] ?? null) : null);
  const test = latestTest(db, stored, validatedFor);
  if (!anyway && definition.kind !== "cases") {
    if (test === null) {
      throw new UserError(
        "eval_untested",
        `Cannot activate ${label}: it was never tested.`,
        `Test it: ${commandLine`art-e evals test ${label}`}${criterion === undefined ? "" : modeFlag(criterion)}. Or activate it anyway: --anyway.`,
      );
    }
    if (test.isStale) {
      throw new UserError(
        "eval_stale",
        `Cannot activate ${label}: the labels for ${test.report.criterion} have changed since the test.`,
        `Test it again: ${commandLine`art-e evals test ${label} --mode ${test.report.criterion}`}. Or activate it anyway: --anyway.`,
      );
    }
    if (test.report.rejections.length > 0) {
      throw new UserError(
        "eval_rejected",
        `Cannot activate ${label}, which its test rejected: ${test.report.rejections.join("; ")}.`,
        `See its disagreements with the labels (${commandLine`art-e evals show ${label} --disagreements`}), or activate it anyway: --anyway.`,
      );
    }
  }
  const former = activeEval(db, definition.name);
  activateEval(db, stored, validatedFor);
  return {
    stored: getEval(db, label),
    former: former?.id === stored.id ? null : former,
    labeledTraces: labeledTracesWord(db, validatedFor ?? OVERALL)[0] ?? null,
  };
}

/** Retires a version: the specified one, otherwise the active one. */
export function retireEval(name: string, settings: AppSettings): Promise<StoredEval> {
  return withStore(settings, (db) => {
    const stored = (name.includes("@") ? null : activeEval(db, name)) ?? getEval(db, name);
    setStatus(db, stored.id, "retired");
    return { ...stored, status: "retired" };
  });
}
