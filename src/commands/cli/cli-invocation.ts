import { realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Environment } from "../../app/settings/env-file.js";

/** The executable of this installation. */
export const PROGRAM = fileURLToPath(new URL("../../../bin/art-e.js", import.meta.url));

/**
 * How this installation is called from a shell: `art-e` where the path leads to it, else by its absolute path. Never
 * `npx art-e`, which outside of a checkout asks the registry for a package of that name, which is not this one.
 */
export function programCall(env: Environment): string {
  const isOnPath = (env.PATH ?? "").split(delimiter).some((folder) => isProgram(join(folder, "art-e")));
  return isOnPath ? "art-e" : `node ${PROGRAM}`;
}

function isProgram(path: string): boolean {
  try {
    return realpathSync(path) === PROGRAM;
  } catch {
    return false;
  }
}
