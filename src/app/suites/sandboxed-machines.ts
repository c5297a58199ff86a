import { dirname, resolve } from "node:path";
import type { OpenedMachine, TaskMachines } from "../../domain/tasks/task-machine.js";
import { chooseMachineHost } from "../../sandbox/task-machine/choose-machine-host.js";
import { missingForImage } from "../../sandbox/task-machine/docker/start-docker-guest.js";
import type { MachineHostChoice } from "../../sandbox/task-machine/find-machine-host.js";
import { openDockerMachine, openTaskMachine } from "../../sandbox/task-machine/open-task-machine.js";
import { checkSnapshots } from "../../sandbox/task-machine/snapshots/check-snapshots.js";
import { readSnapshots, snapshotOf } from "../../sandbox/task-machine/snapshots/read-snapshots.js";
import type { Snapshot } from "../../sandbox/task-machine/snapshots/snapshot-schema.js";
import type { SuiteFolder } from "../../suites/definition/suite-folder.js";
import type { AppContext } from "../use-case-context.js";

/**
 * The sandboxed machines that a suite's tasks can have here. Throws a UserError where its snapshots.json is wrong.
 * `secret`: a folder that no machine may show.
 */
export async function findSandboxedMachines(
  suite: SuiteFolder,
  context: AppContext,
  secret: string | null = null,
): Promise<TaskMachines> {
  // No agent may find the golds, or what others did.
  const hidden = [suite.root, dirname(resolve(context.settings.db)), ...(secret === null ? [] : [secret])];
  return new SandboxedMachines(await chooseMachineHost(), await readSnapshots(suite.root), hidden);
}

class SandboxedMachines implements TaskMachines {
  readonly #missing = new Map<string, Promise<string | null>>();

  constructor(
    private readonly choice: MachineHostChoice,
    private readonly snapshots: ReadonlyMap<string, Snapshot>,
    private readonly hidden: readonly string[],
  ) {}

  missingFor(name: string): Promise<string | null> {
    const asked = this.#missing.get(name) ?? this.#lookFor(name);
    this.#missing.set(name, asked);
    return asked;
  }

  async #lookFor(name: string): Promise<string | null> {
    const snapshot = this.snapshots.get(name);
    if (snapshot !== undefined && isOfImage(snapshot)) return missingForImage(snapshot.image);
    if (!this.choice.ok) return `no machine for tasks here: ${this.choice.why}. ${this.choice.hint}`;
    if (snapshot === undefined) return `there is no snapshot "${name}": snapshots.json in the suite's folder adds one`;
    const { snapshots, install, withoutPackage } = await checkSnapshots([snapshot]);
    const why = withoutPackage.length === 0 && install !== null ? install : (snapshots[0]?.why ?? null);
    return why === null ? null : `the snapshot ${name} is not ready here: ${why}`;
  }

  async open(name: string, signal: AbortSignal): Promise<OpenedMachine> {
    const snapshot = snapshotOf(name, this.snapshots);
    if (isOfImage(snapshot)) return await openDockerMachine(snapshot, signal);
    if (!this.choice.ok) throw new Error(this.choice.why);
    return await openTaskMachine(this.choice.host, snapshot, { hidden: this.hidden }, signal);
  }
}

function isOfImage(snapshot: Snapshot): snapshot is Snapshot & { readonly image: string } {
  return snapshot.image !== null;
}
