import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // The built binary and real servers are started by many tests at once on few cores.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
