import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { NEEDS } from "./test/machine-requirements.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/global-setup.ts",
    // The built binary and real servers are started by many tests at once on few cores.
    // The limits are against what hangs: on a busy machine each start takes seconds.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    // What a test needs of the machine; where it was missing, the reporter says so, and fails in CI.
    tags: Object.entries(NEEDS).map(([name, description]) => ({ name, description })),
    reporters: ["default", "./test/skips-reporter.ts"],
    // Most tests wait for a process or a server: one at a time would leave the cores idle.
    maxWorkers: Math.max(3, availableParallelism()),
  },
});
