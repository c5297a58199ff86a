import { readdirSync, readFileSync } from "node:fs";
import type { MachineHost } from "../../src/sandbox/bubblewrap-machine.js";
import { MACHINE_LIMITS, type MachineLimits } from "../../src/sandbox/limits.js";
import { readSnapshots, type Snapshot, snapshotOf } from "../../src/sandbox/machine-snapshots.js";
import { chooseMachineHost, openTaskMachine, type SandboxedMachine } from "../../src/sandbox/open-task-machine.js";
import type { CommandResult } from "../../src/sandbox/task-machine.js";

/** Machines for tests, opened like the ones of tasks, and checks for their remains on the host. */

const choice = await chooseMachineHost();
const host = choice.ok ? choice.host : null;
/** Whether machines start on this host. Bubblewrap can be installed and forbidden. */
export const machinesStart = choice.ok;
/** Whether the kernel itself limits their memory. */
export const hasCgroup = host !== null && host.cgroups !== null;
export const BASE = snapshotOf("base", await readSnapshots(null));

export interface Opening {
  readonly snapshot?: Partial<Snapshot>;
  readonly hidden?: readonly string[];
  readonly limits?: Partial<MachineLimits>;
}

/** The smallest snapshot, with a test's additions or changes. */
export function openMachine({ snapshot = {}, hidden = [], limits = {} }: Opening = {}): Promise<SandboxedMachine> {
  const options = { hidden, limits: { ...MACHINE_LIMITS, ...limits } };
  return openTaskMachine(host as MachineHost, { ...BASE, ...snapshot }, options, new AbortController().signal);
}

export interface ShellOptions {
  readonly timeoutMs?: number;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** Runs lines of bash in a machine. */
export function shell(machine: SandboxedMachine, script: string, options: ShellOptions = {}): Promise<CommandResult> {
  const { timeoutMs = 60_000, cwd = null, env = {}, signal = new AbortController().signal } = options;
  return machine.run({ argv: ["bash", "-c", script], cwd, env, timeoutMs }, signal);
}

/** Returns the processes on this host, inside and outside of machines, that have the word in their arguments. */
export function processesWith(word: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word);
      } catch {
        return false;
      }
    })
    .map(Number);
}
