import { hostname } from "node:os";
import type { Worker } from "../runner/worker.js";

/** This process, as a run's file names it. Of processes on other machines nobody here can say that they are gone. */
export const thisWorker: Worker = {
  name: `${hostname()}:${process.pid}`,
  isGone(name) {
    const at = name.lastIndexOf(":");
    if (name.slice(0, at) !== hostname()) return false;
    try {
      process.kill(Number(name.slice(at + 1)), 0);
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ESRCH";
    }
  },
};
