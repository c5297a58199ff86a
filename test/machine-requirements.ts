import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Requirements of some tests. Without them, the tests skip with a message, which fails in CI unless it is allowed. */

/** The requirements, and how to meet them. */
export const NEEDS = {
  sandbox: "a working sandbox: bubblewrap and Python 3, or Docker with its image",
  browser: "a browser: /usr/bin/chromium, or the path in ART_E_CHROMIUM",
  "real-mail": "the folder of real Enron mail that ART_E_ENRON names",
  notebooks:
    "Python packages that run notebooks, in the sandbox: nbclient and ipykernel of the system, or of the folder below /opt that ART_E_PYTHON_PACKAGES names",
  suites: "the folder of real task suites that ART_E_SUITES names",
  origins:
    "the two complete suites from their origins, with all scripts and archives: flowbook/ and spider2v/ in the folder that ART_E_SUITE_ORIGINS names",
  exports: "the folder of export formats, with their schemas and examples, that ART_E_EXPORTS names",
  training: "the folder of facts about trainers' protocols that ART_E_TRAINING names, with openenv_conformance.py",
  redis: "redis-server, version 6.2 or newer",
  terminal: "tmux, which shows the content of a terminal",
  sqlite3: "sqlite3, the command-line shell of SQLite, as an older version than the program's own: Debian's sqlite3",
  pandas: "pandas for /usr/bin/python3, such as Debian's python3-pandas",
  root: "root, and a checkout that every user may read",
  linux: "Linux",
  compiler: "Linux with a C compiler: cc",
} as const;

export type Need = keyof typeof NEEDS;

export const CHROMIUM = process.env.ART_E_CHROMIUM ?? "/usr/bin/chromium";
export const ENRON = process.env.ART_E_ENRON ?? "";
export const SUITES = process.env.ART_E_SUITES ?? "";
export const ORIGINS = process.env.ART_E_SUITE_ORIGINS ?? "";
export const TRAINING = process.env.ART_E_TRAINING ?? "";
export const EXPORTS = process.env.ART_E_EXPORTS ?? "";

const THERE: Readonly<Partial<Record<Need, () => boolean>>> = {
  browser: () => existsSync(CHROMIUM),
  "real-mail": () => ENRON !== "",
  suites: () => SUITES !== "",
  origins: () => ORIGINS !== "",
  exports: () => EXPORTS !== "",
  training: () => TRAINING !== "",
  redis: () => spawnSync("redis-server", ["--version"]).status === 0,
  terminal: () => spawnSync("tmux", ["-V"]).status === 0,
  sqlite3: () => spawnSync("sqlite3", ["--version"]).status === 0,
  pandas: () => spawnSync("/usr/bin/python3", ["-c", "import pandas"]).status === 0,
  linux: () => process.platform === "linux",
};

/** Also true if only the test itself can check the requirement. */
export const isMissing = (need: Need): boolean => THERE[need]?.() !== true;

/** Only in `npm run test:slow`, because a smaller case of it is in the same file. */
export function slow(options: { skip?: boolean; tags?: readonly Need[] } = {}): { skip?: boolean; tags: string[] } {
  return { ...options, tags: ["slow", ...(options.tags ?? [])] };
}

/**
 * Options of a test or a suite that is skipped if a requirement is missing. The tag names the requirement for the
 * report.
 */
export function needs(need: Need, isThere = THERE[need]?.()): { skip: boolean; tags: Need[] } {
  if (isThere === undefined) throw new Error(`only a test can tell whether ${need} is there`);
  return { skip: !isThere, tags: [need] };
}
