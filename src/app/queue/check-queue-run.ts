import { UserError } from "../../domain/errors.js";
import { flagName } from "../../platform/flag-name.js";
import type { RunOptionName, RunRequest } from "../run/plan/run-options.js";
import type { RunPlan } from "../run/plan/run-plan.js";

/** Options that workers decide on, or that need what is on this machine only. */
const NOT_OVER_A_QUEUE: readonly RunOptionName[] = ["concurrency", "record", "functions", "oracle", "accountSettings"];

/** Refuses options that the workers of a queue would ignore. */
export function refuseFlagsQueueIgnores({ given }: Pick<RunRequest, "given">): void {
  const ignored = NOT_OVER_A_QUEUE.find((name) => given.has(name));
  if (ignored === undefined) return;
  const why = ignored === "concurrency" ? "each worker has its own" : "the tasks are answered on other machines";
  throw contradiction(`${flagName(ignored)} is not for a run over a queue: ${why}`);
}

/** Refuses runs that workers cannot answer. */
export function checkQueueRun({ settings }: Pick<RunPlan, "settings">): void {
  if (settings.elsewhere !== undefined) throw contradiction("An external agent is asked from this machine only");
  if (settings.functions !== undefined) throw contradiction("The module of --functions is on this machine");
  if (settings.oracle !== undefined) throw contradiction("The oracle's file is on this machine");
  if (settings.model.startsWith("replay/")) throw contradiction("The file of replies is on this machine");
}

function contradiction(what: string): UserError {
  return new UserError(
    "flags_contradict",
    `${what}.`,
    "Leave it out, or run without --queue (and without ART_E_QUEUE_URL).",
  );
}
