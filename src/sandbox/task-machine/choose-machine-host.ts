import { ALLOW_NAMESPACES } from "../bubblewrap/bubblewrap.js";
import { findMachineHost, type MachineHostChoice } from "./find-machine-host.js";
import { openTaskMachine } from "./open-task-machine.js";
import { EMPTY_SNAPSHOT } from "./snapshots/snapshot-schema.js";

let chosen: Promise<MachineHostChoice> | undefined;

/**
 * What machines for tasks are made of here, where one does start, or why none does and what to do. Probed once per
 * process, by a command in a machine: an installed bubblewrap may be forbidden to work.
 */
export function chooseMachineHost(): Promise<MachineHostChoice> {
  chosen ??= findMachineHost().then((choice) => (choice.ok ? probe(choice) : choice));
  return chosen;
}

async function probe(choice: Extract<MachineHostChoice, { ok: true }>): Promise<MachineHostChoice> {
  const { signal } = new AbortController();
  try {
    const machine = await openTaskMachine(choice.host, EMPTY_SNAPSHOT, { hidden: [] }, signal);
    try {
      const command = { argv: ["sh", "-c", "echo $((6 * 7))"], cwd: null, env: {}, timeoutMs: 30_000 };
      const { stdout, stderr } = await machine.run(command, signal);
      if (stdout === "42\n") return choice;
      return { ok: false, why: `a command does not run in bubblewrap (${stderr.trim()})`, hint: ALLOW_NAMESPACES };
    } finally {
      await machine.close();
    }
  } catch (error) {
    return { ok: false, why: `bubblewrap does not start (${(error as Error).message})`, hint: ALLOW_NAMESPACES };
  }
}
