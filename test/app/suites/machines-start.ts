import { findMachineHost } from "../../../src/sandbox/task-machine/find-machine-host.js";
import { openTaskMachine } from "../../../src/sandbox/task-machine/open-task-machine.js";
import { readSnapshots, snapshotOf } from "../../../src/sandbox/task-machine/snapshots/read-snapshots.js";

/** Whether machines of the demo suite's tasks start here: bubblewrap may be there and forbidden. */
export const machinesStart = await tryOne();

async function tryOne(): Promise<boolean> {
  const choice = await findMachineHost();
  if (!choice.ok) return false;
  const base = snapshotOf("base", await readSnapshots(null));
  return openTaskMachine(choice.host, base, { hidden: [] }, new AbortController().signal)
    .then((machine) => machine.close())
    .then(() => true)
    .catch(() => false);
}
