import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runProcess } from "../../src/platform/processes.js";
import { MAIL, workFolder } from "../cli/art-e.js";
import { importSource } from "../import-source.js";
import { needs } from "../machine-requirements.js";
import { never } from "../runs/demo-setup.js";
import { gone, isThere } from "./processes.js";

const env = { PATH: process.env.PATH ?? "" };

const node = (source: string, input = "", maxBytes = 10_000, signal = never) =>
  runProcess({ argv: [process.execPath, "--input-type=module", "-e", source], env }, input, maxBytes, signal);

it("runProcess sends a program its stdin and returns its output", async () => {
  const echo = await node("process.stdin.pipe(process.stdout); console.error('words')", "in and out");
  expect(echo).toEqual({ end: { code: 0, signal: null }, stdout: "in and out", stderr: "words", tooLong: false });
});

it("runProcess separates an exit code, a signal and a missing program", async () => {
  expect((await node("process.exit(3)")).end).toEqual({ code: 3, signal: null });
  expect((await node("process.kill(process.pid, 'SIGTERM')")).end).toEqual({ code: null, signal: "SIGTERM" });
  const none = await runProcess({ argv: ["no-such-program"], env }, "", 100, never);
  expect(none.end).toEqual({ error: "no such file or directory" });
  const folder = await runProcess({ argv: ["true"], env, cwd: "/no/such/folder" }, "", 100, never);
  expect(folder.end).toEqual({ error: "the folder /no/such/folder does not exist" });
});

it("runProcess uses no shell", async () => {
  const { stdout } = await runProcess({ argv: ["echo", "$HOME; id `id` *"], env }, "", 1_000, never);
  expect(stdout).toBe("$HOME; id `id` *\n");
});

it("runProcess passes a clean environment", async () => {
  process.env.OPENAI_API_KEY_OF_TEST = "x";
  const { stdout } = await node("console.log(JSON.stringify(Object.keys(process.env)))");
  expect(JSON.parse(stdout)).toEqual(["PATH"]);
});

it("runProcess accepts a program that does not read its large input", async () => {
  expect((await node("process.exit(0)", "x".repeat(5_000_000))).end).toEqual({ code: 0, signal: null });
});

it("runProcess kills a program that writes too much", async () => {
  const talk = await node("for (;;) process.stdout.write('x'.repeat(10000))");
  expect(talk).toMatchObject({ tooLong: true });
});

const WITH_CHILD = `
import { spawn } from "node:child_process";

const child = spawn("sleep", ["1000"], { stdio: "ignore" });
child.unref();
console.log(child.pid);
`;

/** A daemon in its own session, whose parent has ended, and without output. */
const WITH_DAEMON = `
import { execFileSync } from "node:child_process";

const pid = execFileSync("/bin/sh", ["-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"], { encoding: "utf8" });
console.log(pid.trim());
`;

it.each([
  ["its children", WITH_CHILD],
  ["a daemon in another session", WITH_DAEMON],
])("runProcess kills %s of a program that has ended", async (_, source) => {
  const { stdout, end } = await node(source);
  expect(end).toEqual({ code: 0, signal: null });
  expect(isThere(Number(stdout))).toBe(false);
});

it.each([
  ["its children", WITH_CHILD],
  ["a daemon in another session", WITH_DAEMON],
])("runProcess kills a program and %s if aborted", async (_, source) => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const folder = mkdtempSync(join(tmpdir(), "art-e-program-"));
  const file = join(folder, "pids");
  const call = node(
    `${source.replace("console.log", "const tell = ")}
     process.on("SIGTERM", () => {});
     (await import("node:fs")).writeFileSync(${JSON.stringify(file)}, tell + " " + process.pid + " ");
     setInterval(() => {}, 1000);`,
    "",
    10_000,
    controller.signal,
  );
  call.catch(() => undefined);
  await expect.poll(() => existsSync(file) && readFileSync(file, "utf8").endsWith(" "), { timeout: 20_000 }).toBe(true);
  const pids = readFileSync(file, "utf8").trim().split(" ").map(Number);
  expect(pids.map(isThere)).toEqual([true, true]);
  controller.abort(reason);
  await expect(call).rejects.toBe(reason);
  expect(pids.map(isThere)).toEqual([false, false]);
  rmSync(folder, { recursive: true });
});

it("runProcess does not pass the program's environment to its supervisor", async () => {
  const odd = { ...env, NODE_OPTIONS: "--require=/no/such/file", PERL5OPT: "-Mno_such_module", PYTHONHOME: "/none" };
  const { end, stdout } = await runProcess({ argv: ["env"], env: odd }, "", 10_000, never);
  expect(end).toEqual({ code: 0, signal: null });
  expect(stdout.trim().split("\n").sort()).toEqual(
    Object.entries(odd)
      .map(([name, value]) => `${name}=${value}`)
      .sort(),
  );
});

it.each([
  ["its child", WITH_CHILD],
  ["its daemon", WITH_DAEMON],
])("runProcess kills a program and %s if the calling process is killed", async (_, source) => {
  const caller = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `${importSource("platform/processes", "startSupervised")}
       const source = ${JSON.stringify(`${source} console.log(process.pid); setInterval(() => {}, 1000);`)};
       startSupervised({ argv: [process.execPath, "--input-type=module", "-e", source], env: process.env }).stdout.pipe(process.stdout);`,
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

describe("art-e serve --open", needs("linux"), () => {
  const { start, write, path } = workFolder({ mail: MAIL });

  /** Starts `serve --open` with only the programs of the work folder, and stops it once it has written `said`. */
  async function serveAndOpen(said: RegExp) {
    const { child, ended } = start("serve --port 0 --open", { PATH: path(".") });
    let text = "";
    await new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on("data", (chunk: string) => {
          text += chunk;
          if (said.test(text)) resolve();
        });
      }
    });
    child.kill("SIGTERM");
    return { ...(await ended), url: /http:\S+/.exec(text)?.[0] };
  }

  it("prints the URL if there is no browser, or if the opener fails", async () => {
    const { stderr, url, code } = await serveAndOpen(/no browser/);
    expect(stderr).toContain(`no browser could be opened here; the page is at ${url}`);
    expect(code).toBe(0);
    chmodSync(write("xdg-open", "#!/bin/sh\nexit 3\n"), 0o755);
    expect((await serveAndOpen(/no browser/)).stderr).toContain("no browser could be opened here");
  });

  it("opens the page with the system's opener", async () => {
    chmodSync(write("xdg-open", `#!/bin/sh\necho "$1" > ${path("opened")}\necho done > ${path("done")}\n`), 0o755);
    const { child, ended } = start("serve --port 0 --open", { PATH: path(".") });
    await expect.poll(() => readFileSync(path("done"), { encoding: "utf8", flag: "a+" })).toBe("done\n");
    child.kill("SIGTERM");
    const { stdout, stderr } = await ended;
    expect(`art-e serves ./art-e.db at ${readFileSync(path("opened"), "utf8")}`).toBe(stdout);
    expect(stderr).not.toContain("no browser");
  });
});
