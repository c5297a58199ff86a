import { chooseMachineHost } from "../../src/sandbox/open-task-machine.js";

/** Whether machines of tasks start here: bubblewrap may be there and forbidden. */
export const machinesStart = (await chooseMachineHost()).ok;
