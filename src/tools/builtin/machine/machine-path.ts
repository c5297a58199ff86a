import { posix } from "node:path";
import { HOME } from "../../../domain/tasks/task-machine.js";
import { MachineRefusal } from "./on-machine.js";

/** A path given by an agent, as an absolute one: relative ones and `~/` begin at the user's home. */
export function machinePath(path: string): string {
  if (path.includes("\0")) throw new MachineRefusal("A path cannot hold a NUL character.");
  const below = path === "~" || path.startsWith("~/") ? path.slice(2) : path;
  return posix.resolve(HOME, below);
}
