import type { TaskState } from "../../domain/tasks/task-state.js";
import { findMissingAccount } from "../accounts/find-missing-account.js";
import type { ActionOutcome, SetupContext } from "./setup-action.js";
import { findSetupFunction, type SetupFunction } from "./setup-functions.js";

/** A function of `config` that has been run, or passed over for want of a screen. */
export interface SetUpStep {
  readonly func: string;
  readonly state: "done" | "passed_over";
}

export type SetUpResult = { readonly ok: true; readonly steps: readonly SetUpStep[] } | SetUpRefusal;

export interface SetUpRefusal {
  readonly ok: false;
  readonly state: Extract<TaskState, "setup_error" | "unsupported" | "needs_account">;
  /** One line: the step, and what came of it. */
  readonly reason: string;
}

/** Runs the functions of a task's `config` in order, up to the first that fails. Throws only where `signal` aborts. */
export async function runSetUp(context: SetupContext): Promise<SetUpResult> {
  const refused = findObstacle(context);
  if (refused !== null) return refused;
  const steps: SetUpStep[] = [];
  for (const [i, { func }] of context.task.config.entries()) {
    const { state, reason } = await runStep(i, context);
    if (state === "failed" || state === "unsupported") {
      const step = `set-up step ${i + 1}, ${func}`;
      return refuse(state === "failed" ? "setup_error" : "unsupported", `${step}: ${reason}`);
    }
    steps.push({ func, state });
  }
  return { ok: true, steps };
}

const OBSTACLES: Readonly<Partial<Record<SetupFunction["need"], string>>> = {
  screen: "needs a screen",
  server: "needs a server",
  unsupported: "cannot be run here",
};

/** What can be told before anything is run. */
function findObstacle({ task, options: { accounts, custom } }: SetupContext): SetUpRefusal | null {
  for (const [i, { func }] of task.config.entries()) {
    const step = `set-up step ${i + 1}, ${func}`;
    const known = findSetupFunction(task.dialect, func, custom);
    if (known === null) return refuse("unsupported", `${step}: no such function`);
    if (known.run !== null) continue;
    if (known.need === "account") return refuse("needs_account", `${step}: needs an account`);
    return refuse("unsupported", `${step}: ${OBSTACLES[known.need] ?? "cannot be run here"}`);
  }
  const missing = findMissingAccount(task, accounts);
  return missing === null ? null : refuse("needs_account", missing);
}

async function runStep(i: number, context: SetupContext): Promise<ActionOutcome> {
  const { task, signal, options } = context;
  const { func, arguments: args } = task.config[i] as (typeof task.config)[number];
  try {
    signal.throwIfAborted();
    const outcome = await findSetupFunction(task.dialect, func, options.custom)?.run?.(args, context);
    return outcome ?? { state: "unsupported", reason: "no such function" };
  } catch (error) {
    if (signal.aborted) throw error;
    return { state: "failed", reason: error instanceof Error ? error.message : String(error) };
  }
}

function refuse(state: SetUpRefusal["state"], reason: string): SetUpRefusal {
  return { ok: false, state, reason: reason.replace(/\s+/g, " ").trim().slice(0, 500) };
}
