import { readdirSync, readFileSync } from "node:fs";
import type { MachineHost } from "../../src/sandbox/bubblewrap-machine.js";
import { MACHINE_LIMITS, type MachineLimits } from "../../src/sandbox/limits.js";
import { readSnapshots, type Snapshot, snapshotOf } from "../../src/sandbox/machine-snapshots.js";
import { chooseMachineHost, openTaskMachine, type SandboxedMachine } from "../../src/sandbox/open-task-machine.js";
import type { CommandResult } from "../../src/sandbox/task-machine.js";

/** Machines for tests: opened as tasks open them, and what is left of them on the host. */

const choice = await chooseMachineHost();
const host = choice.ok ? choice.host : null;
/** Whether machines start here: bubblewrap may be there and forbidden. */
export const machinesStart = choice.ok;
/** Whether the kernel itself bounds their memory. */
export const hasCgroup = host !== null && host.cgroups !== null;
export const BASE = snapshotOf("base", await readSnapshots(null));

export interface Opening {
  readonly snapshot?: Partial<Snapshot>;
  readonly hidden?: readonly string[];
  readonly limits?: Partial<MachineLimits>;
}

/** The smallest snapshot, with what a test adds or changes. */
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

/** Runs lines of bash in it. */
export function shell(machine: SandboxedMachine, script: string, options: ShellOptions = {}): Promise<CommandResult> {
  const { timeoutMs = 60_000, cwd = null, env = {}, signal = new AbortController().signal } = options;
  return machine.run({ argv: ["bash", "-c", script], cwd, env, timeoutMs }, signal);
}

/** Processes of this host, inside of machines and out, that have the word among their arguments. */
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
