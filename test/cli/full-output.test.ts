import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BIN, MAIL, QUESTIONS } from "./art-e.js";

/** The Linux device that fails every write with ENOSPC. */
const FULL = "/dev/full";

describe.runIf(existsSync(FULL))("a full disk behind stdout", () => {
  function run(...args: string[]) {
    const stdout = openSync(FULL, "w");
    try {
      return spawnSync(process.execPath, [BIN, ...args], { stdio: ["ignore", stdout, "pipe"], encoding: "utf8" });
    } finally {
      closeSync(stdout);
    }
  }

  it.each(["agents list", "agents --help", "--help", "--version"])(
    "makes art-e %s fail with one error and no stack",
    (line) => {
      const { status, stderr } = run(...line.split(" "));
      expect(stderr).toMatch(
        /^art-e: Cannot write to stdout: no space left on device\.\n( {7}Free some disk space, .*\n)?$/,
      );
      expect(status).toBe(1);
    },
  );

  it("stops a run with one error if its recording cannot be written", () => {
    const folder = mkdtempSync(join(tmpdir(), "full-output-"));
    const program = (...args: string[]) =>
      spawnSync(process.execPath, [BIN, ...args, "--db", join(folder, "a.db")], { encoding: "utf8" });
    try {
      expect(program("import", MAIL, "--quiet").status).toBe(0);
      const run = ["run", "-a", "baseline", "--dataset", QUESTIONS, "-l", "2", "--quiet"];
      const { status, stderr } = program(...run, "--record", FULL);
      expect(stderr).toMatch(
        /^art-e: --record: Cannot write \/dev\/full: no space left on device\.\n {7}Free some space, .+\n$/,
      );
      expect(status).toBe(1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("appears as JSON if --json is given", () => {
    const { status, stderr } = run("agents", "list", "--json");
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "stdout_failed", exitCode: 1 } });
    expect(status).toBe(1);
  });
});
