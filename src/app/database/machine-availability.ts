import { chooseMachineHost } from "../../sandbox/task-machine/choose-machine-host.js";
import { checkSnapshots } from "../../sandbox/task-machine/snapshots/check-snapshots.js";
import { readSnapshots, snapshotOf } from "../../sandbox/task-machine/snapshots/read-snapshots.js";
import { EMPTY_SNAPSHOT } from "../../sandbox/task-machine/snapshots/snapshot-schema.js";

/** Which machines for the tasks of suites can be had here. */
export interface MachineAvailability {
  /** Why there are none at all; null: they can be started, where a snapshot is ready. */
  readonly obstacle: string | null;
  readonly ready: readonly string[];
  /** Names with why not. */
  readonly notReady: Readonly<Record<string, string>>;
  /** Names with why no machine can hold them: they are servers, or take an account. */
  readonly unavailable: Readonly<Record<string, string>>;
  /** The line that installs all that is missing and that Debian has; null: nothing. */
  readonly install: string | null;
  /** Missing, and in no package. */
  readonly withoutPackage: readonly string[];
}

/** Of the built-in snapshots. */
export async function machineAvailability(): Promise<MachineAvailability> {
  const snapshots = await readSnapshots(null);
  // What machines are made of stands in the same line as what they hold.
  const machine = { ...EMPTY_SNAPSHOT, name: "", commands: { bwrap: "bubblewrap", python3: "python3" } };
  const [choice, { snapshots: statuses, install, withoutPackage }] = await Promise.all([
    chooseMachineHost(),
    checkSnapshots([machine, ...snapshots.values()]),
  ]);
  const others = statuses.filter(({ name, ready }) => name !== "" && !ready);
  const isUnavailable = (name: string) => snapshotOf(name, snapshots).unavailable !== null;
  const whys = (which: typeof others) => Object.fromEntries(which.map(({ name, why }) => [name, why ?? ""]));
  return {
    obstacle: choice.ok ? null : `${choice.why}. ${choice.hint}`,
    ready: choice.ok ? statuses.filter(({ name, ready }) => name !== "" && ready).map(({ name }) => name) : [],
    notReady: whys(others.filter(({ name }) => !isUnavailable(name))),
    unavailable: whys(others.filter(({ name }) => isUnavailable(name))),
    install,
    withoutPackage,
  };
}
