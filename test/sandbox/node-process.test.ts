import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  chooseNodeIsolation,
  type NodeIsolation,
  NodeProcess,
  type NodeProgram,
} from "../../src/sandbox/node-process.js";
import { needs } from "../machine-requirements.js";

const folder = mkdtempSync(join(tmpdir(), "art-e-node-process-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const never = new AbortController().signal;
let programs = 0;

/** A program that reports that it is ready, if it is asked to, and then runs a script. */
function program(script: string): NodeProgram {
  const file = join(folder, `${programs++}.mjs`);
  writeFileSync(
    file,
    `import { closeSync, readSync, writeSync } from "node:fs";
    const [ready] = process.argv.slice(2);
    if (ready !== undefined) { writeSync(Number(ready), "1"); closeSync(Number(ready)); }
    const line = (value) => writeSync(1, JSON.stringify(value) + "\\n");
    readSync(0, Buffer.alloc(1000));
    ${script}`,
  );
  return { file, args: [], readable: [] };
}

const boxed = await chooseNodeIsolation(program(""));
const plain: NodeIsolation = { kind: "permissions", why: "a test" };
const BOTH: [string, NodeIsolation][] = [
  ["bubblewrap", boxed],
  ["Node's permissions alone", plain],
];

/** Starts the program, sends it a line, and returns what it sends first. */
async function firstLineOf(isolation: NodeIsolation, script: string, limitMs = 20_000) {
  const child = await NodeProcess.start(isolation, program(script), never);
  try {
    child.send({});
    return await child.receive(limitMs, never);
  } finally {
    await child.kill();
  }
}

/** Blocks this process until `count` of its child processes have ended, for at most 10 s. It learns of it afterwards. */
function waitForEnded(count: number): void {
  const ended = () => {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/stat`, "utf8").includes(`) Z ${process.pid} `);
      } catch {
        return false;
      }
    }).length;
  };
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (let round = 0; round < 1_000 && ended() < count; round++) Atomics.wait(clock, 0, 0, 10);
}

describe.each(BOTH)("NodeProcess in %s", needs("linux"), (_, isolation) => {
  it.each([
    ["a line", "line({ a: 1 }); process.exit();", { value: { a: 1 } }],
    ["null for a line that is not JSON", `writeSync(1, "garbage\\n"); process.exit();`, { value: null }],
    ["an end for two lines at once", `writeSync(1, "1\\n2\\n");`, { ended: "it sent a message that nobody asked for" }],
    ["an end for an endless line", `for (;;) writeSync(1, "x".repeat(10_000));`, { ended: "its message is too long" }],
    ["the exit code", "process.exit(7);", { ended: "its process exited with code 7" }],
  ])("returns %s", async (_what, script, line) => {
    expect(await firstLineOf(isolation, script)).toEqual(line);
  });

  // The kernel reports ended processes together, so that one can be reported before its last output is read.
  it("returns the last line of a process that ended together with another one", async () => {
    const child = await NodeProcess.start(isolation, program("line(1); process.exit();"), never);
    try {
      const other = spawn("echo", ["1"]);
      other.stdout.once("data", () => {
        child.send({});
        waitForEnded(2);
      });
      waitForEnded(1);
      expect(await child.receive(20_000, never)).toEqual({ value: 1 });
    } finally {
      await child.kill();
    }
  });

  it("limits array buffers, which V8's heap does not include", async () => {
    const script = `const all = [];
      try { for (let i = 0; i < 40; i++) all.push(new Uint8Array(100 * 2 ** 20).fill(1)); } catch {}
      line(all.length);`;
    const line = await firstLineOf(isolation, script);
    if ("ended" in line) expect(line.ended).toBe("it ran out of memory");
    else expect(line.value).toBeLessThan(8);
  });

  it("does not compile code from strings", async () => {
    const script = `try { line(new Function("return 1")()); } catch (error) { line(error.name); }`;
    expect(await firstLineOf(isolation, script)).toEqual({ value: "EvalError" });
  });
});

it(
  "hides the machine's files, processes and sockets in bubblewrap, even with all of Node's modules",
  needs("linux"),
  async () => {
    expect(boxed.kind).toBe("bubblewrap");
    const script = `const { readdirSync } = await import("node:fs");
    const listed = (path) => { try { return readdirSync(path).length; } catch (error) { return error.code; } };
    line([listed("/proc"), listed("/home"), listed("/etc"), listed("/root"), listed("/var/run")].every((one) => typeof one === "string"));`;
    expect(await firstLineOf(boxed, script)).toEqual({ value: true });
  },
);
