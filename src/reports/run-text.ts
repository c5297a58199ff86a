// Runs as terminal text: lists, totals, gates, datasets and mail.
import type { Gate, GateValidation } from "../analysis/gate.js";
import { MIN_MAILBOXES } from "../analysis/question-clusters.js";
import type { UntilOutcome } from "../analysis/sequential-comparison.js";
import type { CorpusStats } from "../mail/corpus.js";
import { otherModels } from "../models/answering-model.js";
import { commandLine } from "../platform/command-line.js";
import { compact } from "../platform/optional-values.js";
import type { Estimate } from "../statistics/estimate.js";
import type { TaskEpoch } from "../tasks/epoch-key.js";
import type { QuestionStatistics } from "../tasks/question.js";
import {
  count,
  counted,
  duration,
  estimate,
  type FittedColumn,
  fittedTable,
  oneDecimal,
  share,
  summaryBox,
  table,
  usd,
} from "../text/format.js";
import { type Headline, headlineFirst, isUnjudged } from "../traces/headline-score.js";
import type { RunCost } from "../traces/run-figures.js";
import type { ListedRun } from "../traces/run-list.js";
import { mostTries, type Repeats, type RunTotals } from "../traces/run-totals.js";
import { otherAgentsText } from "./eval-text.js";
import {
  agentText,
  besideHeadline,
  clustersText,
  datasetText,
  differenceText,
  endingsText,
  failedAsWrongText,
  firstLine,
  oneLine,
  perTask,
  runCostText,
  runTitle,
  timePerTask,
  UNJUDGED,
  untilText,
} from "./figure-text.js";
import { statesText } from "./suite-text.js";

/** A run as lists show it. */
type RunLine = Omit<ListedRun, "note" | "completedTasks">;

interface TaskLine extends TaskEpoch {
  readonly ending: string;
  readonly score: number | null;
  readonly sourcesCorrect: boolean | null;
  readonly costUsd: number | null;
  readonly question: string;
}

const RUN_COLUMNS: readonly FittedColumn[] = [
  // Ids must be complete so that they can be copied. A name after the id can be truncated.
  { title: "run", least: 26 },
  { title: "agent", least: 8 },
  { title: "model", least: 12, leaveOut: 3 },
  { title: "dataset", least: 12, leaveOut: 2 },
  { title: "status" },
  { title: "tasks" },
  { title: "score" },
  { title: "cost", leaveOut: 0 },
  { title: "started", leaveOut: 1 },
  { title: "tags", least: 6, leaveOut: 4 },
];

/** Terminal width in characters from which score intervals fit. */
const WIDE = 100;

/**
 * Formats one line per run, with a note about unjudged scores. `width` is the terminal's width, which the table fits if
 * possible, or null without a terminal.
 */
export function runTable(
  runs: readonly (RunLine & { readonly headline: Headline | null } & RunCost)[],
  width: number | null,
): string {
  if (runs.length === 0) return `No runs yet. Start one with ${commandLine`art-e run -a AGENT`}.`;
  const isNarrow = width !== null && width < WIDE;
  const rows = runs.map((run) => [
    run.name === null ? run.id : `${run.id} ${run.name}`,
    agentText(run.agentId, run.perturbation),
    run.model,
    datasetText(run),
    run.status,
    tasksText(run),
    headlineText(run, isNarrow),
    runCostText(run),
    run.startedAt.slice(0, 16).replace("T", " "),
    run.tags.join(" "),
  ]);
  const { text, left } = fittedTable(RUN_COLUMNS, rows, width);
  const hasUnjudged = runs.some(({ headline }) => isUnjudged(headline?.scorer));
  return [
    text,
    ...(left.length === 0
      ? []
      : ["", `Hidden columns (the terminal is too narrow): ${left.join(", ")}. --json shows all.`]),
    ...(hasUnjudged ? ["", UNJUDGED] : []),
  ].join("\n");
}

/** Formats `73/73` or `73/73, 2 failed`. */
function tasksText({ tasks, failedTasks, totalTasks }: RunLine): string {
  return `${count(tasks)}/${count(totalTasks)}${failedTasks === 0 ? "" : `, ${count(failedTasks)} failed`}`;
}

/**
 * Formats `0.917 [0.821, 0.964]`, with a star for an unjudged score. If some tasks have no score, adds their number,
 * the score with failed tasks as wrong if it differs, and pass^k of a run with several epochs.
 */
function headlineText(
  { headline, tasks }: Pick<RunLine, "tasks"> & { readonly headline: Headline | null },
  isNarrow: boolean,
): string {
  if (headline === null) return "-";
  const { value, n, low, high, scorer } = headline;
  const interval = low === null || high === null || isNarrow ? "" : ` [${share(low)}, ${share(high)}]`;
  const shown = `${share(value)}${interval}${isUnjudged(scorer) ? "*" : ""}`;
  return `${shown}${n < tasks ? ` n=${count(n)}` : ""}${besideHeadline(headline)}`;
}

/** Formats the result of `runs delete` and `runs prune`, or of a dry run of them. */
export function deletedRunsText({
  runs,
  deleted,
}: {
  readonly runs: readonly RunLine[];
  readonly deleted: boolean;
}): string {
  if (runs.length === 0) return "No runs to delete.";
  const many = counted(runs.length, "run");
  const rows = runs.map((run) => [
    run.id,
    run.agentId,
    run.model,
    run.status,
    tasksText(run),
    run.startedAt.slice(0, 16).replace("T", " "),
  ]);
  return [
    table(["run", "agent", "model", "status", "tasks", "started"], rows),
    "",
    deleted ? `${many} deleted, with results and traces.` : `${many} would be deleted. Pass --yes to delete them.`,
  ].join("\n");
}

/** Formats the figures of a run, its name, note and tags, and its first tasks. */
export function runDetailsText(
  run: {
    readonly name: string | null;
    readonly note: string | null;
    readonly tags: readonly string[];
    readonly dataset: string;
    readonly perturbation: string | null;
    /** Changes of the settings after the run was created. */
    readonly changes: readonly string[];
    /** The claim that could stop the run early, or null. */
    readonly until: string | null;
    readonly totals: RunTotals;
    readonly headline: string | null;
    readonly tasks: readonly TaskLine[];
  },
  listed: number,
): string {
  const { totals, tasks } = run;
  const labels: [string, string][] = [
    ["Name", run.name ?? ""],
    ["Tags", run.tags.join(", ")],
    ["Note", run.note ?? ""],
    ["Dataset", run.dataset],
    ["Perturbed", run.perturbation ?? ""],
    ["Until", run.until === null ? "" : untilText(run.until)],
    ...run.changes.map((change): [string, string] => ["Changed", change]),
  ];
  const unlisted = tasks.length - listed;
  return [
    runSummary(totals),
    ...labels.filter(([, value]) => value !== "").map(([label, value]) => `${`${label}:`.padEnd(19)}${value}`),
    "",
    taskTable(tasks.slice(0, listed), run.headline, totals.totalTasks),
    ...(unlisted > 0 ? ["", `${count(unlisted)} more; --all lists them.`] : []),
    ...hint(totals.runId, tasks),
  ].join("\n");
}

function taskTable(tasks: readonly TaskLine[], headline: string | null, total: number): string {
  if (total === 0) return "No task has a result yet.";
  const repeated = tasks.some(({ epoch }) => epoch > 1);
  const rows = tasks.map((task) => [
    repeated ? `${task.taskId}/${task.epoch}` : String(task.taskId),
    task.ending,
    share(task.score),
    task.sourcesCorrect === null ? "-" : task.sourcesCorrect ? "yes" : "no",
    usd(task.costUsd),
    firstLine(task.question, 60),
  ]);
  return table(["task", "ending", headline ?? "score", "sources", "cost", "question"], rows);
}

/** Explains how to show a task of the list. */
function hint(runId: string, [first]: readonly TaskLine[]): string[] {
  if (first === undefined) return [];
  const name = compact([runId, first.taskId, first.epoch > 1 && first.epoch]).join("/");
  return ["", `Show a complete task: ${commandLine`art-e show ${name}`}`];
}

/** Formats `missed  accuracy (sourcesCorrect) 0.742 [0.690, 0.789] n=300, required: at least 0.8`. */
export function gateText(gate: Gate): string {
  const { metric, scorer, passed, problems } = gate;
  const name = metric === scorer ? metric : `${metric} (${scorer})`;
  const notes = [
    ...problems,
    ...coverageNote(gate),
    ...clustersNote(gate),
    ...validationNote(gate),
    ...otherAgentsNote(gate),
  ];
  return [
    `${passed ? "passed" : "missed"}  ${name} ${formatFigure(gate)}, required: ${formatThreshold(gate)}`,
    ...notes,
  ].join("; ");
}

/** Why an eval's figure is not reliable. */
export const VALIDATION_TEXTS: Readonly<Record<Exclude<GateValidation, "passed">, string>> = {
  none: "the eval was never tested",
  stale: "the labels have changed since the eval's newest test",
  rejected: "the eval's newest test rejected it",
  unknown: "the database does not contain the eval",
};

function validationNote({ validation }: Gate): string[] {
  return validation === null || validation === "passed" ? [] : [`not validated: ${VALIDATION_TEXTS[validation]}`];
}

function otherAgentsNote({ otherAgents }: Gate): string[] {
  if (otherAgents === null) return [];
  const { count, command } = otherAgents.label;
  return [`${otherAgentsText(otherAgents)}: label ${count} of its traces (${command})`];
}

/** Formats `covers 16 of 30 tasks, 14 do not apply`, if the coverage is enough. Otherwise, it is a problem. */
function coverageNote({ coverage, problems }: Gate): string[] {
  const { scored, notApplicable, tasks } = coverage;
  if (scored === tasks || problems.length > 0) return [];
  return [
    `covers ${scored} of ${counted(tasks, "task")}${notApplicable === 0 ? "" : `, ${notApplicable} do not apply`}`,
  ];
}

/** Says which mailboxes a passed comparison is about. */
function clustersNote({ clusters, passed }: Gate): string[] {
  if (!passed || clusters === null || clusters.mailboxes === 0) return [];
  return [
    clusters.by === "mailbox"
      ? `over ${counted(clusters.mailboxes, "mailbox", "mailboxes")}, as clusters`
      : `only about ${clusters.mailboxes === 1 ? "this mailbox" : `these ${count(clusters.mailboxes)} mailboxes`}, not about others (which takes ${MIN_MAILBOXES})`,
  ];
}

/** Formats `0.260 [0.219, 0.305] n=400 with failed tasks as wrong (0.963 n=108 without them)`. */
function formatFigure({ kind, figure, failedTasks, otherwise }: Gate): string {
  const signed = (value: Estimate, text: string) =>
    `${kind === "no_worse_than" && (value.value ?? 0) > 0 ? "+" : ""}${text}`;
  const shown = signed(figure, estimate(figure));
  if (otherwise === null) return shown;
  const other = signed(otherwise, `${share(otherwise.value)} n=${count(otherwise.n)}`);
  return failedTasks === "wrong"
    ? `${shown} with failed tasks as wrong (${other} without them)`
    : `${shown} without failed tasks (${other} with them as wrong)`;
}

function formatThreshold({ kind, better, limit, baseline, isBound }: Gate): string {
  if (kind === "fail_under") {
    const least = better === "higher" ? "at least" : "at most";
    return isBound ? `the interval ${least} ${limit}` : `${least} ${limit}`;
  }
  const bound = better === "higher" ? `the interval above -${limit}` : `the interval below ${limit}`;
  return `${bound} against ${baseline}`;
}

/** Formats a dataset's statistics, with the lines of the published runner and two more. */
export function datasetSummary(statistics: QuestionStatistics): string {
  const { averageMessageIds, firstDate, lastDate } = statistics;
  return summaryBox(`ART-E Dataset Statistics (${statistics.split} split)`, [
    ["Total tasks", count(statistics.totalTasks)],
    ["Unique inboxes", count(statistics.uniqueInboxes)],
    ["Avg realistic score", share(statistics.averageRealism)],
    ["Avg message IDs per task", oneDecimal(averageMessageIds)],
    ["Dates of the questions", firstDate === null ? "-" : `${firstDate} to ${lastDate}`],
    ["Realistic score", histogram(statistics)],
  ]);
}

function histogram({ realismHistogram }: QuestionStatistics): string {
  const filled = realismHistogram.filter((bin) => bin.count > 0);
  return filled.map(({ from, to, count: tasks }) => `${from}-${to}: ${count(tasks)}`).join(", ") || "-";
}

/**
 * Formats the statistics of a database's mail. Two databases with the same fingerprint give every agent the same mail.
 */
export function corpusSummary(stats: CorpusStats, file: string): string {
  const day = (date: string | null) => date?.slice(0, 10) ?? "-";
  return summaryBox(`ART-E Corpus (${file})`, [
    ["Messages", count(stats.messages)],
    ["Distinct emails", count(stats.distinct)],
    ["Mailboxes", count(stats.inboxes)],
    ["Folders without address", count(stats.unresolvedOwners)],
    ["Addresses", count(stats.addresses)],
    ["Dates", `${day(stats.firstDate)} to ${day(stats.lastDate)}`],
    ["Fingerprint", stats.fingerprint ?? "-"],
  ]);
}

/**
 * Formats the totals of a run. Scores are over the completed tasks, each with its 95% interval and denominator. If
 * tasks failed, scores are also shown over all tasks, with the failed ones as wrong.
 */
export function runSummary(totals: RunTotals): string {
  return summaryBox(
    `ART-E Benchmark Results: ${runTitle(totals)}`,
    compact([
      ["Run", totals.runId],
      totals.status !== "completed" &&
        ([
          "Status",
          `${totals.status}: ${count(totals.totalTasks)} of ${counted(totals.plannedTasks, "task")}`,
        ] as const),
      [
        "Tasks",
        `${count(totals.totalTasks)} of ${sourceText(totals)}: ${count(totals.completedTasks)} completed, ${count(totals.failedTasks)} failed${notRunnableText(totals)}`,
      ],
      ...errorRow(totals),
      ...refusalRow(totals),
      ...gradedRow(totals),
      ...scoreRows(totals),
      totals.suite !== undefined && (["States", statesText(totals.suite.states)] as const),
      ["Endings", endingsText(totals.endings)],
      ...answeredByRow(totals),
      ["Turns per task", oneDecimal(perTask(totals.turns, totals.totalTasks))],
      ["Time per task", timePerTask(totals)],
      ["Total time", duration(totals.totalTimeMs)],
      ["Tokens", tokensText(totals.usage)],
      ["Cost", totals.costUsd === null ? unknownCost(totals) : runCostText(totals)],
      ...cacheRow(totals),
      ["Retries", count(totals.retries)],
      totals.repairedCalls !== undefined &&
        (["Repaired tool calls", count(totals.repairedCalls)] satisfies [string, string]),
    ]),
  );
}

function tokensText({ inputTokens, cachedInputTokens, outputTokens, reasoningTokens = 0 }: RunTotals["usage"]): string {
  const reasoning = reasoningTokens === 0 ? "" : ` (${count(reasoningTokens)} reasoning)`;
  return `${count(inputTokens)} in (${count(cachedInputTokens)} cached), ${count(outputTokens)} out${reasoning}`;
}

/** Explains why the cost of a run is unknown. */
function unknownCost({ usage }: RunTotals): string {
  const silent = "replies without their usage";
  const hasNone = usage.inputTokens + usage.outputTokens === 0;
  return hasNone ? `unknown (${silent})` : `unknown (no price known for this model, or ${silent})`;
}

function notRunnableText({ notRunnableTasks = 0 }: RunTotals): string {
  return notRunnableTasks === 0 ? "" : `, ${count(notRunnableTasks)} unsupported on this machine`;
}

function sourceText({ suite, split }: RunTotals): string {
  return suite === undefined ? `the ${split} split` : `the suite ${suite.name}`;
}

/** The most frequent error of the failed tasks. */
function errorRow({ mostFrequentError }: RunTotals): [string, string][] {
  if (mostFrequentError === undefined) return [];
  const { message, tasks } = mostFrequentError;
  return [["Errors", `${oneLine(message, LONGEST_ERROR)} (${counted(tasks, "task")})`]];
}

/** Why tasks were refused, each reason with its number of tasks. */
function refusalRow({ refusals = [] }: RunTotals): [string, string][] {
  if (refusals.length === 0) return [];
  const shown = refusals
    .slice(0, SHOWN_REFUSALS)
    .map(({ reason, tasks }) => `${oneLine(reason, LONGEST_ERROR)} (${counted(tasks, "task")})`);
  const hidden = refusals.length - shown.length;
  const more = hidden === 0 ? [] : [`${counted(hidden, "more reason")} in the results file`];
  return [["Refusals", [...shown, ...more].join("; ")]];
}

const SHOWN_REFUSALS = 5;

const LONGEST_ERROR = 160;

/** Only for suites, because their scores are over the graded tasks. */
function gradedRow({ suite, totalTasks }: RunTotals): [string, string][] {
  if (suite === undefined) return [];
  const ungraded = totalTasks - suite.graded;
  const others = ungraded === 0 ? "" : `; ${count(ungraded)} not graded and not in any average`;
  return [["Graded", `${count(suite.graded)} of ${count(totalTasks)}${others}`]];
}

/** Shown only if a model other than the requested one replied. */
function answeredByRow({ model, answeredBy = {} }: RunTotals): [string, string][] {
  if (otherModels(model, answeredBy).length === 0) return [];
  const models = Object.entries(answeredBy).map(
    ([name, replies]) => `${name} (${counted(replies, "reply", "replies")})`,
  );
  return [["Answered by", models.join(", ")]];
}

/** The cost of new replies in this run. Shown only if some replies came from the cache. */
function cacheRow({ cachedReplies, turns, spent }: RunTotals): [string, string][] {
  if (cachedReplies === 0) return [];
  const now = spent.costUsd === null ? "an unknown amount" : usd(spent.costUsd);
  return [["From the cache", `${count(cachedReplies)} of ${count(turns)} replies; ${now} of the cost was spent now`]];
}

function scoreRows({ scores, failedTasks, completedTasks, suite }: RunTotals): [string, string][] {
  if (completedTasks === 0 && suite === undefined) return [["Scores", "- (no task was completed)"]];
  const shown = headlineFirst(scores).flatMap((name) => scores[name] ?? []);
  return shown.flatMap((score): [string, string][] => [
    [score.label, `${estimate(score)}${failedTasks === 0 ? "" : failedAsWrongText(score)}`],
    ...(score.micro === undefined
      ? []
      : ([["  over the emails of all tasks", estimate(score.micro)]] satisfies [string, string][])),
    ...(score.corrected === undefined
      ? []
      : ([["  corrected by people's labels", estimate(score.corrected)]] satisfies [string, string][])),
    ...repeatRows(mostTries(score.repeats ?? [])),
  ]);
}

function repeatRows(repeat: Repeats[number] | null): [string, string][] {
  if (repeat === null) return [];
  const { k, passAtK, passHatK } = repeat;
  const values = `${share(passAtK.value)}, ${share(passHatK.value)} over ${counted(passAtK.n, "question")}`;
  return [[`  pass@${k}, pass^${k}`, values]];
}

/** Formats the state of a run's claim: the verdict, and both intervals with the time when each may be read. */
export function untilLines(outcome: UntilOutcome): string[] {
  const {
    claim,
    verdict,
    problem,
    settledAfter,
    questions,
    plannedQuestions,
    isComplete,
    alwaysValid,
    fixedN,
    clusters,
  } = outcome;
  const dependent = clustersText(clusters, questions);
  const progress = `${count(settledAfter ?? questions)} of ${counted(plannedQuestions, "question")}`;
  return [
    verdict === null
      ? `${claim}: open after ${progress}${problem === null ? "" : `; ${problem}`}`
      : `${claim}: ${verdict} after ${progress} (5% error)`,
    `difference ${differenceText(alwaysValid, share)} always-valid (2.5% error per side), may be read at any time`,
    `difference ${differenceText(fixedN, share)} fixed-n, ${isComplete ? "may be read: all planned questions are answered" : "must not be read before all planned questions are answered"}`,
    ...(dependent === null ? [] : [dependent]),
  ];
}
