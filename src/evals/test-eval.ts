// Tests evals: agreement with labels, contradictions to review, and validation on the held-out half.
import type { AppContext } from "../platform/app-context.js";
import { yieldBetween } from "../platform/batches.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { compact, presentProperties } from "../platform/optional-values.js";
import { clusteredRate } from "../statistics/agreement.js";
import type { Estimate } from "../statistics/estimate.js";
import { type LabelPairs, MIN_PAIRS, weightedRateIntervals } from "../statistics/label-errors.js";
import { quantile } from "../statistics/quantile.js";
import { type Db, withStore } from "../store/open-store.js";
import { sumCost } from "../traces/task-result.js";
import { PROMPT_VARIANTS, type PromptVariant } from "../traces/trace.js";
import { criterionFlag, criterionSentence } from "./criteria.js";
import {
  type Agreement,
  type Confusion,
  type Contradiction,
  callsModel,
  type EvalTest,
  isCode,
  type LabelSource,
  type StoredEval,
  type ThresholdName,
} from "./definition.js";
import { isPass, type MeasuredOutcome } from "./eval-outcome.js";
import { tableOfWeights } from "./label-error-correction.js";
import {
  countSources,
  type EffectiveLabel,
  hashLabels,
  heldOutTraceIds,
  type LabelledTrace,
  labelledPages,
  labelPairs,
  unconfirmedTraces,
} from "./labels.js";
import { openEvalBackends, outcomesBar, requireRunnable, runEvals } from "./run-evals.js";
import { evalsWithoutModels } from "./scoring-evals.js";
import type { Half } from "./split-questions.js";
import { getEval, listEvals, saveEvalTest, testNumber } from "./store.js";
import { FEW_OF_A_KIND, MIN_OF_A_KIND, rejectionsOf, requireLabels } from "./test-eval/thresholds.js";
import { agentsOfTraces } from "./validated-agents.js";

interface EvalReview {
  readonly stored: StoredEval;
  /**
   * Agreement with the training half. This is not a validation, because the eval might have been made from these
   * labels.
   */
  readonly agreement: Agreement;
  readonly contradictions: readonly Contradiction[];
}

/** A bad trace that passes every eval. */
export interface UncaughtTrace {
  readonly traceId: string;
  readonly runId: string | null;
  readonly note: string | null;
}

interface TestOptions {
  readonly name: string;
  readonly criterion: string;
  readonly thresholds: ThresholdName;
  /** Whether a rubric's model judges every trace again, without cached results. */
  readonly fresh?: boolean;
}

interface TestedEval {
  readonly stored: StoredEval;
  readonly test: EvalTest;
}

interface HalfRun {
  readonly tested: readonly (TestedTrace & { readonly traceId: string })[];
  /** Number of labels that do not count, because they are not by people. */
  readonly others: number;
  /** Number of labels without information on how their traces were drawn. */
  readonly unknownDraws: number;
  readonly contradictions: readonly Contradiction[];
  readonly latencyMs: EvalTest["latencyMs"];
  /** US dollars, or null if a price is unknown. */
  readonly costUsdPerTrace: number | null;
  readonly labelsHash: string;
}

interface HalfRequest extends Pick<AppContext, "settings"> {
  /** Called for each trace that an eval outside this process has judged. */
  readonly onOutcome: () => void;
  readonly criterion: string;
  readonly half: Half;
  readonly isFresh?: boolean;
  /** Divides a page of traces into batches that are handed to the eval together. */
  readonly batchesOf?: (page: LabelledTrace[]) => LabelledTrace[][];
  /** Another form of the prompt. */
  readonly variant?: PromptVariant;
}

/** A labeled trace with the eval's result. */
export interface TestedTrace {
  /** Traces of the same question are dependent. */
  readonly question: string;
  readonly bad: boolean;
  /** Who labeled it. */
  readonly source: LabelSource;
  /** 1 if every trace had the same chance to be labeled. */
  readonly weight: number;
  readonly score: number | null;
  readonly error: string | null;
}

interface ScoredTrace {
  readonly question: string;
  readonly good: boolean;
  readonly weight: number;
  readonly passed: boolean;
}

/** Lists the contradictions between an eval and the training labels. Never reads the held-out half. */
export function reviewEval(
  name: string,
  criterion: string,
  { settings, signal, progress }: Pick<AppContext, "settings" | "signal" | "progress">,
): Promise<EvalReview> {
  return withStore(settings, async (db) => {
    const stored = getEval(db, name);
    await requireRunnable([stored.definition], settings);
    const bar = outcomesBar(progress("Reviewing"));
    const request = { criterion, half: "training", settings, onOutcome: bar.onOutcome } as const;
    const { tested, contradictions } = await runOnHalf(db, stored, request, signal).finally(bar.stop);
    return { stored, agreement: measureAgreement(tested), contradictions };
  });
}

/** Lists the bad training traces that no eval in use and no newest draft fails. They suggest the next criterion. */
export function reviewUncaught(
  criterion: string,
  { settings, signal }: Pick<AppContext, "settings" | "signal">,
): Promise<readonly UncaughtTrace[]> {
  return withStore(settings, async (db) => {
    const evals = evalsWithoutModels(newestOf(listEvals(db)));
    const uncaught: UncaughtTrace[] = [];
    for await (const labelled of yieldBetween(labelledPages(db, criterion, "training"))) {
      signal.throwIfAborted();
      const bad = labelled.filter(({ label }) => label.label === "bad");
      const outcomes = await evals.run(
        bad.map(({ trace }) => trace),
        signal,
      );
      for (const [i, { trace, label }] of bad.entries()) {
        if (outcomes[i]?.some(({ score }) => score !== null && !isPass(score)) === true) continue;
        uncaught.push({ traceId: trace.traceId, runId: trace.kind === "chat" ? null : trace.runId, note: label.note });
      }
    }
    return uncaught;
  });
}

/** Returns the version in use of each eval, otherwise the newest version that is not retired. */
export function newestOf(all: readonly StoredEval[]): StoredEval[] {
  const byName = new Map<string, StoredEval>();
  for (const stored of all) {
    if (stored.status === "retired") continue;
    const { name } = stored.definition;
    if (byName.get(name)?.status !== "active") byName.set(name, stored);
  }
  return [...byName.values()];
}

/** After this many tests, the held-out traces themselves have influenced the choice of evals. */
const MANY_READS = 5;

/** Tests an eval on the held-out half and records that it was read. */
export function testEval(
  { name, criterion, thresholds, fresh: isFresh = false }: TestOptions,
  context: Pick<AppContext, "settings" | "signal" | "progress">,
): Promise<TestedEval> {
  const { settings } = context;
  return withStore(settings, async (db) => {
    const stored = getEval(db, name);
    if (stored.definition.kind === "cases") {
      throw new UserError(
        "eval_untestable",
        `Cannot test ${stored.definition.name}: each of its cases is for a single task, so nothing is held out.`,
        `Activate it without a test: ${commandLine`art-e evals use ${stored.definition.name}`}`,
      );
    }
    await requireRunnable([stored.definition], settings);
    const { half, pairs, agreement, variants } = await runTest(db, stored, { criterion, isFresh }, context);
    const test = saveEvalTest(
      db,
      stored.id,
      {
        criterion,
        agents: agentsOfTraces(
          db,
          half.tested.map(({ traceId }) => traceId),
        ),
        labelsHash: half.labelsHash,
        agreement,
        latencyMs: half.latencyMs,
        costUsdPerTrace: half.costUsdPerTrace,
        ...presentProperties({ variants }),
        thresholds,
        rejections: rejectionsOf(thresholds, {
          agreement,
          kind: stored.definition.kind,
          readsByThisEval: testNumber(db, stored.id, { criterion, agreement }).number,
        }),
        warnings: [
          ...warningsOf(half, agreement, pairs),
          ...unconfirmedWarning(db, criterion),
          ...variantWarnings(variants),
        ],
      },
      half.tested.map(({ traceId }) => traceId),
      new Date().toISOString(),
    );
    if (test.heldOutReads <= MANY_READS) return { stored, test };
    const warning = `some held-out traces have been used in ${test.heldOutReads} tests, so they cannot validate evals that these tests helped to choose`;
    return { stored, test: { ...test, warnings: [...test.warnings, warning] } };
  });
}

/**
 * Runs an eval on the held-out half, and again with other forms of its prompt or in another order. Throws a UserError
 * if its outcomes cannot be measured.
 */
async function runTest(
  db: Db,
  stored: StoredEval,
  { criterion, isFresh }: { readonly criterion: string; readonly isFresh: boolean },
  { settings, signal, progress }: Pick<AppContext, "settings" | "signal" | "progress">,
) {
  const { definition } = stored;
  const runs = 1 + (callsModel(definition) ? PROMPT_VARIANTS.length : 0) + (isCode(definition) ? 1 : 0);
  const bar = outcomesBar(progress("Testing"), () => runs * heldOutTraceIds(db, criterion).length);
  const request: HalfRequest = { criterion, half: "heldout", settings, isFresh, onOutcome: bar.onOutcome };
  try {
    const half = await runOnHalf(db, stored, request, signal);
    const pairs = labelPairs(db, criterion);
    const agreement = { ...measureAgreement(half.tested), ...presentProperties({ labelPairs: pairs }) };
    requireOutcomes(stored, half, agreement, criterion);
    const variants = callsModel(definition) ? await compareVariants(db, stored, half, request, signal) : undefined;
    if (isCode(definition)) await refuseFlaky(db, stored, half, request, signal);
    return { half, pairs, agreement, variants };
  } finally {
    bar.stop();
  }
}

/** Traces of each page that are handed over alone in a second run, and the size of the other batches. */
const ALONE = 5;
const BATCH = 7;

/** Returns the traces in reverse order in small batches, some of them alone. */
function otherBatches(page: readonly LabelledTrace[]): LabelledTrace[][] {
  const reversed = page.toReversed();
  const alone = reversed.slice(0, ALONE).map((one) => [one]);
  const rest = reversed.slice(ALONE);
  return [
    ...alone,
    ...Array.from({ length: Math.ceil(rest.length / BATCH) }, (_, i) => rest.slice(i * BATCH, (i + 1) * BATCH)),
  ];
}

/**
 * Throws if a second run, in another order and in other batches, gives different scores. Such scores cannot be
 * validated: they depend on chance, on time, or on the other traces of the batch, for example on a percentile.
 */
async function refuseFlaky(
  db: Db,
  stored: StoredEval,
  { tested: before }: HalfRun,
  request: HalfRequest,
  signal: AbortSignal,
): Promise<void> {
  const { tested } = await runOnHalf(db, stored, { ...request, batchesOf: otherBatches }, signal);
  const scores = new Map(before.map(({ traceId, score }) => [traceId, score]));
  const others = tested.filter(({ traceId, score }) => score !== scores.get(traceId));
  if (others.length === 0) return;
  const { name, version } = stored.definition;
  throw new UserError(
    "eval_flaky",
    `Cannot test ${name}@${version}: its scores for ${others.length} of ${tested.length} held-out traces changed in a second run, in another order.`,
    "Its scores must depend only on the trace. Make its code independent of randomness, the time, set order and other traces.",
  );
}

/** Below this agreement between two forms of a prompt, a warning says that results depend on the form. */
const LOW_VARIANT_AGREEMENT = 0.9;

/** Runs an eval with other forms of its prompt on the held-out half, and compares the results. */
async function compareVariants(
  db: Db,
  stored: StoredEval,
  { tested: before }: HalfRun,
  request: HalfRequest,
  signal: AbortSignal,
): Promise<NonNullable<EvalTest["variants"]>> {
  const first = new Map(before.map((one) => [one.traceId, one]));
  const variants: NonNullable<EvalTest["variants"]>[number][] = [];
  for (const variant of PROMPT_VARIANTS) {
    const { tested } = await runOnHalf(db, stored, { ...request, variant }, signal);
    const pairs = tested.flatMap((now) => {
      const base = first.get(now.traceId);
      if (base === undefined || base.error !== null || now.error !== null) return [];
      return [{ question: now.question, weight: now.weight, base: resultOf(base), other: resultOf(now) }];
    });
    variants.push({
      variant,
      agreement: clusteredRate(
        pairs.map(({ question, weight, base, other }) => ({ success: base === other, cluster: question, weight })),
      ),
      passedOnly: pairs.filter(({ base, other }) => base !== other && other === "passed").length,
      failedOnly: pairs.filter(({ base, other }) => base !== other && other === "failed").length,
    });
  }
  return variants;
}

function resultOf({ score }: TestedTrace): "passed" | "failed" | "not applicable" {
  if (score === null) return "not applicable";
  return isPass(score) ? "passed" : "failed";
}

function variantWarnings(variants: EvalTest["variants"] = []): string[] {
  return variants.flatMap(({ variant, agreement: { value, n } }) =>
    value === null || value >= LOW_VARIANT_AGREEMENT
      ? []
      : [`the results agree on only ${Math.round(value * n)} of ${n} traces with another ${variant} of the prompt`],
  );
}

/**
 * Runs an eval on the labeled traces of one half. Only people's labels validate it, and a judge is compared only with
 * people in both halves.
 */
async function runOnHalf(
  db: Db,
  { definition }: Pick<StoredEval, "definition">,
  { criterion, half, settings, isFresh = false, variant, batchesOf = (page) => [page], onOutcome }: HalfRequest,
  signal: AbortSignal,
): Promise<HalfRun> {
  const backends = openEvalBackends(settings, { isFresh, variant, onOutcome });
  const withOthers = half === "training" && definition.kind !== "judge";
  const counts = ({ label }: LabelledTrace) => withOthers || label.source === "person";
  const tested: HalfRun["tested"][number][] = [];
  const contradictions: Contradiction[] = [];
  const outcomes: MeasuredOutcome[] = [];
  let unknownDraws = 0;
  const used: EffectiveLabel[] = [];
  let others = 0;
  for await (const labelled of yieldBetween(batched(labelledPages(db, criterion, half), batchesOf))) {
    signal.throwIfAborted();
    const page = labelled.filter(counts);
    others += labelled.length - page.length;
    used.push(...page.map(({ label }) => label));
    unknownDraws += page.filter(({ label }) => label.drawn === "unknown").length;
    const traces = page.map(({ trace }) => trace);
    const ofPage = (await runEvals([definition], traces, backends, signal)).flat();
    for (const [i, outcome] of ofPage.entries()) {
      const labelled = page[i];
      if (labelled === undefined) continue;
      const { score, error } = outcome;
      tested.push({
        traceId: labelled.trace.traceId,
        question: labelled.question,
        bad: labelled.label.label === "bad",
        source: labelled.label.source,
        weight: labelled.label.weight,
        score,
        error,
      });
      contradictions.push(...contradictionOf(labelled, outcome));
    }
    outcomes.push(...ofPage);
  }
  const times = outcomes.map(({ ms }) => ms);
  const cost = sumCost(outcomes);
  return {
    tested,
    others,
    contradictions,
    unknownDraws,
    latencyMs: { p50: quantile(times, 0.5) ?? 0, p95: quantile(times, 0.95) ?? 0 },
    costUsdPerTrace: cost === null || outcomes.length === 0 ? cost : cost / outcomes.length,
    labelsHash: hashLabels(used, criterionSentence(db, criterion)),
  };
}

function* batched<T>(pages: Iterable<T[]>, batchesOf: (page: T[]) => T[][]): Generator<T[]> {
  for (const page of pages) yield* batchesOf(page);
}

function contradictionOf({ trace, label }: LabelledTrace, { score, reason }: MeasuredOutcome): Contradiction[] {
  if (score === null || isPass(score) === (label.label === "good")) return [];
  const [runId, taskId] = trace.kind === "chat" ? [null, null] : [trace.runId, trace.taskId];
  return [{ traceId: trace.traceId, runId, taskId, label: label.label, note: label.note, score, reason }];
}

/**
 * Throws if too few traces were judged to measure an eval. The error says whether there are too few labels or the eval
 * fails.
 */
function requireOutcomes(
  { definition }: StoredEval,
  { tested, others }: HalfRun,
  agreement: Agreement,
  criterion: string,
) {
  const { good, bad, errors } = agreement;
  const isShort = Math.min(good, bad) < MIN_OF_A_KIND;
  const labelled = countLabels(tested);
  if (isShort && Math.min(labelled.good, labelled.bad) >= MIN_OF_A_KIND) {
    const label = `${definition.name}@${definition.version}`;
    if (errors === 0) {
      throw new UserError(
        "eval_silent",
        `Cannot test ${label}: it judges only ${good} of ${labelled.good} good and ${bad} of ${labelled.bad} bad held-out traces.`,
        definition.kind === "rules"
          ? `Label more traces that it applies to: ${commandLine`art-e evals label`}${criterionFlag(criterion)}`
          : "Make it apply to more traces. Traces it does not apply to neither pass nor fail.",
      );
    }
    const first = tested.find(({ error }) => error !== null)?.error;
    throw new UserError(
      "eval_failing",
      `Cannot test ${label}: it failed on ${errors} of ${tested.length} held-out traces: ${first}.`,
      `Fix the eval (${commandLine`art-e evals show ${definition.name} --code`} prints it).`,
    );
  }
  requireLabels({ half: "held-out", good, bad, criterion, others });
}

function countLabels(tested: readonly TestedTrace[]): { good: number; bad: number } {
  const bad = tested.filter((one) => one.bad).length;
  return { good: tested.length - bad, bad };
}

/** Total weights of the traces labeled good and bad. */
function sumWeights(tested: readonly TestedTrace[]): { good: number; bad: number } {
  const sums = { good: 0, bad: 0 };
  for (const { bad, weight } of tested) sums[bad ? "bad" : "good"] += weight;
  return sums;
}

function warningsOf({ tested, unknownDraws }: HalfRun, { good, bad }: Agreement, pairs: LabelPairs | null): string[] {
  return compact([
    unknownDraws > 0 &&
      `${unknownDraws} of ${tested.length} labels do not specify how their traces were drawn: the figures apply to a run only if each of its traces had the same chance`,
    Math.min(good, bad) < FEW_OF_A_KIND &&
      `only ${good} good and ${bad} bad traces: intervals are wide with fewer than ${FEW_OF_A_KIND} of each`,
    pairs === null &&
      `fewer than ${MIN_PAIRS} traces were labeled twice, so the rates cannot be corrected for wrong labels`,
  ]);
}

/** Says that bad labels come from notes that were written once. One wrong note counts much if few traces are bad. */
function unconfirmedWarning(db: Db, criterion: string): string[] {
  const { length } = unconfirmedTraces(db, criterion);
  if (length === 0) return [];
  const command = commandLine`art-e evals label --criterion ${criterion} --confirm`;
  return [`${length} bad labels come from notes that were written once. Look at these traces again: ${command}`];
}

/** Computes all measures of the agreement between an eval and the labels, as weighted rates. */
export function measureAgreement(tested: readonly TestedTrace[]): Agreement {
  const judged = tested.filter(({ score }) => score !== null);
  const scored = judged.map(({ question, bad, weight, score }) => ({
    question,
    weight,
    good: !bad,
    passed: isPass(score ?? 0),
  }));
  const errors = tested.filter(({ error }) => error !== null).length;
  const [labelled, applies] = [sumWeights(tested), sumWeights(judged)];
  const share = (some: number, all: number) => (all === 0 ? null : some / all);
  const good = scored.filter((one) => one.good);
  const bad = scored.filter((one) => !one.good);
  const weighted = scored.some(({ weight }) => weight !== 1) ? weightsOf(scored) : null;
  const intervals = weighted && weightedRateIntervals(tableOfWeights(weighted));
  return {
    good: good.length,
    bad: bad.length,
    sources: countSources(tested),
    notApplicable: tested.length - scored.length - errors,
    errors,
    judged: { good: share(applies.good, labelled.good), bad: share(applies.bad, labelled.bad) },
    truePositiveRate: rateOf(good, ({ passed }) => passed, intervals?.truePositive),
    trueNegativeRate: rateOf(bad, ({ passed }) => !passed, intervals?.trueNegative),
    falseFailureRate: rateOf(good, ({ passed }) => !passed, intervals && complementOf(intervals.truePositive)),
    confusion: confusionOf(scored),
    ...presentProperties({ weighted }),
  };
}

interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** Returns the weighted rate. Weighted traces have an interval of their own. */
function rateOf(
  traces: readonly ScoredTrace[],
  isSuccess: (one: ScoredTrace) => boolean,
  interval: Bounds | null | undefined,
): Estimate {
  const rate = clusteredRate(
    traces.map((one) => ({ success: isSuccess(one), cluster: one.question, weight: one.weight })),
  );
  const { value } = rate;
  if (interval == null || value === null) return rate;
  return {
    ...rate,
    low: Math.min(interval.low, value),
    high: Math.max(interval.high, value),
    method: "bootstrap",
  };
}

function complementOf({ low, high }: Bounds): Bounds {
  return { low: 1 - high, high: 1 - low };
}

function cellOf({ good, passed }: ScoredTrace) {
  return `${good ? "good" : "bad"}${passed ? "Passed" : "Failed"}` as const;
}

function confusionOf(scored: readonly ScoredTrace[]): Confusion {
  const cells = { goodPassed: 0, goodFailed: 0, badPassed: 0, badFailed: 0 };
  for (const one of scored) cells[cellOf(one)]++;
  return cells;
}

/**
 * Returns the weights per cell of the confusion table. The traces of a question count as one with their total weight.
 */
function weightsOf(scored: readonly ScoredTrace[]): NonNullable<Agreement["weighted"]> {
  const totals = { goodPassed: 0, goodFailed: 0, badPassed: 0, badFailed: 0 };
  const squares = { ...totals };
  for (const one of sumsByQuestion(scored, cellOf)) {
    totals[one.key] += one.weight;
    squares[one.key] += one.weight ** 2;
  }
  const byOutcome = { passed: [] as number[], failed: [] as number[] };
  for (const one of sumsByQuestion(scored, ({ passed }) => (passed ? "passed" : "failed")))
    byOutcome[one.key].push(one.weight);
  const overall = expectedWeight([...byOutcome.passed, ...byOutcome.failed]);
  const next = (weights: readonly number[]) =>
    (weights.length * expectedWeight(weights) + PRIOR_TRACES * overall) / (weights.length + PRIOR_TRACES);
  return { ...totals, squares, next: { passed: next(byOutcome.passed), failed: next(byOutcome.failed) } };
}

/**
 * A few traces with an outcome can all have low weights by chance. Therefore the expected weight of one more is
 * averaged with that of any trace, which counts like this many traces.
 */
const PRIOR_TRACES = 2;

/** Returns the mean weight over all the traces that the labeled ones stand for. */
function expectedWeight(weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return total === 0 ? 0 : weights.reduce((sum, weight) => sum + weight ** 2, 0) / total;
}

function sumsByQuestion<K extends string>(scored: readonly ScoredTrace[], keyOf: (one: ScoredTrace) => K) {
  const sums = new Map<string, { readonly key: K; weight: number }>();
  for (const one of scored) {
    const key = keyOf(one);
    const id = `${key} ${one.question}`;
    const sum = sums.get(id) ?? { key, weight: 0 };
    sum.weight += one.weight;
    sums.set(id, sum);
  }
  return sums.values();
}
