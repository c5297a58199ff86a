import { isElsewhere, isGone, THIS_HOLDER } from "../../store/runs/process-identity.js";
import type { RunOwner } from "./run-lock.js";

/** This process as the owner of a run lock. */
export const thisProcess: RunOwner = { name: THIS_HOLDER, isGone };

/** Also takes over locks of processes on other machines: only the user can know that these have ended. */
export const forcedProcess: RunOwner = { name: THIS_HOLDER, isGone: (name) => isGone(name) || isElsewhere(name) };
