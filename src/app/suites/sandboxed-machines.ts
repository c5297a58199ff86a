import { dirname, resolve } from "node:path";
import type { OpenedMachine, TaskMachines } from "../../domain/tasks/task-machine.js";
import { findMachineHost, type MachineHostChoice } from "../../sandbox/task-machine/find-machine-host.js";
import { openTaskMachine } from "../../sandbox/task-machine/open-task-machine.js";
import { checkSnapshots, type SnapshotsStatus } from "../../sandbox/task-machine/snapshots/check-snapshots.js";
import { readSnapshots, snapshotOf } from "../../sandbox/task-machine/snapshots/read-snapshots.js";
import type { Snapshot } from "../../sandbox/task-machine/snapshots/snapshot-schema.js";
import type { SuiteFolder } from "../../suites/definition/suite-folder.js";
import type { AppContext } from "../use-case-context.js";

/** The sandboxed machines that a suite's tasks can have here. Looks for what they take; nothing is started yet. */
export async function findSandboxedMachines(suite: SuiteFolder, context: AppContext): Promise<TaskMachines> {
  const snapshots = await readSnapshots(suite.root);
  const [choice, status] = await Promise.all([findMachineHost(), checkSnapshots(snapshots.values())]);
  // No agent may find the golds, or what others did.
  const hidden = [suite.root, dirname(resolve(context.settings.db))];
  return new SandboxedMachines(choice, snapshots, status, hidden);
}

class SandboxedMachines implements TaskMachines {
  constructor(
    private readonly choice: MachineHostChoice,
    private readonly snapshots: ReadonlyMap<string, Snapshot>,
    private readonly status: SnapshotsStatus,
    private readonly hidden: readonly string[],
  ) {}

  missingFor(snapshot: string): string | null {
    if (!this.choice.ok) return `no machine for tasks here: ${this.choice.why}. ${this.choice.hint}`;
    const found = this.status.snapshots.find(({ name }) => name === snapshot);
    if (found === undefined) return `there is no snapshot "${snapshot}": snapshots.json in the suite's folder adds one`;
    return found.why === null ? null : `the snapshot ${snapshot} is not ready here: ${found.why}`;
  }

  async open(snapshot: string, signal: AbortSignal): Promise<OpenedMachine> {
    if (!this.choice.ok) throw new Error(this.choice.why);
    const options = { hidden: this.hidden };
    return await openTaskMachine(this.choice.host, snapshotOf(snapshot, this.snapshots), options, signal);
  }
}
