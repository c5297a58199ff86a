import type { FunctionCall } from "../../domain/tasks/suite-task.js";
import { findSetupFunction } from "../setup/setup-functions.js";
import type { EvaluationContext } from "./evaluation-context.js";

/**
 * Runs the actions in order, and says which were left out or failed, and why. As at the origin none of them ends the
 * grading: what one did not do shows in the score.
 */
export async function runPostconfig(calls: readonly FunctionCall[], context: EvaluationContext): Promise<string[]> {
  const notes: string[] = [];
  for (const { func, arguments: args } of calls) {
    const action = findSetupFunction(context.task.dialect, func, context.options.custom);
    if (action === null) notes.push(`${func} is not known`);
    else if (action.run === null) notes.push(`${func} cannot be run here`);
    else {
      const { state, reason } = await action.run(args, context);
      if (state !== "done") notes.push(`${func} ${reason}`);
    }
  }
  return notes;
}
