import { dirname, resolve } from "node:path";
import { findMachineHost, type MachineHostChoice } from "../../sandbox/task-machine/find-machine-host.js";
import { openTaskMachine } from "../../sandbox/task-machine/open-task-machine.js";
import type { SandboxedMachine } from "../../sandbox/task-machine/sandboxed-machine.js";
import { checkSnapshots, type SnapshotsStatus } from "../../sandbox/task-machine/snapshots/check-snapshots.js";
import { readSnapshots, snapshotOf } from "../../sandbox/task-machine/snapshots/read-snapshots.js";
import type { Snapshot } from "../../sandbox/task-machine/snapshots/snapshot-schema.js";
import type { SuiteFolder } from "../../suites/definition/suite-folder.js";
import type { AppContext } from "../use-case-context.js";

/** The sandboxed machines that a suite's tasks can have here. */
export class TaskMachines {
  constructor(
    private readonly choice: MachineHostChoice,
    private readonly snapshots: ReadonlyMap<string, Snapshot>,
    private readonly status: SnapshotsStatus,
    private readonly hidden: readonly string[],
  ) {}

  /** The one thing that is missing for machines of this snapshot; null: nothing. */
  missingFor(snapshot: string): string | null {
    if (!this.choice.ok) return `no machine for tasks here: ${this.choice.why}. ${this.choice.hint}`;
    const status = this.status.snapshots.find(({ name }) => name === snapshot);
    if (status === undefined) return `there is no snapshot "${snapshot}": add it to snapshots.json in the suite's folder`;
    return status.why === null ? null : `the snapshot ${snapshot} is not ready here: ${status.why}`;
  }

  /** Ask first whether something is missing. */
  open(snapshot: string, signal: AbortSignal): Promise<SandboxedMachine> {
    if (!this.choice.ok) throw new Error(this.choice.why);
    const options = { hidden: this.hidden };
    return openTaskMachine(this.choice.host, snapshotOf(snapshot, this.snapshots), options, signal);
  }
}

/** Looks what this machine has for the suite's snapshots. Nothing is started yet. */
export async function findTaskMachines(suite: SuiteFolder, context: AppContext): Promise<TaskMachines> {
  const snapshots = await readSnapshots(suite.content);
  const [choice, status] = await Promise.all([findMachineHost(), checkSnapshots(snapshots.values())]);
  // No agent may find the golds, or what others did.
  const hidden = [suite.root, dirname(resolve(context.settings.db))];
  return new TaskMachines(choice, snapshots, status, hidden);
}
