import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runProgram } from "../../src/programs/run-program.js";
import { ROOT } from "../commands/art-e.js";
import { never } from "../runner/demo-setup.js";
import { gone, isThere } from "./processes.js";

const env = { PATH: process.env.PATH ?? "" };

const node = (source: string, input = "", maxBytes = 10_000, signal = never) =>
  runProgram({ argv: [process.execPath, "--input-type=module", "-e", source], env }, input, maxBytes, signal);

it("gives a program its stdin and returns what it wrote", async () => {
  const echo = await node("process.stdin.pipe(process.stdout); console.error('words')", "in and out");
  expect(echo).toEqual({ end: { code: 0, signal: null }, stdout: "in and out", stderr: "words", tooLong: false });
});

it("tells a code, a signal and a program that is not there apart", async () => {
  expect((await node("process.exit(3)")).end).toEqual({ code: 3, signal: null });
  expect((await node("process.kill(process.pid, 'SIGTERM')")).end).toEqual({ code: null, signal: "SIGTERM" });
  const none = await runProgram({ argv: ["no-such-program"], env }, "", 100, never);
  expect(none.end).toEqual({ error: "ENOENT" });
  const folder = await runProgram({ argv: ["true"], env, cwd: "/no/such/folder" }, "", 100, never);
  expect(folder.end).toHaveProperty("error");
});

it("asks no shell", async () => {
  const { stdout } = await runProgram({ argv: ["echo", "$HOME; id `id` *"], env }, "", 1_000, never);
  expect(stdout).toBe("$HOME; id `id` *\n");
});

it("gives a clean environment", async () => {
  process.env.OPENAI_API_KEY_OF_TEST = "x";
  const { stdout } = await node("console.log(JSON.stringify(Object.keys(process.env)))");
  expect(JSON.parse(stdout)).toEqual(["PATH"]);
});

it("does not mind a program that reads nothing of much", async () => {
  expect((await node("process.exit(0)", "x".repeat(5_000_000))).end).toEqual({ code: 0, signal: null });
});

it("ends one that writes too much", async () => {
  const talk = await node("for (;;) process.stdout.write('x'.repeat(10000))");
  expect(talk).toMatchObject({ tooLong: true });
});

const WITH_CHILD = `
import { spawn } from "node:child_process";
const child = spawn("sleep", ["1000"], { stdio: "ignore" });
child.unref();
console.log(child.pid);
`;

it("ends what a program has left running", async () => {
  const { stdout, end } = await node(WITH_CHILD);
  expect(end).toEqual({ code: 0, signal: null });
  await gone(Number(stdout));
});

it("ends a program and all that it started when it is aborted", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const call = node(
    `${WITH_CHILD} process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`,
    "",
    10_000,
    controller.signal,
  );
  call.catch(() => undefined);
  setTimeout(() => controller.abort(reason), 500);
  await expect(call).rejects.toBe(reason);
});

it("ends both when the process that called it is killed", async () => {
  const caller = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { startKept } from ${JSON.stringify(join(ROOT, "dist/programs/keep.js"))};
       const source = ${JSON.stringify(`${WITH_CHILD} console.log(process.pid); setInterval(() => {}, 1000);`)};
       startKept({ argv: [process.execPath, "--input-type=module", "-e", source], env: process.env }).stdout.pipe(process.stdout);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let told = "";
  while (told.trim().split("\n").length < 2 || !told.endsWith("\n")) {
    const [chunk] = (await once(caller.stdout, "data")) as [Buffer];
    told += chunk.toString();
  }
  const pids = told.trim().split("\n").map(Number);
  expect(pids.map(isThere)).toEqual([true, true]);
  caller.kill("SIGKILL");
  for (const pid of pids) await gone(pid);
});
