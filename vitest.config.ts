import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // The built binary and real servers are started by many tests at once on few cores.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Shared machines starve a child process now and then. A test that fails twice fails, and one that was retried is named.
    retry: process.env.CI ? 1 : 0,
    // Most tests wait for a process or a server: one at a time would leave the cores idle.
    maxWorkers: Math.max(3, availableParallelism()),
  },
});
