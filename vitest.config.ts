import { existsSync, readdirSync, readFileSync, statfsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";
import { defineConfig } from "vitest/config";
import { NEEDS } from "./test/machine-requirements.js";
import { SlowestFirst } from "./test/slowest-first.js";

/** They start programs, change what belongs to a whole process, or look at all processes below their own. */
const PROGRAMS = [
  "test/*.test.ts",
  "test/cli/**/*.test.ts",
  "test/evals/run-python-evals.test.ts",
  "test/mail/maildir.test.ts",
  "packaging/*.test.ts",
  "test/sandbox/*.test.ts",
  "test/tools/run-shell.test.ts",
  "test/tools/workspace-tools.test.ts",
];

/** With ART_E_SLOW=1, as in `npm run test:slow`, only cases that are tagged `slow` run. */
const isSlow = process.env.ART_E_SLOW === "1";

/** Bytes that all temporary folders of a test run need at most. */
const TEMPORARY_BYTES = 4e9;

/** Temporary folders are in memory if it has room: tests open thousands of databases, and disks take milliseconds. */
function useMemoryForTemporaryFolders(): void {
  const memory = "/dev/shm";
  if (isSlow || process.env.TMPDIR !== undefined || !existsSync(memory)) return;
  const { bavail, bsize } = statfsSync(memory);
  if (bavail * bsize > TEMPORARY_BYTES) process.env.TMPDIR = memory;
}

useMemoryForTemporaryFolders();

// V8 optimizes a function later than by default, because most code of tests runs only a few times. This saves 10% of the
// processor time of tests in threads.
setFlagsFromString("--interrupt-budget=1000000");

/** Files with cases that are tagged `slow`: stress that takes long, beside a smaller case of the same in `npm test`. */
const slowFiles = () =>
  ["test", "packaging"]
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`))
    .filter((name) => name.endsWith(".test.ts"))
    .filter((name) => readFileSync(name, "utf8").match(/tags: \["slow"|\bslow\(/) !== null);

export default defineConfig({
  test: {
    globalSetup: "test/global-setup.ts",
    // The built binary and real servers are started by many tests at once on few cores.
    // The limits are against what hangs: on a busy machine each start takes seconds.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    // What a test needs of the machine; where it was missing, the reporter says so, and fails in CI.
    tags: [...Object.entries(NEEDS).map(([name, description]) => ({ name, description })), { name: "slow" }],
    // Spread, as its type has it for command lines only.
    ...{ tagsFilter: [isSlow ? "slow" : "!slow"] },
    reporters: ["default", "./test/skips-reporter.ts", "./test/failed-files-reporter.ts"],
    maxWorkers: Math.max(4, availableParallelism()),
    sequence: { sequencer: SlowestFirst },
    // Each worker keeps the source, and the processes that run command lines, for all its files.
    isolate: false,
    projects: isSlow
      ? [{ extends: true, test: { name: "slow", include: slowFiles(), pool: "forks", testTimeout: 900_000 } }]
      : [
          {
            extends: true,
            test: {
              // They wait for processes and servers: it takes some at once to fill the cores.
              name: "programs",
              include: PROGRAMS,
              pool: "forks",
              maxWorkers: Math.max(6, availableParallelism()),
              sequence: { groupOrder: 0 },
            },
          },
          {
            extends: true,
            test: {
              // Each worker loads the source, which takes seconds. Some tests wait for servers, browsers and time limits.
              name: "modules",
              include: ["test/**/*.test.ts", "mutation/*.test.ts"],
              exclude: PROGRAMS,
              pool: "threads",
              maxWorkers: Math.max(4, availableParallelism()),
              sequence: { groupOrder: 1 },
            },
          },
        ],
  },
});
