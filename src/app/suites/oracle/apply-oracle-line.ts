import type { SuiteTask } from "../../../domain/tasks/suite-task.js";
import type { TaskMachine } from "../../../domain/tasks/task-machine.js";
import { type Placed, placeFiles } from "./place-files.js";
import type { OracleLine } from "./read-oracle.js";
import { startProcesses } from "./start-processes.js";

/** Puts a line's files in place in a machine that runs commands, removes what it removes, and starts its processes. */
export async function applyOracleLine(
  line: OracleLine,
  task: SuiteTask,
  derivedFolder: string,
  machine: TaskMachine,
  signal: AbortSignal,
): Promise<Placed> {
  const placed = await placeFiles(line, task, derivedFolder, machine);
  if (placed.refused !== null) return placed;
  if (line.remove.length > 0) {
    const argv = ["rm", "-rf", "--", ...line.remove];
    await machine.run({ argv, cwd: null, env: {}, timeoutMs: 60_000 }, signal);
  }
  return { ...placed, refused: await startProcesses(line.processes, machine, signal) };
}
