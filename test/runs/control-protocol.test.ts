import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { controlRequestSchema } from "../../src/runs/control-protocol.js";
import { ControlServer } from "../../src/runs/run-control/control-server.js";
import { socketFolder, socketPath } from "../../src/runs/run-control/socket-folder.js";
import { controlStoredRun } from "../../src/runs/run-control.js";
import { runSchema } from "../../src/runs/run-flags.js";
import { runLimitsSchema } from "../../src/traces/run-settings.js";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

const isAccepted = (changes: object) =>
  controlRequestSchema.safeParse({ command: "set", changes, reason: null }).success;

describe("controlRequestSchema", () => {
  it.each([
    ["concurrency", 9_999, 10_000],
    ["rpm", Number.MAX_SAFE_INTEGER, 1e300],
    ["tpm", Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY],
    ["taskTimeoutMs", LONGEST_TIMER_MS, LONGEST_TIMER_MS + 1],
    ["maxCostUsd", 0.01, 0],
    ["maxTokens", 1, 1.5],
    ["maxTimeMs", LONGEST_TIMER_MS, 1e12],
  ])("bounds %s (accepts %d, rejects %d)", (name, accepted, rejected) => {
    expect([isAccepted({ [name]: accepted }), isAccepted({ [name]: rejected })]).toEqual([true, false]);
  });

  it("rejects a change without a limit", () => expect(isAccepted({})).toBe(false));
});

describe("the bounds of a run's limits", () => {
  it("agree between flags, which have other units, and stored limits", () => {
    const isFlag = (options: object) => runSchema.safeParse({ agent: "baseline", ...options }).success;
    const seconds = Math.floor(LONGEST_TIMER_MS / 1000);
    expect([seconds, seconds + 1].map((taskTimeout) => isFlag({ taskTimeout }))).toEqual([true, false]);
    expect([35_791, 35_792].map((maxTime) => isFlag({ maxTime }))).toEqual([true, false]);
    expect(["9999", "10000"].map((concurrency) => isFlag({ concurrency }))).toEqual([true, false]);
    const isStored = (maxTimeMs: number) =>
      runLimitsSchema.safeParse({ maxCostUsd: null, maxTokens: null, maxTimeMs, maxFailures: null }).success;
    expect([LONGEST_TIMER_MS, LONGEST_TIMER_MS + 1].map(isStored)).toEqual([true, false]);
  });
});

describe("controlStoredRun", () => {
  it.each([
    ["destroys the connection", (socket: Socket) => socket.destroy()],
    ["closes the connection without a reply", (socket: Socket) => socket.end()],
  ])("reports that the run is not running if the run %s because it ends", async (_, close) => {
    const cacheDir = mkdtempSync(join(tmpdir(), "art-e-ctl-"));
    mkdirSync(socketFolder(cacheDir));
    const server = createServer(close).listen(socketPath(socketFolder(cacheDir), "run_1"));
    await once(server, "listening");
    const request = { command: "pause", reason: null } as const;
    await expect(controlStoredRun({ id: "run_1", status: "completed" }, request, cacheDir)).rejects.toMatchObject({
      code: "run_not_running",
      message: "Cannot pause run run_1: it is not running on this machine (completed).",
    });
    server.close();
    rmSync(cacheDir, { recursive: true, force: true });
  });
});

describe("ControlServer", () => {
  it("answers a request although many connections stay silent, and closes the oldest of them", async () => {
    const cacheDir = mkdtempSync(join(tmpdir(), "art-e-ctl-"));
    const answer = async () => ({ ok: false, code: "asked", message: "", hint: "" }) as const;
    const server = await ControlServer.open(cacheDir, "run_1", answer);
    const path = socketPath(socketFolder(cacheDir), "run_1");
    const connect = async () => {
      const socket = createConnection(path);
      await once(socket, "connect");
      return socket;
    };
    const silent: Socket[] = [];
    for (let i = 0; i < 40; i++) silent.push((await connect()).resume());
    const socket = await connect();
    socket.end(`${JSON.stringify({ command: "show", showText: false })}\n`);
    let text = "";
    for await (const part of socket.setEncoding("utf8")) text += part;
    expect(JSON.parse(text)).toMatchObject({ code: "asked" });
    await expect.poll(() => silent.findIndex(({ readableEnded, destroyed }) => !readableEnded && !destroyed)).toBe(25);
    for (const one of silent) one.destroy();
    await server.close();
    rmSync(cacheDir, { recursive: true, force: true });
  });
});
