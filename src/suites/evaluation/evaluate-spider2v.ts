import type { FunctionCall, Metric, TaskEvaluation } from "../../domain/tasks/suite-task.js";
import { SPIDER2V_FUNCTIONS } from "../spider2v/functions.js";
import type { Collected } from "../spider2v/metric-function.js";
import { CannotGrade } from "./cannot-grade.js";
import { combineMetrics } from "./conjunction.js";
import type { Score } from "./evaluate-flowbook.js";
import type { EvaluationContext } from "./evaluation-context.js";
import { type FunctionKind, lookUpFunction } from "./function-table.js";
import { GETTERS } from "./getters/getter-table.js";
import { runPostconfig } from "./postconfig.js";

/**
 * Spider2-V's runner: the actions of `postconfig`, then for each metric the result, what it is compared with, and the
 * comparison. An error in one of these leaves the task without a score.
 */
export async function evaluateSpider2v(evaluation: TaskEvaluation, context: EvaluationContext): Promise<Score> {
  for (const metric of evaluation.metrics) requireGradable(metric, context.task.tags);
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
function requireGradable(metric: Metric, tags: readonly string[]): void {
  requireKnown("evaluation", metric.func);
  for (const call of [metric.result, metric.expected]) {
    if (call === null) continue;
    requireKnown("getter", call.func);
    const needs = lookUpFunction("spider2v", "getter", call.func)?.needs;
    if (needs !== "files" && tags.includes("account")) throw new CannotGrade("needs_account", "it uses an account");
  }
}

function requireKnown(kind: FunctionKind, name: string): void {
  const known = lookUpFunction("spider2v", kind, name);
  const word = kind === "evaluation" ? "evaluation function" : kind;
  if (known === null) throw new CannotGrade("unsupported", `${word} ${name} is not known`);
  if (known.isImplemented) return;
  if (known.needs === "account") throw new CannotGrade("needs_account", `${word} ${name} needs an account`);
  const needs = {
    mailbox: "needs a mailbox",
    files: "is not implemented",
    script: "is not implemented",
    process: "needs a server",
    screen: "needs a screen",
  };
  throw new CannotGrade("unsupported", `${word} ${name} ${needs[known.needs]}`);
}

async function evaluateMetric(metric: Metric, context: EvaluationContext): Promise<number> {
  const evaluate = SPIDER2V_FUNCTIONS[metric.func];
  if (evaluate === undefined) throw new CannotGrade("unsupported", `evaluation function ${metric.func} is not known`);
  const result = metric.result === null ? null : await collect(metric.result, context);
  const expected = metric.expected === null ? null : await collect(metric.expected, context);
  const score = await evaluate(result, expected ?? undefined, metric.options);
  return score;
}

async function collect({ func, arguments: args }: FunctionCall, context: EvaluationContext): Promise<Collected> {
  const get = GETTERS[func];
  if (get === undefined) throw new CannotGrade("unsupported", `getter ${func} is not known`);
  return await get(args, context);
}
