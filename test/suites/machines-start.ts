import { chooseMachineHost } from "../../src/sandbox/open-task-machine.js";

/** Whether task machines start on this host. Bubblewrap can be installed and forbidden. */
export const machinesStart = (await chooseMachineHost()).ok;
