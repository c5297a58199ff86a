import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { OUT_OF_BOUNDS } from "../../runs/out-of-bounds.js";
import { demoQuestions, type Ended, MAIL, QUESTIONS, type Started, workFolder } from "../art-e.js";

/** Long enough for a run that ignores a change to start another task. */
const WAIT_MS = 300;

const { artE, path, start } = workFolder({ mail: MAIL });
// Short enough for a socket path.
const CACHE = "cache";
const SOCKETS = () => path(join(CACHE, "ctl"));

interface Held {
  readonly provider: FakeProvider;
  /** Answers the oldest waiting request. */
  release(): void;
  releaseAll(): void;
}

/** A provider that answers each request when the test says so. */
async function holdingProvider(fails: () => boolean = () => false): Promise<Held> {
  const waiting: (() => void)[] = [];
  let isOpen = false;
  const provider = await startFakeProvider(async () => {
    if (!isOpen) await new Promise<void>((resolve) => waiting.push(resolve));
    return fails() ? { fail: "status", status: 400 } : { content: "an answer" };
  });
  return {
    provider,
    release: () => waiting.shift()?.(),
    releaseAll() {
      isOpen = true;
      for (const answer of waiting.splice(0)) answer();
    },
  };
}

let held: Held;
let started: Started | null = null;
let running: Promise<Ended> | null = null;
const variables = () => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: held.provider.url });

const lineOf = (flags: string, cache = CACHE) =>
  `run -a email-search --dataset ${QUESTIONS} --cache-dir ${cache} --json ${flags}`;

/** Starts a run that ends by itself when the provider answers. */
function startRun(flags: string, cache?: string): Promise<Ended> {
  running = artE(lineOf(flags, cache), variables());
  return running;
}

/** Starts a run in its own process, to be killed. */
function startProcess(flags: string): Started {
  started = start(lineOf(flags), variables());
  return started;
}

const ctl = (line: string) => artE(`ctl ${line} --cache-dir ${CACHE}`);

async function ctlJson(line: string) {
  const { code, stdout, stderr } = await ctl(`${line} --json`);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Sends a line to a run's socket, and returns the parsed reply. */
async function sendLine(socket: string, line: string): Promise<unknown> {
  const reply = await new Promise<string>((resolve, reject) => {
    const connection = createConnection(socket, () => connection.write(`${line}\n`));
    connection.setEncoding("utf8").on("data", resolve).on("error", reject);
  });
  return JSON.parse(reply);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

afterEach(async () => {
  held.releaseAll();
  started?.child.kill("SIGKILL");
  await Promise.all([started?.ended, running]);
  await held.provider.close();
  rmSync(SOCKETS(), { recursive: true, force: true });
});

describe("art-e ctl", () => {
  it("pauses, resumes and records each change with its reason", async () => {
    held = await holdingProvider();
    const ended = startRun("--concurrency 1 -l 4");
    await held.provider.received(1);
    expect(await ctlJson("pause latest --reason lunch")).toMatchObject({ state: "paused" });
    held.release();
    await expect.poll(async () => (await ctlJson("show latest")).savedTasks, { timeout: 5_000 }).toBe(1);
    await pause(WAIT_MS);
    expect(held.provider.requests).toHaveLength(1);
    expect(await ctlJson("show latest")).toMatchObject({ state: "paused", savedTasks: 1, totalTasks: 4, running: [] });

    await ctlJson("resume latest");
    await held.provider.received(2);
    held.releaseAll();
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect((await artE("report latest -o report.html --overwrite")).code).toBe(0);
    expect(readFileSync(path("report.html"), "utf8")).toContain("paused: lunch");
    const { changes } = JSON.parse((await artE("runs show latest --json")).stdout);
    expect(changes).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\dT\S+Z paused: lunch$/),
      expect.stringMatching(/^\S+Z resumed$/),
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ completedTasks: 4 });
  });

  it("changes the concurrency of a run that is running", async () => {
    held = await holdingProvider();
    startRun("--concurrency 1 -l 6");
    await held.provider.received(1);
    await ctlJson("set latest --concurrency 4");
    await held.provider.received(4);
  });

  it("admits a call that waits for the rate limit when the limit is raised", async () => {
    held = await holdingProvider();
    startRun("--concurrency 2 --rpm 1 -l 2");
    await held.provider.received(1);
    await pause(WAIT_MS);
    expect(held.provider.requests).toHaveLength(1);
    await ctlJson("set latest --rpm 6000");
    await held.provider.received(2);
  });

  it("stops a run at a lower token budget, which a resume keeps", async () => {
    held = await holdingProvider();
    const ended = startRun("--concurrency 1 -l 6");
    await held.provider.received(1);
    const { limits } = await ctlJson("set latest --max-run-tokens 1");
    expect(limits).toMatchObject({ maxTokens: 1 });
    held.releaseAll();
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(stderr).toContain("--max-run-tokens 1 is reached");
    expect(JSON.parse((await artE("runs show latest --json")).stdout).limits).toMatchObject({ maxTokens: 1 });
  });

  it.each([
    ["after its running tasks", "", 1],
    ["immediately with --now", "--now", 0],
  ])("cancels a run %s", async (_, flag, saved) => {
    held = await holdingProvider();
    const ended = startRun("--concurrency 1 -l 4");
    await held.provider.received(1);
    expect(await ctlJson(`cancel latest ${flag}`)).toMatchObject({ state: "canceled" });
    if (saved > 0) held.releaseAll();
    const { code, stderr } = await ended;
    expect(code).toBe(130);
    expect(stderr).toContain(`${saved} of 4 tasks are saved`);
    expect(held.provider.requests).toHaveLength(1);
    expect(existsSync(SOCKETS()), "the empty folder is left").toBe(false);
  });

  it("cancels a paused run without running tasks", async () => {
    held = await holdingProvider();
    const ended = startRun("--concurrency 1 -l 4");
    await held.provider.received(1);
    await ctlJson("pause latest");
    held.release();
    await expect.poll(async () => (await ctlJson("show latest")).savedTasks, { timeout: 5_000 }).toBe(1);
    await ctlJson("cancel latest");
    expect((await ended).code).toBe(130);
  });

  it("runs failed tasks again", async () => {
    let fails = true;
    held = await holdingProvider(() => fails);
    const ended = startRun("--concurrency 1 -l 2");
    await held.provider.received(1);
    held.release();
    await held.provider.received(2);
    await expect.poll(async () => (await ctlJson("show latest")).failedTasks, { timeout: 5_000 }).toBe(1);
    fails = false;
    const requeued = await artE(`ctl requeue latest --cache-dir ${CACHE}`);
    expect(requeued.stdout).toContain("requeued 1 failed task.");
    // The task is already on its way.
    expect((await artE(`ctl requeue latest --cache-dir ${CACHE}`)).stdout).toContain("requeued 0 failed tasks.");
    held.releaseAll();
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ totalTasks: 2, completedTasks: 2, failedTasks: 0 });
  });

  it("runs tasks again whose failures wait for the server's next answer", async () => {
    held = await holdingProvider();
    const ended = startRun("--concurrency 1 -l 2 --task-timeout 2");
    await held.provider.received(1);
    await ctlJson("pause latest");
    // The server has not answered yet, so the failure is not saved.
    await expect.poll(async () => (await ctlJson("show latest")).running, { timeout: 20_000 }).toEqual([]);
    expect(await ctlJson("show latest")).toMatchObject({ savedTasks: 0, failedTasks: 0 });
    expect((await ctl("requeue latest")).stdout).toMatch(/requeued (1 failed task|2 failed tasks)\./);
    held.releaseAll();
    await ctlJson("set latest --task-timeout 60");
    await ctlJson("resume latest");
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ totalTasks: 2, completedTasks: 2, failedTasks: 0 });
  });

  it("shows questions only with --show-text", async () => {
    held = await holdingProvider();
    startRun("--concurrency 1 -l 2");
    await held.provider.received(1);
    const question = demoQuestions[0]?.question ?? "";
    expect(question).not.toBe("");
    expect((await ctl("show latest --json")).stdout).not.toContain(question);
    expect((await ctl("list --json")).stdout).not.toContain(question);
    expect((await ctl("show latest --show-text --json")).stdout).toContain(question);
  });

  it("gives only the user access to the socket, rejects a strange request, and removes the socket of a killed run", async () => {
    held = await holdingProvider();
    const { child, ended } = startProcess("--concurrency 1 -l 2");
    await held.provider.received(1);
    const [name = ""] = readdirSync(SOCKETS());
    const socket = join(SOCKETS(), name);
    expect(statSync(SOCKETS()).mode & 0o777).toBe(0o700);
    expect(statSync(socket).mode & 0o777).toBe(0o600);

    expect(await sendLine(socket, '{"command":"set","changes":{"db":"/"}}')).toMatchObject({
      ok: false,
      code: "control_request_invalid",
    });
    expect(await ctlJson("list")).toMatchObject([{ state: "running", pid: child.pid, db: path("art-e.db") }]);

    child.kill("SIGKILL");
    await ended;
    expect(existsSync(socket)).toBe(true);
    expect((await ctl("list")).stdout).toMatch(/^No run with the cache folder \S+ is running\.\n$/);
    expect(existsSync(socket)).toBe(false);
    expect((await ctl("show latest --db none.db")).stderr).toMatch(
      /^art-e: Cannot open the database none\.db: the file does not exist\./,
    );
    const { code, stderr } = await ctl("pause latest");
    expect(code).toBe(1);
    expect(stderr).toMatch(/Cannot pause run run_\S+: it is not running on this machine \(interrupted\)\./);
  });

  it("keeps the limits and the tasks of a run if its socket receives values out of bounds", async () => {
    held = await holdingProvider();
    const ended = startRun("--concurrency 1 -l 2");
    await held.provider.received(1);
    const [name = ""] = readdirSync(SOCKETS());
    const before = await ctlJson("show latest");
    for (const changes of OUT_OF_BOUNDS) {
      const reply = await sendLine(join(SOCKETS(), name), `{"command":"set","changes":${changes}}`);
      expect([changes, reply]).toMatchObject([changes, { ok: false, code: "control_request_invalid" }]);
    }
    expect(await ctlJson("show latest")).toMatchObject({ limits: before.limits, changes: [] });
    held.releaseAll();
    const { code, stdout } = await ended;
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { completedTasks: 2, failedTasks: 0 }]);
  });

  it("lists several runs, each with its own socket", async () => {
    held = await holdingProvider();
    const first = startProcess("--concurrency 1 -l 2 --name first");
    await held.provider.received(1);
    startRun("--concurrency 1 -l 2 --name second");
    await held.provider.received(2);
    expect(await ctlJson("list")).toHaveLength(2);
    await ctlJson("pause first");
    expect(await ctlJson("show first")).toMatchObject({ state: "paused" });
    expect(await ctlJson("show second")).toMatchObject({ state: "running" });
    first.child.kill("SIGKILL");
    await first.ended;
  });

  it("reports an unknown run, and limits that the run does not have", async () => {
    held = await holdingProvider();
    expect(await ctl("pause nothing")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Unknown run "nothing"'),
    });
    expect((await ctl("set latest")).stderr).toContain("ctl set: a limit is required.");
  });

  it("steers a run whose cache folder is too deep for a socket path", async () => {
    held = await holdingProvider();
    const deep = join("d".repeat(60), "e".repeat(60));
    mkdirSync(path(deep), { recursive: true });
    const ended = startRun("--concurrency 1 -l 2", deep);
    await held.provider.received(1);
    const { code, stdout } = await artE(`ctl cancel latest --now --cache-dir ${deep} --json`);
    expect({ code, state: JSON.parse(stdout).state }).toEqual({ code: 0, state: "canceled" });
    expect((await ended).code).toBe(130);
  });
});
