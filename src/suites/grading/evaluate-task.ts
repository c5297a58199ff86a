// Grades a task in its machine by the rules of the suite that it comes from.
import { messageOf } from "../../platform/errors.js";
import type { JsonValue } from "../../platform/json.js";
import type { TaskMachine } from "../../sandbox/task-machine.js";
import type {
  FunctionCall,
  Grade,
  Metric,
  ObstacleState,
  SuiteDialect,
  SuiteTask,
  TaskEvaluation,
} from "../../tasks/suite-task.js";
import { callForScore, callForValue } from "../functions/custom-functions.js";
import { evaluationNeed, FLOWBOOK_FUNCTIONS, SPIDER2V_FUNCTIONS } from "../functions/function-table.js";
import {
  CannotGrade,
  type Collected,
  CollectedFile,
  customCall,
  type EvaluationContext,
  type EvaluationOptions,
  type FlowbookFunction,
} from "../functions/grading-function.js";
import { GETTERS } from "../functions/result-getters.js";
import { runTests } from "../harbor/harbor-trial.js";
import { findMissingAccount } from "../task/account-settings.js";
import { UnusableSuiteFile } from "../task/suite-files.js";
import { evaluationCalls } from "../task/task-file.js";
import { findSetupFunction } from "../task/task-setup.js";
import { findCallObstacle } from "../task-needs.js";

/** A score with its reason, which is empty for a score of 1. */
interface GradedScore {
  readonly score: number;
  readonly reason: string;
}

type Evaluate = (evaluation: TaskEvaluation, context: EvaluationContext) => Promise<GradedScore>;

/**
 * Grades the agent's files in the task's machine, following the rules of the suite that the task comes from. Throws
 * only if `signal` aborts.
 */
export async function evaluateTask(
  task: SuiteTask,
  machine: TaskMachine,
  options: EvaluationOptions,
  signal: AbortSignal,
): Promise<Grade> {
  const context: EvaluationContext = { task, machine, options, signal, notes: [] };
  try {
    if (task.evaluation === null) throw new CannotGrade("unsupported", "the task has no evaluation");
    requireFunctions(context);
    const { score, reason } = await EVALUATE[task.dialect](task.evaluation, context);
    return { score, state: "success", reason: toLine(reason) };
  } catch (error) {
    if (signal.aborted) throw error;
    const reason = toLine(messageOf(error));
    return { score: null, state: obstacleOf(error) ?? "eval_error", reason };
  }
}

/** Returns the missing requirement for grading, or null for any other error. */
function obstacleOf(error: unknown): ObstacleState | null {
  if (error instanceof UnusableSuiteFile) return "missing_files";
  return error instanceof CannotGrade ? error.state : null;
}

const EVALUATE: Readonly<Record<SuiteDialect, Evaluate>> = {
  flowbook: evaluateFlowbook,
  spider2v: evaluateSpider2v,
  harbor: evaluateHarbor,
};

/** Grades a Harbor task: its tests write a reward. Without a reward the task has no score. */
async function evaluateHarbor(evaluation: TaskEvaluation, context: EvaluationContext): Promise<GradedScore> {
  const { reward, others } = await runTests(evaluation.metrics[0]?.options ?? {}, context);
  const list = Object.entries(others).map(([name, value]) => `${name} ${value}`);
  return { score: reward, reason: reward === 1 ? "" : [`the reward is ${reward}`, ...list].join(", ") };
}

/** Before anything runs, checks for unknown functions, and for functions that need an account, a server or a screen. */
function requireFunctions({ task, options: { accounts, custom } }: EvaluationContext): void {
  const calls = evaluationCalls(task);
  const obstacle = findCallObstacle(calls, task.dialect, custom);
  if (obstacle !== null) throw new CannotGrade(obstacle.state, obstacle.reason);
  const readsFiles = calls.every(
    ({ role, func }) => role === "metric" || evaluationNeed("spider2v", "getter", func) === "files",
  );
  const missing = readsFiles ? null : findMissingAccount(task, accounts);
  if (missing !== null) throw new CannotGrade("needs_account", missing);
}

function toLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, 500);
}

/**
 * Grades like Spider2-V's runner: runs the `postconfig` actions. Then, for each metric, gets the result and the
 * expected value and compares them. An error in one of these leaves the task without a score.
 */
async function evaluateSpider2v(evaluation: TaskEvaluation, context: EvaluationContext): Promise<GradedScore> {
  const before = await runPostconfig(evaluation.postconfig, context);
  const reasons: string[] = [];
  const metrics = evaluation.metrics.map((metric) => async () => {
    const score = await evaluateMetric(metric, context);
    if (score !== 1) reasons.push(`${metric.func} returned ${score}`);
    return score;
  });
  if (metrics.length === 0) throw new CannotGrade("unsupported", "the task has no evaluation function");
  const score = await combineMetrics(evaluation.conjunction, metrics);
  if (before.length > 0) context.notes.push(`before grading: ${before.join(", ")}`);
  return { score, reason: score === 1 ? "" : [...reasons, ...context.notes].join("; ") };
}

async function evaluateMetric({ func, ...metric }: Metric, context: EvaluationContext): Promise<number> {
  const result = metric.result === null ? null : await collect(metric.result, context);
  const expected = metric.expected === null ? null : await collect(metric.expected, context);
  const custom = context.options.custom?.evaluation.get(func);
  if (custom !== undefined) {
    const collected = { result: plainValue(result), expected: plainValue(expected) };
    return await callForScore(custom, metric.options, { ...customCall(context), ...collected });
  }
  const evaluate = SPIDER2V_FUNCTIONS[func];
  if (evaluate === undefined) throw new CannotGrade("unsupported", `unknown evaluation function ${func}`);
  return await evaluate(result, expected ?? undefined, metric.options);
}

async function collect({ func, arguments: args }: FunctionCall, context: EvaluationContext): Promise<Collected> {
  const custom = context.options.custom?.getters.get(func);
  if (custom !== undefined) return await callForValue(custom, args, customCall(context));
  const getter = GETTERS[func];
  if (getter === undefined) throw new CannotGrade("unsupported", `unknown getter ${func}`);
  return await getter.get(args, context);
}

/** Converts a value for a user's function, which receives a collected file as its path. */
function plainValue(collected: Collected): JsonValue {
  if (collected instanceof CollectedFile) return collected.path;
  return Array.isArray(collected) ? collected.map(plainValue) : (collected as JsonValue);
}

/**
 * Runs the actions in order. Returns which were skipped or failed, and why. As in Spider2-V, no failure ends the
 * grading: if an effect is missing, the score shows it.
 */
async function runPostconfig(calls: readonly FunctionCall[], context: EvaluationContext): Promise<string[]> {
  const notes: string[] = [];
  for (const { func, arguments: args } of calls) {
    const action = findSetupFunction(context.task.dialect, func, context.options.custom);
    if (action === null) notes.push(`${func} is unknown`);
    else if (action.run === null) notes.push(`${func} is unsupported`);
    else {
      const { state, reason } = await action.run(args, context);
      if (state !== "done") notes.push(`${func} ${reason}`);
    }
  }
  return notes;
}

/** Grades like Flowbook's runner, with one function. A missing result file or any error in the function scores 0. */
async function evaluateFlowbook(evaluation: TaskEvaluation, context: EvaluationContext): Promise<GradedScore> {
  const [metric] = evaluation.metrics;
  if (metric === undefined) throw new CannotGrade("unsupported", "the task has no evaluation function");
  const evaluate = findFunction(metric.func, context);
  if (evaluate === undefined) throw new CannotGrade("unsupported", `unknown evaluation function ${metric.func}`);
  try {
    const score = await evaluate(metric.options, context);
    return { score, reason: score === 1 ? "" : `${metric.func} returned ${score}` };
  } catch (error) {
    if (obstacleOf(error) !== null || context.signal.aborted) throw error;
    return { score: 0, reason: `${metric.func}: ${messageOf(error)}` };
  }
}

function findFunction(name: string, context: EvaluationContext): FlowbookFunction | undefined {
  const custom = context.options.custom?.evaluation.get(name);
  if (custom !== undefined) return (args) => callForScore(custom, args, customCall(context));
  return Object.hasOwn(FLOWBOOK_FUNCTIONS, name) ? FLOWBOOK_FUNCTIONS[name] : undefined;
}

/**
 * Combines scores with Spider2-V's conjunction, and evaluates no more than necessary. `and` is 0 at the first zero,
 * otherwise the mean. `or` is 1 at the first 1, otherwise the maximum.
 */
async function combineMetrics(conjunction: "and" | "or", metrics: readonly (() => Promise<number>)[]): Promise<number> {
  const scores: number[] = [];
  for (const evaluate of metrics) {
    const score = await evaluate();
    if (conjunction === "and" && score === 0) return 0;
    if (conjunction === "or" && score === 1) return 1;
    scores.push(score);
  }
  return conjunction === "and" ? scores.reduce((a, b) => a + b, 0) / scores.length : Math.max(...scores);
}
