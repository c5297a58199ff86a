import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

const run = promisify(execFile);

/** A Python of this machine and every file it needs, for a sandbox that shows it nothing else. */
export interface FoundPython {
  readonly version: string;
  readonly program: string;
  /** Folders of the standard library. */
  readonly library: readonly string[];
  /** Folders inside those that hold other people's packages. */
  readonly packages: readonly string[];
  /** The dynamic linker and all shared libraries of Python and of its extension modules. */
  readonly shared: readonly string[];
}

const ASK = `
import glob, json, os, sys, sysconfig
library = sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
print(json.dumps({
    "version": sys.version.split()[0],
    "program": os.path.realpath(sys.executable),
    "library": [path for path in library if os.path.isdir(path)],
    "packages": [found for path in library for found in glob.glob(path + "/*-packages")],
    "extensions": [found for path in library for found in glob.glob(path + "/lib-dynload/*.so")],
}))`;

const answerSchema = z.object({
  version: z.string(),
  program: z.string(),
  library: z.array(z.string()),
  packages: z.array(z.string()),
  extensions: z.array(z.string()),
});

/** The system's own first: the one of the search path may be a wrapper, or lie in a home folder. */
const CANDIDATES = ["/usr/bin/python3", "/usr/local/bin/python3", "python3"];

/** The first Python 3 that answers; null: there is none. */
export async function findPython(): Promise<FoundPython | null> {
  for (const candidate of CANDIDATES) {
    try {
      const { stdout } = await run(candidate, ["-I", "-S", "-c", ASK], { timeout: 10_000 });
      const { extensions, ...found } = answerSchema.parse(JSON.parse(stdout));
      return { ...found, shared: await sharedLibraries([found.program, ...extensions]) };
    } catch {
      // Not there, or no Python 3: the next one may be.
    }
  }
  return null;
}

/** An absolute path of a program among those where systems put it, or null. */
export async function findProgram(name: string): Promise<string | null> {
  for (const folder of ["/usr/bin", "/usr/local/bin", "/bin"]) {
    try {
      await access(`${folder}/${name}`, constants.X_OK);
      return `${folder}/${name}`;
    } catch {
      // Look on.
    }
  }
  return null;
}

export function foldersOf(files: readonly string[]): string[] {
  return [...new Set(files.map((file) => dirname(file)))];
}

async function sharedLibraries(files: readonly string[]): Promise<string[]> {
  const { stdout } = await run("ldd", [...files], { timeout: 10_000, maxBuffer: 2 ** 24 });
  const paths = [...stdout.matchAll(/^[ \t]+(?:\S+ => )?(\/\S+) \(0x[0-9a-f]+\)$/gm)].map(([, path = ""]) => path);
  return [...new Set(paths)].sort();
}
