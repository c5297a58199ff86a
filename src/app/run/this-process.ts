import { isElsewhere, isGone, THIS_HOLDER } from "../../store/runs/process-identity.js";
import type { Worker } from "./run-lock.js";

/** This process, as a run's file names it. */
export const thisWorker: Worker = { name: THIS_HOLDER, isGone };

/** Takes a run over from a process on another machine: only the user can know that it is gone. */
export const forcedWorker: Worker = { name: THIS_HOLDER, isGone: (name) => isGone(name) || isElsewhere(name) };
