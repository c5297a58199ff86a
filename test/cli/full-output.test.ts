import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { BIN } from "./art-e.js";

/** Linux's device on which every write fails with ENOSPC. */
const FULL = "/dev/full";

describe.runIf(existsSync(FULL))("stdout on a full disk", () => {
  function run(...args: string[]) {
    const stdout = openSync(FULL, "w");
    try {
      return spawnSync(process.execPath, [BIN, ...args], { stdio: ["ignore", stdout, "pipe"], encoding: "utf8" });
    } finally {
      closeSync(stdout);
    }
  }

  it.each([["agents", "list"], ["agents", "--help"], ["--help"], ["--version"]])(
    "fails %s %s with one error and no stack",
    (...args) => {
      const { status, stderr } = run(...args);
      expect(stderr).toMatch(/^art-e: Cannot write to stdout: ENOSPC: .*\.\n( {7}Write to .*\n)?$/);
      expect(status).toBe(1);
    },
  );

  it("prints the error as JSON with --json", () => {
    const { status, stderr } = run("agents", "list", "--json");
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "stdout_failed", exitCode: 1 } });
    expect(status).toBe(1);
  });
});
