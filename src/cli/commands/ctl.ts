// The commands `ctl ...`, which steer a running run.
import { z } from "zod";
import { concurrency, text, toggle, url } from "../../platform/flag-values.js";
import { compact, definedProperties } from "../../platform/optional-values.js";
import { runCostText } from "../../reports/figure-text.js";
import type { ControlChanges, ControlledRun, ControlRequest } from "../../runs/control-protocol.js";
import { taskTimeoutSeconds, timeBudgetMinutes } from "../../runs/run-flags.js";
import { count, table, usd } from "../../text/format.js";
import { LIMIT_VALUES } from "../../traces/run-settings.js";
import type { CommandContext } from "../command.js";
import { latestRun } from "../flags/argument-schemas.js";
import { contradiction, defineCommand } from "../flags/define-command.js";

type Queue = string | undefined;

const queueFlag = url.optional().meta({
  description: "Steer a run over this queue from any machine, as redis://HOST:PORT. RUN is then its id",
});

const reasonFlag = text
  .max(1_000, "expected at most 1,000 characters")
  .optional()
  .meta({ placeholder: "TEXT", description: "Reason, recorded in the run's settings" });

export const listControlledCommand = defineCommand(z.object({}), async (_flags, { settings, out }) => {
  const { listControlledRuns } = await import("../../runs/run-control.js");
  const runs = await listControlledRuns(settings);
  out.result(runs, () => {
    if (runs.length === 0) return `No run with the cache folder ${settings.cacheDir} is running.`;
    const rows = runs.map((run) => [run.runId, run.state, progressText(run), String(run.pid), run.db]);
    return table(["run", "state", "tasks", "process", "database"], rows);
  });
});

export const showControlledCommand = defineCommand(
  z.object({
    run: latestRun,
    showText: toggle.meta({ description: "Show the questions of running tasks" }),
    queue: queueFlag,
  }),
  async ({ run: name, showText, queue }, { settings, out }) => {
    const { run } = await ask(name, { command: "show", showText }, queue, settings);
    out.result(run, () => stateText(run));
  },
);

export const pauseCommand = commandWithReason("pause");
export const resumeCommand = commandWithReason("resume");
export const requeueCommand = commandWithReason("requeue");

export const cancelCommand = defineCommand(
  z.object({
    run: latestRun,
    now: toggle.meta({ description: "Stop running tasks, too (a resume continues them)" }),
    queue: queueFlag,
    reason: reasonFlag,
  }),
  ({ run, now, queue, reason = null }, context) => send(run, { command: "cancel", now, reason }, queue, context),
);

export const setLimitsCommand = defineCommand(
  z.object({
    run: latestRun,
    concurrency: concurrency
      .optional()
      .meta({ placeholder: "N|auto", description: "Maximum concurrent tasks, or auto" }),
    rpm: LIMIT_VALUES.rpm.optional().meta({ description: "Maximum requests per minute" }),
    tpm: LIMIT_VALUES.tpm.optional().meta({ description: "Maximum tokens per minute" }),
    taskTimeout: taskTimeoutSeconds
      .optional()
      .meta({ placeholder: "SECONDS", description: "Timeout of tasks that start later, in seconds" }),
    maxCost: LIMIT_VALUES.maxCostUsd.optional().meta({ placeholder: "USD", description: "Cost budget, in US dollars" }),
    maxRunTokens: LIMIT_VALUES.maxTokens.optional().meta({ placeholder: "N", description: "Token budget" }),
    maxTime: timeBudgetMinutes.optional().meta({ placeholder: "MINUTES", description: "Time budget, in minutes" }),
    queue: queueFlag,
    reason: reasonFlag,
  }),
  ({ run, queue, reason = null, concurrency, rpm, tpm, taskTimeout, maxCost, maxRunTokens, maxTime }, context) => {
    const changes: ControlChanges = definedProperties({
      concurrency,
      rpm,
      tpm,
      taskTimeoutMs: taskTimeout && taskTimeout * 1_000,
      maxCostUsd: maxCost,
      maxTokens: maxRunTokens,
      maxTimeMs: maxTime && maxTime * 60_000,
    });
    if (Object.keys(changes).length === 0) {
      throw contradiction("ctl set: a limit is required.", "Pass one, such as --concurrency 4.");
    }
    return send(run, { command: "set", changes, reason }, queue, context);
  },
);

function commandWithReason(command: "pause" | "resume" | "requeue") {
  return defineCommand(
    z.object({ run: latestRun, queue: queueFlag, reason: reasonFlag }),
    ({ run, queue, reason = null }, context) => send(run, { command, reason }, queue, context),
  );
}

async function send(name: string, request: ControlRequest, queue: Queue, context: CommandContext): Promise<void> {
  const { run, message } = await ask(name, request, queue, context.settings);
  context.out.result(run, () => `Run ${run.runId}: ${message}. ${progressText(run)}`);
}

async function ask(name: string, request: ControlRequest, queue: Queue, settings: CommandContext["settings"]) {
  if (queue !== undefined) {
    const { controlQueuedRun } = await import("../../queue/control-queued-run.js");
    return controlQueuedRun(queue, name, request);
  }
  const { controlRun } = await import("../../runs/run-control.js");
  return controlRun(name, request, settings);
}

function stateText(run: ControlledRun): string {
  const { runId, state, pid, spentUsd, tokens, limits, running, changes } = run;
  const budgets = [
    limits.maxCostUsd === null ? [] : `cost $${limits.maxCostUsd}`,
    limits.maxTokens === null ? [] : `${count(limits.maxTokens)} tokens`,
    limits.maxTimeMs === null ? [] : `${limits.maxTimeMs / 60_000} minutes`,
  ].flat();
  const tasks = running.map(({ taskId, epoch, seconds, question }) => [
    String(taskId),
    String(epoch),
    `${seconds.toFixed(1)} s`,
    question ?? "",
  ]);
  return compact([
    `Run ${runId}: ${state} in process ${pid}. ${progressText(run)}`,
    `Cost: ${runCostText(run)}. Spent on new calls: ${usd(spentUsd)}, ${count(tokens)} tokens. Budgets: ${budgets.join(", ") || "none"}.`,
    run.held !== null && `${run.held.text}.`,
    tasks.length > 0 && table(["task", "epoch", "running for", "question"], tasks),
    ...(changes.length === 0 ? [] : ["Changes:", ...changes.map((change) => `  ${change}`)]),
  ]).join("\n");
}

function progressText({ savedTasks, totalTasks, failedTasks, running }: ControlledRun): string {
  const failed = failedTasks === 0 ? "" : `, ${count(failedTasks)} failed`;
  return `${count(running.length)} running, ${count(savedTasks)} of ${count(totalTasks)} saved${failed}`;
}
