import { z } from "zod";
import { splitShellWords } from "../platform/command-line.js";
import { type CommandResult, HOME, lastLine, type TaskMachine } from "../sandbox/task-machine.js";

export const commandSchema = z.looseObject({
  command: z.union([z.string(), z.array(z.string())], "expected a text or a list of words"),
  shell: z.boolean().default(false),
});

/** A command as the origin's server starts it: text is split into words, or goes to a shell where the task says so. */
export function argvOf({ command, shell }: z.output<typeof commandSchema>): string[] {
  if (shell) return ["/bin/sh", "-c", ...(typeof command === "string" ? [command] : command)];
  return typeof command === "string" ? splitShellWords(command, "command") : command;
}

const TIMEOUT_MS = 180_000;
/** A name, as at the origin: its scripts put `/mnt/container/` before it. */
const LOG = "task-setup.log";

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

/** How a command ended that did not succeed, with the last line that it said: `init.sh ended with exit code 3: ...`. */
export function describeFailure(command: string, { exitCode, stdout, stderr }: CommandResult): string {
  const said = lastLine(stderr) || lastLine(stdout);
  const ended = exitCode === null ? "reached its time limit" : `ended with exit code ${exitCode}`;
  return `${command} ${ended}${said === "" ? "" : `: ${said}`}`;
}

/** The origin's server expands `~`, and `$HOME` of variables. */
export function expandHome(path: string): string {
  if (path === "~" || path.startsWith("~/")) return HOME + path.slice(1);
  return path.replace(/^\$(HOME|\{HOME\})(?=\/|$)/, HOME);
}
