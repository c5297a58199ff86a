import type { ToolContext, ToolResult } from "../../../domain/agents/tool.js";
import type { TaskMachine } from "../../../domain/tasks/task-machine.js";
import { toolError } from "../../open-mailbox.js";

export const NO_MACHINE = "This task has no machine, in which alone this tool works. Go on without it.";
export const ONLY_FILES = "This task's machine only holds files: nothing can be run in it. Go on without it.";

/** An error of a path or file that the agent can fix; the message is for it. */
export class MachineRefusal extends Error {
  override readonly name = "MachineRefusal";
}

/** Runs a tool in the task's machine. What the machine could not do becomes an error result. */
export async function onMachine(
  { machine, signal }: ToolContext,
  work: (machine: TaskMachine) => Promise<ToolResult>,
): Promise<ToolResult> {
  if (machine === undefined) return toolError("failed", NO_MACHINE);
  try {
    return await work(machine);
  } catch (error) {
    // An aborted task must reject with its abort reason.
    signal.throwIfAborted();
    if (error instanceof MachineRefusal) return toolError("bad_arguments", error.message);
    return toolError("failed", `The task's machine could not do it: ${(error as Error).message}`);
  }
}

/** As `onMachine`, for what needs commands. */
export function inRunningMachine(
  context: ToolContext,
  work: (machine: TaskMachine) => Promise<ToolResult>,
): Promise<ToolResult> {
  return onMachine(context, async (machine) => (machine.canRun ? work(machine) : toolError("failed", ONLY_FILES)));
}
