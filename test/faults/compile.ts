import { spawnSync } from "node:child_process";
import { join } from "node:path";

/**
 * Compiles a library of this folder to preload. Returns its path, or null without a C compiler or on another system.
 */
export function compileLibrary(name: string, folder: string): string | null {
  const library = join(folder, `${name}.so`);
  const source = join(import.meta.dirname, `${name}.c`);
  const { status } = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]);
  return process.platform === "linux" && status === 0 ? library : null;
}
