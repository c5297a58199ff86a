import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";

import { describe, expect, inject, it, onTestFinished } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { needs, slow } from "../../machine-requirements.js";
import { startFakeProvider } from "../../providers/fake-provider.js";
import { connect } from "../../server/training-server.js";
import { addressOf, QUESTIONS, type Started, workFolder } from "../art-e.js";

/**
 * Another program's SQLite reads the database while art-e writes to it. An SQLite before 3.51 that sees no lock on the
 * file takes itself for the last connection: on closing it runs a checkpoint and deletes the `-wal` file that art-e is
 * still writing to.
 * https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 */

const REPEATS = process.env.ART_E_LONG ? 20 : 1;
const CONCURRENCY = 8;

const { artE, path, start } = workFolder();

/** A new copy of the demo's database. */
let copies = 0;
function newDatabase(): string {
  const file = path(`copy-${++copies}.db`);
  copyFileSync(inject("demoDatabase"), file);
  return file;
}

interface LimitedProvider {
  readonly url: string;
  /** Lets the provider reply to `total` requests in all; further ones wait. */
  allow(total: number): void;
}

/**
 * A provider for one test case or repetition: requests that a killed run leaves waiting do not count for another one.
 */
async function startProvider(): Promise<LimitedProvider> {
  let allowed = 0;
  let answered = 0;
  let waiting: (() => void)[] = [];
  const { url, close } = await startFakeProvider(async () => {
    while (answered >= allowed) await new Promise<void>((resolve) => waiting.push(resolve));
    answered++;
    return { toolCalls: [{ name: "return_final_answer", arguments: { answer: "x", sources: [] } }] };
  });
  onTestFinished(close);
  return {
    url,
    allow(total) {
      allowed = total;
      for (const resume of waiting) resume();
      waiting = [];
    },
  };
}

function startRun(file: string, tasks: number, { url }: LimitedProvider): Started {
  return start(
    `run -a email-search --dataset ${QUESTIONS} -l ${tasks} --concurrency ${CONCURRENCY} --no-judge --quiet --db ${file}`,
    { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: url },
  );
}

/** Debian's command-line shell. */
function readWithShell(file: string, sql: string): string {
  const { status, stdout, stderr } = spawnSync("sqlite3", [file, sql], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.trim();
}

function readWithPython(file: string, sql: string): string {
  const program = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])";
  const { status, stdout, stderr } = spawnSync("python3", ["-c", program, file, sql], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.trim();
}

/** After the program has ended. */
function stored(file: string): { results: number; integrity: string } {
  const db = new Database(file);
  try {
    return {
      results: db.prepare("SELECT count(*) FROM results").pluck().get() as number,
      integrity: db.pragma("integrity_check", { simple: true }) as string,
    };
  } finally {
    db.close();
  }
}

/** The kinds of the POSIX locks that a process has on a file, from `/proc/locks` (man 5 proc). */
function locksOf(pid: number | undefined, file: string): string[] {
  const { ino } = statSync(file);
  return readFileSync("/proc/locks", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , , owner, inode]) => owner === String(pid) && inode?.endsWith(`:${ino}`))
    .map(([, , , kind]) => kind ?? "");
}

const COUNT = "SELECT count(*) FROM results";

describe("a run while another program's SQLite opens its database", () => {
  it("holds a lock on the database while tasks are running", slow(needs("linux")), async () => {
    const file = newDatabase();
    const provider = await startProvider();
    provider.allow(20);
    const { child, ended } = startRun(file, 40, provider);
    await expect.poll(() => readCount(file)).toBe(20);
    const locks = locksOf(child.pid, file);
    provider.allow(Number.POSITIVE_INFINITY);
    expect((await ended).code).toBe(0);
    expect(locks).toContain("READ");
  });

  it("keeps every saved result if it is killed after `sqlite3` has read", slow(needs("sqlite3")), async () => {
    for (let i = 0; i < REPEATS; i++) {
      const file = newDatabase();
      const provider = await startProvider();
      provider.allow(20);
      const { child, ended } = startRun(file, 73, provider);
      await expect.poll(() => readCount(file)).toBeGreaterThanOrEqual(10);
      readWithShell(file, COUNT);
      provider.allow(60);
      await expect.poll(() => Number(readWithShell(file, COUNT)), { timeout: 10_000 }).toBe(60);
      child.kill("SIGKILL");
      await ended;
      expect(stored(file)).toEqual({ results: 60, integrity: "ok" });
    }
  });

  it("leaves the file intact if another run starts after Python has read", { tags: ["slow"] }, async () => {
    for (let i = 0; i < REPEATS; i++) {
      const file = newDatabase();
      const provider = await startProvider();
      provider.allow(20);
      const first = startRun(file, 73, provider);
      await expect.poll(() => readCount(file)).toBeGreaterThanOrEqual(10);
      readWithPython(file, COUNT);
      const second = startRun(file, 60, provider);
      provider.allow(Number.POSITIVE_INFINITY);
      const codes = [(await first.ended).code, (await second.ended).code];
      expect({ codes, ...stored(file) }).toEqual({ codes: [0, 0], results: 73 + 60, integrity: "ok" });
      expect((await artE(`runs list --db ${file}`)).stdout.match(/completed/g)).toHaveLength(2);
    }
  });

  it("stops with an error if the -wal file is deleted", { tags: ["slow"] }, async () => {
    const file = newDatabase();
    const provider = await startProvider();
    provider.allow(20);
    const { ended } = startRun(file, 73, provider);
    await expect.poll(() => readCount(file)).toBe(20);
    rmSync(`${file}-wal`);
    provider.allow(Number.POSITIVE_INFINITY);
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("separated from its -wal file") });
    expect(stderr).not.toContain("bug in art-e");
  });

  it("does not import its own database as mail, and names it", async () => {
    const file = path("mail/own-o/inbox/art-e.db");
    mkdirSync(path("mail/own-o/inbox"), { recursive: true });
    writeFileSync(path("mail/own-o/inbox/1."), "Message-ID: <a@x>\nFrom: a@x.example\nTo: b@x.example\n\nText\n");
    copyFileSync(inject("demoDatabase"), file);
    const { code, stdout } = await artE(`import mail --json --db ${file}`);
    const summary = JSON.parse(stdout);
    expect({ code, stored: summary.stored }).toEqual({ code: 0, stored: 1 });
    expect(Object.keys(summary.skipped.reasons)).toEqual(["it is the database of this import"]);
    expect(stored(file)).toMatchObject({ integrity: "ok" });
  });

  it("rejects its own database as a dataset", async () => {
    const file = newDatabase();
    const { code, stderr } = await artE(`run -a baseline --dataset ${file} --db ${file}`);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("it is the database that this command uses"),
    });
  });

  /** By this process, whose locks do not matter to the program. */
  function readCount(file: string): number {
    const db = new Database(file, { readonly: true });
    try {
      return db.prepare(COUNT).pluck().get() as number;
    } finally {
      db.close();
    }
  }
});

describe("art-e env serve while another program's SQLite opens its database", () => {
  async function serve(file: string): Promise<{ url: string; started: Started }> {
    const started = start(`env serve --port 0 --dataset ${QUESTIONS} --name played --db ${file}`);
    return { url: await addressOf(started), started };
  }

  async function play(url: string, episodes: number): Promise<void> {
    const client = await connect(url);
    for (let seed = 0; seed < episodes; seed++) {
      await client.reset({ seed });
      await client.call("return_final_answer", { answer: "x", sources: [] });
    }
    client.close();
  }

  it("holds a lock on the database between episodes", needs("linux"), async () => {
    const file = newDatabase();
    const { url, started } = await serve(file);
    await play(url, 2);
    const locks = locksOf(started.child.pid, file);
    started.child.kill("SIGINT");
    await started.ended;
    expect(locks).toContain("READ");
  });

  it("keeps every acknowledged episode if it is killed after Python has read", { tags: ["slow"] }, async () => {
    for (let i = 0; i < REPEATS; i++) {
      const file = newDatabase();
      const { url, started } = await serve(file);
      await play(url, 3);
      readWithPython(file, COUNT);
      await play(url, 20);
      started.child.kill("SIGKILL");
      await started.ended;
      expect(stored(file)).toEqual({ results: 23, integrity: "ok" });
    }
  });
});
