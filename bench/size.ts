// Prints the size of the project: lines of src, tests and docs, the installed size, and the start-up time.
import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const STARTS = 5;

/** Counts the lines of the files in git below folders, and the files. */
function linesOf(folders: string, endings: RegExp): { lines: number; files: number } {
  const files = execFileSync("git", ["ls-files", ...folders.split(" ")], { cwd: ROOT, encoding: "utf8" })
    .split("\n")
    .filter((file) => endings.test(file));
  const lines = files.reduce((sum, file) => sum + readFileSync(join(ROOT, file), "utf8").split("\n").length - 1, 0);
  return { lines, files: files.length };
}

function bytesBelow(path: string): number {
  const stat = lstatSync(path);
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesBelow(join(path, name)), 0);
}

/** Returns the bytes that the package takes when it is unpacked, without its dependencies. */
function packageBytes(): number {
  const json = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 1e8,
  });
  const [{ unpackedSize }] = JSON.parse(json) as [{ unpackedSize: number }];
  return unpackedSize;
}

/** Returns the bytes of the packages that are installed with the program. */
function dependencyBytes(): number {
  const paths = execFileSync("npm", ["ls", "--omit=dev", "--omit=optional", "--all", "--parseable"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return paths
    .trim()
    .split("\n")
    .filter((path) => path !== ROOT && !/node_modules\/.*node_modules\//.test(path))
    .reduce((sum, path) => sum + bytesBelow(path), 0);
}

/** Returns the shortest of several starts, in milliseconds. */
function startUpMs(): number {
  const times = Array.from({ length: STARTS }, () => {
    const started = performance.now();
    execFileSync(process.execPath, [join(ROOT, "bin/art-e.js"), "--version"]);
    return performance.now() - started;
  });
  return Math.min(...times);
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
const LINES: readonly (readonly [label: string, folders: string, endings: RegExp])[] = [
  ["src", "src", /\.(ts|css|py|sh|toml|md)$/],
  ["tests (ts)", "test", /\.ts$/],
  ["bench, soak, ... (ts)", "bench soak mutation packaging write-docs", /\.ts$/],
  ["docs (md)", "docs", /\.md$/],
  ["sql", "sql", /\.sql$/],
];

for (const [label, folders, endings] of LINES) {
  const { lines, files } = linesOf(folders, endings);
  console.log(`${label.padEnd(26)} ${lines.toLocaleString("en")} lines in ${files.toLocaleString("en")} files`);
}
console.log(
  `${"package".padEnd(26)} ${megabytes(packageBytes())} unpacked, ${megabytes(dependencyBytes())} of dependencies`,
);
console.log(`${"start-up (--version)".padEnd(26)} ${startUpMs().toFixed(0)} ms`);
