import { hasHolderExited, isOnOtherHost, THIS_PROCESS } from "../../store/runs/process-identity.js";
import type { RunOwner } from "./run-lock.js";

/** This process as the owner of a run lock. */
export const thisProcess: RunOwner = { name: THIS_PROCESS, isGone: hasHolderExited };

/** Also takes over locks of processes on other machines: only the user can know that these have ended. */
export const forcedProcess: RunOwner = {
  name: THIS_PROCESS,
  isGone: (name) => hasHolderExited(name) || isOnOtherHost(name),
};
