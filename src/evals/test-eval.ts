// Validates an eval on labels that it was not made from: repeats it to find results that change, and records that they
// were read.
import { createHash } from "node:crypto";
import type { AppContext } from "../platform/app-context.js";
import { chunk } from "../platform/batches.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { compact, presentProperties } from "../platform/optional-values.js";
import { clusteredRate } from "../statistics/agreement.js";
import type { LabelPairs } from "../statistics/label-errors.js";
import { type Db, withStore } from "../store/open-store.js";
import { PROMPT_VARIANTS } from "../traces/judgment.js";
import { modeFlag, OVERALL } from "./criteria.js";
import {
  type Agreement,
  callsModel,
  type EvalTest,
  type EvaluatedTrace,
  halfOfTest,
  isCode,
  type StoredEval,
  type ThresholdName,
} from "./definition.js";
import { heldOutTraceIds, isTrainingHalfCorrected, type LabeledTrace } from "./effective-labels.js";
import { isPass } from "./eval-outcome.js";
import { labelPairs } from "./label-agreement.js";
import { wrongLabelsText } from "./label-error-correction.js";
import { labeledTracesWord, unconfirmedTraces } from "./labels.js";
import { outcomesBar, requireRunnable } from "./run-evals.js";
import { firstMadeForModeAt, getEval, modesOfEval, newestDrafts, saveEvalTest, testNumber } from "./store.js";
import { measureAgreement, type TestedTrace } from "./test-eval/agreement.js";
import { CrossFitting, chosenEval } from "./test-eval/cross-fitting.js";
import { type HalfRequest, type HalfRun, runOnHalf } from "./test-eval/run-on-half.js";
import { FEW_OF_A_KIND, MIN_OF_A_KIND, rejectionsOf, requireLabels } from "./test-eval/thresholds.js";
import { agentsOfTraces } from "./validated-agents.js";

interface TestOptions {
  readonly criterion: string;
  readonly thresholds: ThresholdName;
  /** Whether a rubric's model judges every trace again, without cached results. */
  readonly fresh?: boolean;
}

export interface TestedEval {
  readonly stored: StoredEval;
  readonly criterion: string;
  readonly test: EvalTest;
}

/** An eval that could not be tested for a criterion, for example because of too few labels. */
export interface UntestedEval extends Omit<TestedEval, "test"> {
  readonly test: null;
  readonly error: UserError;
}

/** After this many tests, the held-out traces themselves have influenced the choice of evals. */
const MANY_READS = 5;

/**
 * Tests the named evals, otherwise all drafts: for `criterion`, otherwise for all modes that they were made for or
 * tested for. If there are several tests, a UserError of one does not stop the others.
 */
export async function testEvals(
  {
    names,
    criterion,
    ...options
  }: Omit<TestOptions, "criterion"> & {
    readonly names: readonly string[];
    readonly criterion?: string | undefined;
  },
  context: Pick<AppContext, "settings" | "signal" | "progress">,
): Promise<readonly (TestedEval | UntestedEval)[]> {
  return withStore(context.settings, async (db) => {
    const requests = evalsToTest(db, names).flatMap((stored) => {
      const made = criterion === undefined ? modesOfEval(db, stored) : [criterion];
      return (made.length === 0 ? [OVERALL] : made).map((mode) => ({ stored, criterion: mode }));
    });
    const fitting = new CrossFitting(db);
    const tested: (TestedEval | UntestedEval)[] = [];
    for (const request of requests) {
      context.signal.throwIfAborted();
      try {
        tested.push(await testStored(db, { ...options, ...request }, fitting, context));
      } catch (error) {
        if (requests.length === 1 || !(error instanceof UserError)) throw error;
        tested.push({ ...request, test: null, error });
      }
    }
    return tested;
  });
}

/** Returns the named evals, otherwise all drafts that need a test. */
function evalsToTest(db: Db, names: readonly string[]): StoredEval[] {
  if (names.length > 0) return names.map((name) => getEval(db, name));
  const drafts = newestDrafts(db).filter(({ definition }) => definition.kind !== "cases");
  if (drafts.length > 0) return drafts;
  throw new UserError(
    "evals_none",
    "There is no draft to test.",
    `Make one (${commandLine`art-e evals suggest`}), or name an eval.`,
  );
}

/** Tests an eval on the held-out half, or by cross-fitting, and records that the labels were read. */
export function testEval(
  { name, ...options }: TestOptions & { readonly name: string },
  context: Pick<AppContext, "settings" | "signal" | "progress">,
): Promise<TestedEval> {
  return withStore(context.settings, (db) =>
    testStored(db, { ...options, stored: getEval(db, name) }, new CrossFitting(db), context),
  );
}

async function testStored(
  db: Db,
  { stored, criterion, thresholds, fresh: isFresh = false }: TestOptions & Pick<TestedEval, "stored">,
  fitting: CrossFitting,
  context: Pick<AppContext, "settings" | "signal" | "progress">,
): Promise<TestedEval> {
  const { id, definition } = stored;
  if (definition.kind === "cases") {
    throw new UserError(
      "eval_untestable",
      `Cannot test ${definition.name}: each of its cases is for a single task, so nothing is held out.`,
      `Activate it without a test: ${commandLine`art-e evals use ${definition.name}`}`,
    );
  }
  await requireRunnable([definition], context.settings);
  const { half, pairs, agreement, variants, crossFitted } = await runTest(
    db,
    stored,
    { criterion, isFresh },
    fitting,
    context,
  );
  const traceIds = half.tested.map(({ traceId }) => traceId);
  const test = saveEvalTest(
    db,
    id,
    {
      criterion,
      agents: agentsOfTraces(db, traceIds),
      labelsHash: half.labelsHash,
      ...presentProperties({ crossFitted }),
      agreement,
      latencyMs: half.latencyMs,
      costUsdPerTrace: half.costUsdPerTrace,
      ...presentProperties({ variants }),
      thresholds,
      rejections: rejectionsOf(thresholds, {
        agreement,
        kind: definition.kind,
        readsByThisEval: testNumber(db, id, { criterion, agreement }).number,
      }),
      warnings: [
        ...warningsOf(half, agreement, pairs),
        ...(crossFitted === "heldout" ? [CORRECTED] : []),
        ...unconfirmedWarning(db, criterion),
        ...variantWarnings(variants),
      ],
    },
    traceIds,
    new Date().toISOString(),
  );
  if (test.heldOutReads <= MANY_READS) return { stored, criterion, test };
  const warning = `some of these traces have been used in ${test.heldOutReads} tests, so they cannot validate evals that these tests helped to choose`;
  return { stored, criterion, test: { ...test, warnings: [...test.warnings, warning] } };
}

/**
 * Compares an eval with the labels that test it. Runs it again with other forms of its prompt or in another order.
 * Throws a UserError if its outcomes cannot be measured.
 */
async function runTest(
  db: Db,
  stored: StoredEval,
  { criterion, isFresh }: { readonly criterion: string; readonly isFresh: boolean },
  fitting: CrossFitting,
  { settings, signal, progress }: Pick<AppContext, "settings" | "signal" | "progress">,
) {
  const { definition } = stored;
  const measured = (half: HalfRun) => {
    const pairs = labelPairs(db, criterion);
    return {
      half,
      pairs,
      agreement: { ...measureAgreement(half.tested), ...presentProperties({ labelPairs: pairs }) },
    };
  };
  const chosen = chosenEval(db, stored, criterion);
  if (chosen !== null) {
    const crossFitted = isTrainingCorrected(db, criterion) ? "heldout" : "both";
    const test = measured(fitting.test(chosen, halfOfTest({ crossFitted })));
    requireOutcomes(db, stored, test, { criterion, isHeldOut: crossFitted === "heldout" });
    return { ...test, crossFitted, variants: undefined } as const;
  }
  const runs = 1 + (callsModel(definition) ? PROMPT_VARIANTS.length : 0) + (isCode(definition) ? 1 : 0);
  const bar = outcomesBar(progress("Testing"), () => runs * heldOutTraceIds(db, criterion).length);
  const request: HalfRequest = { criterion, settings, isFresh, onOutcome: bar.onOutcome, half: "heldout" };
  try {
    const test = measured(await runOnHalf(db, stored, request, signal));
    requireOutcomes(db, stored, test, { criterion, isHeldOut: true });
    if (isCode(definition)) await refuseFlaky(db, stored, test.half, request, signal);
    const variants = callsModel(definition) ? await compareVariants(db, stored, test.half, request, signal) : undefined;
    return { ...test, crossFitted: undefined, variants };
  } finally {
    bar.stop();
  }
}

/** Traces of each page that are handed over alone in a second run, and the size of the other batches. */
const ALONE = 5;

const BATCH = 7;

/** Returns the traces in reverse order in small batches, some of them alone. */
function* otherBatches(page: readonly LabeledTrace[]): Generator<readonly LabeledTrace[]> {
  const reversed = page.toReversed();
  yield* chunk(reversed.slice(0, ALONE), 1);
  yield* chunk(reversed.slice(ALONE), BATCH);
}

/**
 * Throws if a second run, in another order, in other batches and with other ids and start times, gives different
 * scores. Such scores cannot be validated: they depend on chance, on time, on the other traces of the batch (for
 * example on a percentile), or on what identifies a labeled trace, which says nothing about new traces.
 */
async function refuseFlaky(
  db: Db,
  stored: StoredEval,
  { tested: before }: HalfRun,
  request: HalfRequest,
  signal: AbortSignal,
): Promise<void> {
  const { tested } = await runOnHalf(db, stored, { ...request, batchesOf: otherBatches, shown: withOtherIds }, signal);
  const scores = new Map(before.map(({ traceId, score }) => [traceId, score]));
  const others = tested.filter(({ traceId, score }) => score !== scores.get(traceId));
  if (others.length === 0) return;
  const { name, version } = stored.definition;
  throw new UserError(
    "eval_flaky",
    `Cannot test ${name}@${version}: its scores for ${others.length} of ${tested.length} labeled traces changed in a second run, in another order and with other ids and start times.`,
    "Its scores must depend only on the agent's work. Make its code independent of randomness, the time, set order, other traces, and the ids and start times of traces, tasks and runs.",
  );
}

/** Returns the same work under other ids, at another time. */
function withOtherIds(trace: EvaluatedTrace): EvaluatedTrace {
  const digest = (id: unknown) =>
    createHash("sha256")
      .update(`other ${String(id)}`)
      .digest();
  const text = (id: string) => id.replace(/[^_]*$/, () => digest(id).toString("hex").slice(0, 12));
  const id = <T extends string | number>(one: T) =>
    (typeof one === "number" ? digest(one).readUInt32BE() : text(one)) as T;
  const later = (time: string) => {
    const ms = Date.parse(time);
    return Number.isNaN(ms) ? time : new Date(ms + LATER_MS).toISOString();
  };
  const { traceId, sessionId, startedAt, endedAt, turns, toolCalls } = trace;
  const other = {
    traceId: text(traceId),
    sessionId: text(sessionId),
    startedAt: later(startedAt),
    endedAt: later(endedAt),
    turns: turns.map(({ responseId: _, ...turn }) => ({ ...turn, startedAt: later(turn.startedAt) })),
    toolCalls: toolCalls.map((call) => ({ ...call, startedAt: later(call.startedAt) })),
  };
  if (trace.kind === "chat") return { ...trace, ...other };
  const taskId = id(trace.taskId);
  const task = { ...trace.task, id: taskId };
  return { ...trace, ...other, runId: text(trace.runId), taskId, task } as EvaluatedTrace;
}

const LATER_MS = 1_000 * 24 * 3_600_000;

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
      return [{ question: now.question, weight: now.weight, base: testedResult(base), other: testedResult(now) }];
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

function testedResult({ score }: TestedTrace): "passed" | "failed" | "not applicable" {
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
 * Throws if too few traces were judged to measure an eval. The error says whether there are too few labels or the eval
 * fails.
 */
function requireOutcomes(
  db: Db,
  { definition }: StoredEval,
  { half: { tested, others }, agreement }: { readonly half: HalfRun; readonly agreement: Agreement },
  { criterion, isHeldOut }: { readonly criterion: string; readonly isHeldOut: boolean },
) {
  const { good, bad, errors } = agreement;
  const isShort = Math.min(good, bad) < MIN_OF_A_KIND;
  const labeled = countLabels(tested);
  if (isShort && Math.min(labeled.good, labeled.bad) >= MIN_OF_A_KIND) {
    const label = `${definition.name}@${definition.version}`;
    if (errors === 0) {
      throw new UserError(
        "eval_silent",
        `Cannot test ${label}: it judges only ${good} of ${labeled.good} good and ${bad} of ${labeled.bad} bad traces.`,
        definition.kind === "rules"
          ? `Label more traces that it applies to: ${commandLine`art-e evals label ${labeledTracesWord(db, criterion)}`}${modeFlag(criterion)}`
          : "Make it apply to more traces. Traces it does not apply to neither pass nor fail.",
      );
    }
    const first = tested.find(({ error }) => error !== null)?.error;
    throw new UserError(
      "eval_failing",
      `Cannot test ${label}: it failed on ${errors} of ${tested.length} labeled traces: ${first}.`,
      `Fix the eval (${commandLine`art-e evals show ${definition.name} --code`} prints it).`,
    );
  }
  requireLabels(db, { half: isHeldOut ? "held-out" : null, good, bad, criterion, others });
}

function countLabels(tested: readonly TestedTrace[]): { good: number; bad: number } {
  const bad = tested.filter((one) => one.bad).length;
  return { good: tested.length - bad, bad };
}

function warningsOf({ tested, unknownDraws }: HalfRun, { good, bad }: Agreement, pairs: LabelPairs | null): string[] {
  return compact([
    unknownDraws > 0 &&
      `${unknownDraws} of ${tested.length} labels do not specify how their traces were drawn: the figures apply to a run only if each of its traces had the same probability`,
    Math.min(good, bad) < FEW_OF_A_KIND &&
      `only ${good} good and ${bad} bad traces: intervals are wide with fewer than ${FEW_OF_A_KIND} of each`,
    pairs === null && wrongLabelsText(null),
  ]);
}

const CORRECTED =
  "labels that are not held out for tests were changed after the first eval for this mode, so only the held-out ones count";

/** Labels that were corrected with the help of an eval, or of an earlier version, cannot validate it. */
function isTrainingCorrected(db: Db, criterion: string): boolean {
  const since = firstMadeForModeAt(db, criterion);
  return since !== null && isTrainingHalfCorrected(db, criterion, since);
}

/** Says that bad labels come from notes that were written once. One wrong note counts much if few traces are bad. */
function unconfirmedWarning(db: Db, criterion: string): string[] {
  const { length } = unconfirmedTraces(db, criterion);
  if (length === 0) return [];
  const command = commandLine`art-e evals label ${[...labeledTracesWord(db, criterion), "--confirm"]} --mode ${criterion}`;
  return [`${length} bad labels come from notes that were written once. Look at these traces again: ${command}`];
}
