// Locates the files of this installation, both when built and when tests run from the sources.
import { existsSync, readFileSync } from "node:fs";

interface PackageManifest {
  readonly version: string;
  /** Version ranges by package name. */
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** The folder that contains package.json. The build moves this code to a file at another depth. */
const FOLDER = packageFolder(new URL("./", import.meta.url));

function packageFolder(folder: URL): URL {
  const parent = new URL("..", folder);
  return existsSync(new URL("package.json", folder)) || parent.href === folder.href ? folder : packageFolder(parent);
}

/**
 * Returns the URL of a file in this installation, or of a folder if the path ends with a slash: `sql/`, `package.json`.
 */
export function programFile(path: string): URL {
  return new URL(path, FOLDER);
}

/**
 * Returns the URL of a built file: code of a thread or a child process, a page, a Python program. Tests, which run from
 * `src/`, also use the built file.
 */
export function builtFile(path: string): URL {
  return programFile(`dist/${path}`);
}

/** Returns the text of a built file. */
export function readBuiltFile(path: string): string {
  return readFileSync(builtFile(path), "utf8");
}

/** Reads this program's package.json. */
export function readManifest(): PackageManifest {
  return JSON.parse(readFileSync(programFile("package.json"), "utf8"));
}

let version: string | null = null;

/** Returns the version, read once: an installation can be replaced while its program runs for days. */
export function programVersion(): string {
  version ??= readManifest().version;
  return version;
}
