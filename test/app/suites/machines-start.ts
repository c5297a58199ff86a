import { chooseMachineHost } from "../../../src/sandbox/task-machine/choose-machine-host.js";

/** Whether machines of tasks start here: bubblewrap may be there and forbidden. */
export const machinesStart = (await chooseMachineHost()).ok;
