import pLimit from "p-limit";
import { z } from "zod";
import { addCost } from "../models/model.js";
import type { AppContext } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { readNamedFile } from "../platform/files.js";
import { firstIssue } from "../platform/json.js";
import { type Calibration, calibration, type Label, type LabelledVerdict } from "../scoring/calibration.js";
import {
  anyCheapModel,
  createJudge,
  JUDGE_CONCURRENCY,
  JUDGE_TIMEOUT_MS,
  type JudgeOptions,
  judgeExtras,
  judgeSettings,
} from "../scoring/judge-settings.js";
import { clusteredRate, correctedRate, independentTrials } from "../statistics/agreement.js";
import type { Estimate } from "../statistics/estimate.js";
import { withStore } from "../store/open-store.js";
import { count } from "../text/format.js";
import { iterateResults } from "../traces/results-store.js";
import { getRun } from "../traces/runs-store.js";
import type { Judge, JudgeSettings } from "../traces/trace.js";

interface CalibrateOptions extends JudgeOptions {
  readonly labels: string;
  /** Run whose rate of correct answers is corrected for the judge's errors. */
  readonly run?: string | undefined;
}

/** The rate of correct answers in a run. */
interface CorrectedRun {
  readonly runId: string;
  /** The rate according to the judge. */
  readonly observed: Estimate;
  /** The rate corrected for the judge's errors on the labeled answers. Without a value if these are as for chance. */
  readonly corrected: Estimate;
}

/** Measures a judge on answers graded by people. Throws a UserError if the run was graded by another judge. */
export async function calibrateJudge(options: CalibrateOptions, context: AppContext) {
  const { settings, note, signal } = context;
  const items = readLabels(options.labels);
  const graded = options.run === undefined ? null : await readGradedRun(options.run, settings);
  const judge = judgeSettings(options, graded?.judge ?? null, anyCheapModel(settings.env), settings.env);
  if (judge === null) {
    throw new UserError(
      "judge_missing",
      "No judge to calibrate.",
      "Pass --judge PROVIDER/MODEL, or set a provider's API key.",
    );
  }
  if (graded !== null) refuseOtherJudge(graded, judge);
  const connection = { timeoutMs: JUDGE_TIMEOUT_MS, throttle: null, note, given: judgeExtras(options) };
  const created = await createJudge(judge, settings, connection);
  const bar = context.progress("Judging");
  const showProgress = (judged: number) => bar.update(judged, items.length, `${count(judged)}/${count(items.length)}`);
  const figures = await calibrate(items, created.judge, showProgress, signal).finally(() => bar.stop());
  const run = graded === null ? null : correctedRun(graded, figures);
  return { judge, figures, run, shortfall: created.shortfall() };
}

interface GradedRun {
  readonly runId: string;
  readonly judge: JudgeSettings | null;
  readonly observed: Estimate;
}

function readGradedRun(name: string, settings: AppContext["settings"]): Promise<GradedRun> {
  return withStore(settings, (db) => {
    const run = getRun(db, name);
    const trials: { success: boolean; cluster: string }[] = [];
    for (const { taskId, scores } of iterateResults(db, run.id)) {
      const { judgeCorrect = null } = scores;
      if (judgeCorrect !== null) trials.push({ success: judgeCorrect === 1, cluster: JSON.stringify(taskId) });
    }
    return { runId: run.id, judge: run.settings.judge, observed: clusteredRate(trials) };
  });
}

/** Error rates of one judge do not apply to another. */
function refuseOtherJudge({ runId, judge: ofRun }: GradedRun, judge: JudgeSettings): void {
  const differs = (["model", "protocol", "version", "votes"] as const).some((key) => ofRun?.[key] !== judge[key]);
  if (!differs) return;
  const other = ofRun === null ? "it was not graded by a judge" : `its judge is ${judgeLabel(ofRun)}`;
  throw new UserError(
    "judge_different",
    `Cannot correct run ${runId} for the errors of ${judgeLabel(judge)}: ${other}.`,
    ofRun === null
      ? `Grade it first: ${commandLine`art-e score ${runId} --judge ${judge.model}`}`
      : "Remove the judge's flags to calibrate the judge of the run.",
  );
}

function judgeLabel({ model, protocol, version, votes }: JudgeSettings): string {
  return `${model} (${protocol} ${version}, ${votes} ${votes === 1 ? "vote" : "votes"})`;
}

function correctedRun(
  { runId, observed }: GradedRun,
  { truePositiveRate, trueNegativeRate }: Pick<Calibration, "truePositiveRate" | "trueNegativeRate">,
): CorrectedRun {
  const corrected = correctedRate(
    independentTrials(observed),
    independentTrials(truePositiveRate),
    independentTrials(trueNegativeRate),
  );
  return { runId, observed, corrected: { ...corrected, n: observed.n } };
}

async function calibrate(
  items: readonly Labelled[],
  judge: Judge,
  onProgress: (judged: number) => void,
  signal: AbortSignal,
) {
  let judged = 0;
  let costUsd: number | null = 0;
  const rows = await pLimit(JUDGE_CONCURRENCY).map([...items], async (item): Promise<LabelledVerdict> => {
    signal.throwIfAborted();
    const { verdict, reason, agreement, costUsd: cost } = await judge.judge(item, signal);
    costUsd = addCost(costUsd, cost);
    onProgress(++judged);
    return { ...item, verdict, reason, agreement };
  });
  signal.throwIfAborted();
  return { ...calibration(rows), costUsd };
}

const LABELS = new Map<string, Label>(
  Object.entries({
    correct: "correct",
    true: "correct",
    yes: "correct",
    partly: "partly",
    partial: "partly",
    wrong: "wrong",
    incorrect: "wrong",
    false: "wrong",
    no: "wrong",
    abstained: "abstained",
  } as const),
);

const labelledSchema = z.object({
  question: z.string().min(1),
  gold: z.string(),
  answer: z.string(),
  label: z
    .union([z.boolean(), z.string(), z.number()])
    .transform((label) => {
      const word = String(label).trim().toLowerCase();
      return LABELS.get(word === "1" ? "true" : word === "0" ? "false" : word);
    })
    .refine((label) => label !== undefined, "label must be correct, partly, wrong, abstained, true or false")
    .transform((label) => label as Label),
});

type Labelled = z.output<typeof labelledSchema>;

const HINT =
  'A line is {"question": "...", "gold": "...", "answer": "...", "label": "correct"}; label: correct, partly, wrong, abstained, true or false.';

function readLabels(path: string): Labelled[] {
  let text: string;
  try {
    text = readNamedFile(path).toString();
  } catch (cause) {
    throw new UserError("labels_unreadable", `Cannot read ${path}: ${(cause as Error).message}`, HINT, 2, { cause });
  }
  const items = text
    .split("\n")
    .flatMap((line, i) => (line.trim() === "" ? [] : [readLine(line, `${path}, line ${i + 1}`)]));
  if (items.length === 0) throw new UserError("labels_empty", `${path} contains no labels.`, HINT);
  return items;
}

function readLine(line: string, where: string): Labelled {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new UserError("labels_invalid", `${where} is not JSON.`, HINT);
  }
  const { data, error } = labelledSchema.safeParse(value);
  if (data !== undefined) return data;
  throw new UserError("labels_invalid", `${where}: ${firstIssue(error, "it")}.`, HINT);
}
