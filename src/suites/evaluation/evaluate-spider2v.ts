import type { JsonValue } from "../../domain/json.js";
import type { FunctionCall, Metric, TaskEvaluation } from "../../domain/tasks/suite-task.js";
import { findMissingAccount } from "../accounts/find-missing-account.js";
import { callForScore, callForValue } from "../custom/call-custom-function.js";
import { NO_CUSTOM_FUNCTIONS } from "../custom/custom-functions.js";
import { SPIDER2V_FUNCTIONS } from "../spider2v/functions.js";
import { type Collected, CollectedFile } from "../spider2v/metric-function.js";
import { CannotGrade } from "./cannot-grade.js";
import { combineMetrics } from "./conjunction.js";
import type { Score } from "./evaluate-flowbook.js";
import { customCall, type EvaluationContext } from "./evaluation-context.js";
import { evaluationNeed, type FunctionKind, isImplemented } from "./function-table.js";
import { GETTERS } from "./getters/getter-table.js";
import { runPostconfig } from "./postconfig.js";

/**
 * Spider2-V's runner: the actions of `postconfig`, then for each metric the result, what it is compared with, and the
 * comparison. An error in one of these leaves the task without a score.
 */
export async function evaluateSpider2v(evaluation: TaskEvaluation, context: EvaluationContext): Promise<Score> {
  for (const metric of evaluation.metrics) requireGradable(metric, context);
  const notes = await runPostconfig(evaluation.postconfig, context);
  const reasons: string[] = [];
  const metrics = evaluation.metrics.map((metric) => async () => {
    const score = await evaluateMetric(metric, context);
    if (score !== 1) reasons.push(`${metric.func} gives ${score}`);
    return score;
  });
  if (metrics.length === 0) throw new CannotGrade("unsupported", "the task names no evaluation function");
  const score = await combineMetrics(evaluation.conjunction, metrics);
  const before = notes.length > 0 ? [`before grading: ${notes.join(", ")}`] : [];
  return { score, reason: score === 1 ? "" : [...reasons, ...before].join("; ") };
}

/** Before anything is run: functions that are not known, and what needs an account or a screen. */
function requireGradable(
  metric: Metric,
  { task, options: { accounts, custom = NO_CUSTOM_FUNCTIONS } }: EvaluationContext,
) {
  if (!custom.evaluation.has(metric.func)) requireKnown("evaluation", metric.func);
  for (const call of [metric.result, metric.expected]) {
    if (call === null) continue;
    if (!custom.getters.has(call.func)) requireKnown("getter", call.func);
    const readsFiles = evaluationNeed("spider2v", "getter", call.func) === "files";
    const missing = readsFiles ? null : findMissingAccount(task, accounts);
    if (missing !== null) throw new CannotGrade("needs_account", missing);
  }
}

function requireKnown(kind: FunctionKind, name: string): void {
  if (isImplemented("spider2v", kind, name)) return;
  const need = evaluationNeed("spider2v", kind, name);
  const word = kind === "evaluation" ? "evaluation function" : kind;
  if (need === null) throw new CannotGrade("unsupported", `${word} ${name} is not known`);
  if (need === "account") throw new CannotGrade("needs_account", `${word} ${name} needs an account`);
  const why = need === "server" || need === "screen" ? `needs a ${need}` : "cannot be run here";
  throw new CannotGrade("unsupported", `${word} ${name} ${why}`);
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
  if (evaluate === undefined) throw new CannotGrade("unsupported", `evaluation function ${func} is not known`);
  return await evaluate(result, expected ?? undefined, metric.options);
}

async function collect({ func, arguments: args }: FunctionCall, context: EvaluationContext): Promise<Collected> {
  const custom = context.options.custom?.getters.get(func);
  if (custom !== undefined) return await callForValue(custom, args, customCall(context));
  const get = GETTERS[func];
  if (get === undefined) throw new CannotGrade("unsupported", `getter ${func} is not known`);
  return await get(args, context);
}

/** A collected file is its path to a user's function. */
function plainValue(collected: Collected): JsonValue {
  if (collected instanceof CollectedFile) return collected.path;
  return Array.isArray(collected) ? collected.map(plainValue) : (collected as JsonValue);
}
