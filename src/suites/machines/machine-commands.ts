// Runs the commands of suite tasks in a machine, as the original runners do.
import { z } from "zod";
import { splitShellWords } from "../../platform/command-line.js";
import { type CommandResult, HOME, lastLine, type TaskMachine } from "../../sandbox/task-machine.js";

export const commandSchema = z.looseObject({
  command: z.union([z.string(), z.array(z.string())], "expected a string or a list of words"),
  shell: z.boolean().default(false),
});

/**
 * Returns the command as Spider2-V's server starts it: a string is split into words, or passed to a shell if the task
 * requires one.
 */
export function argvOf({ command, shell }: z.output<typeof commandSchema>): string[] {
  if (shell) return ["/bin/sh", "-c", ...(typeof command === "string" ? [command] : command)];
  return typeof command === "string" ? splitShellWords(command, "command") : command;
}

const TIMEOUT_MS = 180_000;
/** Only a file name, as in Flowbook, whose scripts prepend `/mnt/container/`. */
const LOG = "task-setup.log";

/**
 * Uploads a script and runs it, for setup and for grading. Bash starts it, so that a script without a shebang line also
 * runs.
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

/** Describes a failed command with the last line of its output: `init.sh ended with exit code 3: ...`. */
export function describeFailure(command: string, { exitCode, stdout, stderr }: CommandResult): string {
  const lastOutput = lastLine(stderr) || lastLine(stdout);
  const ending = exitCode === null ? "reached its time limit" : `ended with exit code ${exitCode}`;
  return `${command} ${ending}${lastOutput === "" ? "" : `: ${lastOutput}`}`;
}

/** Expands `~` and `$HOME`, like Spider2-V's server. */
export function expandHome(path: string): string {
  if (path === "~" || path.startsWith("~/")) return HOME + path.slice(1);
  return path.replace(/^\$(HOME|\{HOME\})(?=\/|$)/, HOME);
}
