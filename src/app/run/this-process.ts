import { hasHolderExited, isOnOtherHost, THIS_PROCESS } from "../../store/runs/process-identity.js";
import type { RunOwner } from "./run-lock.js";

/** This process, as a run's file names it. */
export const thisProcess: RunOwner = { name: THIS_PROCESS, isGone: hasHolderExited };

/** Takes a run over from a process on another machine: only the user can know that it is gone. */
export const forcedProcess: RunOwner = {
  name: THIS_PROCESS,
  isGone: (name) => hasHolderExited(name) || isOnOtherHost(name),
};
