// Watches validated evals for drift: finds out whether the judge or the agent has changed since the validation.
import { randomInt } from "node:crypto";
import type { AppContext } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { Proportion } from "../statistics/agreement.js";
import { attributeDrift, type Drift } from "../statistics/drift.js";
import { type Db, withStore } from "../store/open-store.js";
import { getRun, type RunRow } from "../traces/runs-store.js";
import { sumCost } from "../traces/task-result.js";
import { readTraces } from "../traces/traces-store.js";
import { modeFlag, OVERALL } from "./criteria.js";
import { callsModel, type EvalDefinition, type EvaluatedTrace, type StoredEval, scoreNameOf } from "./definition.js";
import { heldOutTraceIds } from "./effective-labels.js";
import { isPass, type MeasuredOutcome } from "./eval-outcome.js";
import { traceIdsToLabel } from "./labels.js";
import { openEvalBackends, outcomesBar, requireRunnable, runEvals } from "./run-evals.js";
import { shuffleByHash } from "./split-questions.js";
import { latestTest, type StoredEvalTest } from "./store.js";
import { activeEvals } from "./use-evals.js";
import { agentOfRun, type OtherAgents, otherAgents } from "./validated-agents.js";
import {
  type AnchorResult,
  findWatchHistory,
  type NewBaseline,
  saveRejudged,
  saveWatch,
  type WatchHistory,
} from "./watch-evals/watch-store.js";

/** An anchor whose result differs from the stored one. */
interface ChangedAnchor {
  readonly traceId: string;
  readonly before: AnchorResult;
  readonly now: AnchorResult;
  readonly reason: string;
}

export interface WatchedEval {
  readonly stored: StoredEval;
  readonly criterion: string;
  readonly drift: Drift;
  /** Number of traces of the validated agents, and how many of them show its pass rate. */
  readonly reference: { readonly judged: number; readonly traces: number };
  /** Number of watches since the validation. */
  readonly watches: number;
  /** Anchors of this watch with another result. */
  readonly changedAnchors: readonly ChangedAnchor[];
  /** Why the run's traces are not fresh, or null if they are. */
  readonly notFresh: "reference" | "counted" | null;
  readonly otherAgents: OtherAgents | null;
  /** US dollars, or null if a price is unknown. */
  readonly costUsd: number | null;
}

type Results = ReadonlyMap<string, { readonly result: AnchorResult; readonly reason: string }>;

/** Judged anchors, in the order of traces. */
type JudgedAnchors = readonly (ChangedAnchor & { readonly differs: boolean })[];

/** Number of anchors. */
const ANCHORS = 30;
/** How often the first watch judges the anchors again, to measure the judge's noise. */
const REPEATS = 4;
/**
 * Maximum number of traces that show a pass rate. A watch of a rubric costs at most this many calls, and the anchors.
 * If something changed, it costs as many again for the reference traces.
 */
const SAMPLE = 200;

/** Watches evals with a run: the named ones, or all active validated evals if `names` is empty. */
export function watchEvals(
  { names, run: runName }: { readonly names: readonly string[]; readonly run: string },
  context: Pick<AppContext, "settings" | "signal" | "progress">,
): Promise<{ readonly runId: string; readonly evals: readonly WatchedEval[] }> {
  return withStore(context.settings, async (db) => {
    const run = getRun(db, runName);
    const validated = watchedEvals(db, names).map((stored) => ({ stored, test: requireTest(db, stored) }));
    await requireRunnable(
      validated.map(({ stored }) => stored.definition),
      context.settings,
    );
    const bar = outcomesBar(context.progress("Watching"));
    const evals: WatchedEval[] = [];
    try {
      for (const { stored, test } of validated) {
        const judge = new WatchedJudge(db, stored.definition, { ...context, onOutcome: bar.onOutcome });
        evals.push(await watchEval(db, stored, test, run, judge));
      }
    } finally {
      bar.stop();
    }
    return { runId: run.id, evals };
  });
}

/** Returns the named evals, otherwise the active, tested ones. If none was tested, the first one leads to an error. */
function watchedEvals(db: Db, names: readonly string[]): StoredEval[] {
  const evals = activeEvals(db, names);
  const tested = evals.filter((stored) => latestTest(db, stored) !== null);
  return names.length > 0 || tested.length === 0 ? evals : tested;
}

function requireTest(db: Db, stored: StoredEval): StoredEvalTest {
  const test = latestTest(db, stored);
  if (test !== null) return test;
  const { name, version } = stored.definition;
  throw new UserError(
    "eval_untested",
    `Cannot watch ${name}@${version}: it was never validated.`,
    `Test it: ${commandLine`art-e evals test ${`${name}@${version}`}`}${modeFlag(stored.validatedFor ?? OVERALL)}`,
  );
}

async function watchEval(
  db: Db,
  stored: StoredEval,
  { report, createdAt: testedAt }: StoredEvalTest,
  run: RunRow,
  judge: WatchedJudge,
): Promise<WatchedEval> {
  const validated = { evalId: stored.id, testedAt };
  const earlier = findWatchHistory(db, validated);
  const reference = validatedTraces(db, report.criterion, earlier?.watches[0]?.runId ?? run.id);
  const first = earlier === null ? await firstWatch(judge, reference.ids) : null;
  const { judged } = first ?? (await nextWatch(judge, earlier as WatchHistory));
  const isCounted = earlier?.watches.some(({ runId }) => runId === run.id) === true;
  const notFresh = reference.runIds.has(run.id) ? "reference" : isCounted ? "counted" : null;
  const fresh = notFresh === null ? await judge.cached(sampleOf(traceIdsToLabel(db, run.id))) : NO_RESULTS;
  const watch = { runId: run.id, anchors: roundOf(judged), fresh: passRate(fresh) };
  const history = saveWatch(db, validated, first?.baseline ?? null, watch, new Date().toISOString());
  const drift = attributeDrift(history, history.watches);
  const rejudged = drift.changed === "none" ? null : passRate(await judge.again(sampleOf(reference.ids)));
  return {
    stored,
    criterion: report.criterion,
    drift: rejudged === null ? drift : attributeDrift(history, saveRejudged(db, validated, rejudged).watches),
    reference: { judged: history.reference.n, traces: reference.ids.length },
    watches: history.watches.length,
    changedAnchors: judged.filter(({ differs }) => differs).map(({ differs: _, ...anchor }) => anchor),
    notFresh,
    otherAgents: otherAgents(report, [agentOfRun(run)], run.id),
    costUsd: judge.costUsd,
  };
}

/**
 * Returns the traces of the runs or chats that the eval was validated on. If the labels are in another database, these
 * are the traces of the run that was watched first.
 */
function validatedTraces(db: Db, criterion: string, firstRunId: string) {
  const heldOut = heldOutTraceIds(db, criterion);
  const anchors = db
    .prepare("SELECT DISTINCT run_id FROM traces WHERE id IN (SELECT value FROM json_each(?))")
    .pluck()
    .all(JSON.stringify(heldOut)) as (string | null)[];
  const runIds = anchors.length === 0 ? [firstRunId] : anchors;
  return { runIds: new Set(runIds), ids: runIds.flatMap((id) => traceIdsToLabel(db, id)) };
}

function sampleOf(traceIds: readonly string[]): string[] {
  return shuffleByHash(traceIds, randomInt(2 ** 31)).slice(0, SAMPLE);
}

const NO_RESULTS: Results = new Map();

function passRate(results: Results): Proportion {
  const judged = [...results.values()].filter(({ result }) => result !== "not_applicable");
  return { successes: judged.filter(({ result }) => result === "pass").length, n: judged.length };
}

/**
 * Draws the anchors among traces of the validated agents and stores their results. The results that the same traces had
 * before, for example in the validation, count as the first watch.
 */
async function firstWatch(
  judge: WatchedJudge,
  traceIds: readonly string[],
): Promise<{ readonly judged: JudgedAnchors; readonly baseline: NewBaseline }> {
  const reference = await judge.cached(sampleOf(traceIds));
  const results = await judge.again([...reference.keys()].slice(0, ANCHORS));
  const anchors = new Map([...results].map(([traceId, { result }]) => [traceId, result]));
  const repeats: ReadonlyMap<string, boolean>[] = [];
  for (let i = 0; judge.dependsOnChance && i < REPEATS; i++) {
    repeats.push(roundOf(compare(anchors, await judge.again([...anchors.keys()]))));
  }
  return { judged: compare(anchors, reference), baseline: { anchors, repeats, reference: passRate(reference) } };
}

async function nextWatch(judge: WatchedJudge, { anchors }: WatchHistory): Promise<{ readonly judged: JudgedAnchors }> {
  return { judged: compare(anchors, await judge.again([...anchors.keys()])) };
}

function compare(anchors: WatchHistory["anchors"], results: Results): JudgedAnchors {
  return [...anchors].flatMap(([traceId, before]) => {
    const { result: now, reason = "" } = results.get(traceId) ?? {};
    return now === undefined ? [] : [{ traceId, before, now, reason, differs: before !== now }];
  });
}

function roundOf(judged: JudgedAnchors): ReadonlyMap<string, boolean> {
  return new Map(judged.map(({ traceId, differs }) => [traceId, differs]));
}

/** Runs one eval on stored traces and adds up the cost. */
class WatchedJudge {
  private readonly outcomes: MeasuredOutcome[] = [];
  private readonly scoredRuns = new Map<string, boolean>();

  constructor(
    private readonly db: Db,
    private readonly definition: EvalDefinition,
    private readonly context: Pick<AppContext, "settings" | "signal"> & { readonly onOutcome: () => void },
  ) {}

  /** Code whose results depend on chance is never validated. */
  get dependsOnChance(): boolean {
    return callsModel(this.definition);
  }

  get costUsd(): number | null {
    return sumCost(this.outcomes);
  }

  /** Returns the results per trace, without traces on which the eval failed. Uses stored scores and cached results. */
  async cached(traceIds: readonly string[]): Promise<Results> {
    const traces = [...readTraces<EvaluatedTrace>(this.db, traceIds)];
    const storedResults = new Map(traces.flatMap((trace) => this.storedResult(trace)));
    const missing = traces.filter(({ traceId }) => !storedResults.has(traceId));
    const judged = await this.run(missing, false);
    return new Map(traceIds.flatMap((id) => entryOf(id, storedResults.get(id) ?? judged.get(id))));
  }

  /** Returns the results per trace, without traces on which the eval failed. Calls the model again. */
  async again(traceIds: readonly string[]): Promise<Results> {
    const judged = await this.run([...readTraces<EvaluatedTrace>(this.db, traceIds)], true);
    if (judged.size > 0) return judged;
    const { name, version } = this.definition;
    const error = this.outcomes.findLast((outcome) => outcome.error !== null)?.error ?? "no anchor is left";
    throw new UserError(
      "eval_failing",
      `Cannot watch ${name}@${version}: it failed on all anchors: ${error}.`,
      `Fix it, or validate it again: ${commandLine`art-e evals test ${`${name}@${version}`}`}`,
    );
  }

  private async run(traces: readonly EvaluatedTrace[], isFresh: boolean): Promise<Results> {
    if (traces.length === 0) return NO_RESULTS;
    const { settings, signal, onOutcome } = this.context;
    const backends = openEvalBackends(settings, { isFresh, onOutcome });
    const outcomes = (await runEvals([this.definition], traces, backends, signal)).flat();
    this.outcomes.push(...outcomes);
    return new Map(
      traces.flatMap(({ traceId }, i) => {
        const outcome = outcomes[i];
        return outcome === undefined || outcome.error !== null
          ? []
          : entryOf(traceId, { result: anchorResult(outcome.score), reason: outcome.reason });
      }),
    );
  }

  private storedResult(trace: EvaluatedTrace): [string, { result: AnchorResult; reason: string }][] {
    const score = trace.scores[scoreNameOf(this.definition)];
    if (trace.kind === "chat" || score === undefined || score.failed === true) return [];
    if (!this.hasScored(trace.runId)) return [];
    return entryOf(trace.traceId, { result: anchorResult(score.value), reason: score.explanation ?? "" });
  }

  /** Whether the stored scores of a run come from this version. */
  private hasScored(runId: string): boolean {
    const version = `${scoreNameOf(this.definition)}@${this.definition.version}`;
    const hasScored = this.scoredRuns.get(runId) ?? getRun(this.db, runId).settings.scorers.includes(version);
    this.scoredRuns.set(runId, hasScored);
    return hasScored;
  }
}

function entryOf<T>(traceId: string, value: T | undefined): [string, T][] {
  return value === undefined ? [] : [[traceId, value]];
}

function anchorResult(score: number | null): AnchorResult {
  return score === null ? "not_applicable" : isPass(score) ? "pass" : "fail";
}
