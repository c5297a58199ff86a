import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { isProcessAlive } from "../../src/platform/async.js";

it("this process and the first are alive, one that has ended is not, nor is what is no process id", () => {
  const ended = spawnSync(process.execPath, ["-e", ""]).pid;
  expect([process.pid, 1, ended, 2 ** 40].map(isProcessAlive)).toEqual([true, true, false, false]);
});
