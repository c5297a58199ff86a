import { existsSync, readFileSync } from "node:fs";

/** The folder with package.json: the build puts this line into a file at another depth than it has here. */
const FOLDER = ((): URL => {
  let folder = new URL("./", import.meta.url);
  while (!existsSync(new URL("package.json", folder))) folder = new URL("../", folder);
  return folder;
})();

/** A file, or with a slash at its end a folder, of this installation: `sql/`, `package.json`. */
export function programFile(path: string): URL {
  return new URL(path, FOLDER);
}

/**
 * A file that the build has made or copied from `src/`: the code of a thread or of a child process, a page, a program
 * in Python. Also where this program runs from `src/`, as in tests.
 */
export function builtFile(path: string): URL {
  return programFile(`dist/${path}`);
}

/** The version in this program's package.json. */
export function programVersion(): string {
  return (JSON.parse(readFileSync(programFile("package.json"), "utf8")) as { readonly version: string }).version;
}
