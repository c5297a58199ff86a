import { type CommandResult, HOME, type TaskMachine } from "../../domain/tasks/task-machine.js";

const TIMEOUT_MS = 180_000;
const LOG = `${HOME}/task_setup.log`;

/**
 * Uploads a script and runs it, for set-up and for grading alike. Bash starts it, which also runs a script that has
 * no first line to say what it is for.
 */
export async function runFlowbookScript(
  source: string,
  path: string,
  machine: TaskMachine,
  signal: AbortSignal,
): Promise<CommandResult> {
  await machine.copyIn(source, path);
  const options = { cwd: null, env: { TASK_SETUP_LOG: LOG }, timeoutMs: TIMEOUT_MS };
  const changed = await machine.run({ argv: ["chmod", "+x", path], ...options }, signal);
  if (changed.exitCode !== 0) return changed;
  return await machine.run({ argv: ["/bin/bash", "-c", '"$0"', path], ...options }, signal);
}
