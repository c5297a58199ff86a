import { existsSync, readFileSync } from "node:fs";

/** The folder with package.json: the build puts this line into a file at another depth than it has here. */
const FOLDER = packageFolder(new URL("./", import.meta.url));

function packageFolder(folder: URL): URL {
  const parent = new URL("../", folder);
  return existsSync(new URL("package.json", folder)) || parent.href === folder.href ? folder : packageFolder(parent);
}

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

/** The text of such a file. */
export function readBuiltFile(path: string): string {
  return readFileSync(builtFile(path), "utf8");
}

interface PackageManifest {
  readonly version: string;
  /** Ranges of versions by the names of packages. */
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** This program's package.json. */
export function readManifest(): PackageManifest {
  return JSON.parse(readFileSync(programFile("package.json"), "utf8"));
}

let version: string | null = null;

/** Read once: an installation may be replaced while its program runs for days. */
export function programVersion(): string {
  version ??= readManifest().version;
  return version;
}
