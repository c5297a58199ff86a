import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { needs } from "../machine-requirements.js";

const BUILT = join(import.meta.dirname, "../../dist/platform/thread-priority.js");

/** In a process of its own: one that is not root cannot take it back. */
function run(script: string): unknown {
  const head = `import { readdirSync } from "node:fs"; import { getPriority } from "node:os"; import * as priority from ${JSON.stringify(BUILT)};`;
  const others = `const others = () => readdirSync("/proc/self/task").map(Number).filter((id) => id !== process.pid).map((id) => getPriority(id));`;
  const args = ["--input-type=module", "-e", `${head}${others}const at = getPriority();${script}`];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (stderr !== "") throw new Error(stderr);
  return JSON.parse(stdout);
}

it("the other threads of a process step back, and this one does not", needs("linux"), () => {
  const script = `const before = others(); priority.prioritizeThisThread(7);
    console.log(JSON.stringify({ at, own: getPriority(), threads: before.length, others: [...new Set(others())] }));`;
  const seen = run(script) as { at: number; own: number; threads: number; others: number[] };
  expect(seen).toMatchObject({ own: seen.at, others: [Math.min(19, seen.at + 7)] });
  expect(seen.threads).toBeGreaterThan(3);
});

it("this one steps back where a thread has a priority of its own, as far as there is room", () => {
  const by = run("priority.lowerThreadPriority(100); console.log(getPriority());");
  if (process.platform === "linux") expect(by).toBe(19);
  else expect(by).toBeLessThan(19);
});
