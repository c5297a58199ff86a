import { once } from "node:events";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Db, openStore } from "../../src/store/open-store.js";
import {
  type LockWait,
  WAIT_INDEFINITELY,
  withImportTransaction,
  withWriteTransaction,
} from "../../src/store/write-transaction.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";

let test: TestDb;
let others: Db[];

beforeEach(() => {
  test = openEmpty();
  test.db.exec("CREATE TABLE written (writer TEXT)");
  others = [];
});

afterEach(() => {
  for (const db of others) db.close();
  test.close();
});

/** Another connection of this process to the same file. */
function connection(): Db {
  const db = openStore(test.db.name, { mustExist: true });
  others.push(db);
  return db;
}

const add = (db: Db, writer: string) => void db.prepare("INSERT INTO written VALUES (?)").run(writer);
const written = () => test.db.prepare("SELECT writer FROM written ORDER BY rowid").pluck().all();
const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i + 1));

/** Starts an import that holds the lock until `end` is called. */
async function startImport() {
  const db = connection();
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const finished = withImportTransaction(db, WAIT_INDEFINITELY, async () => {
    add(db, "import");
    await ended;
  });
  while (!db.inTransaction) await setImmediate();
  return { end, finished };
}

describe("withWriteTransaction", () => {
  it("lets many writers of one process wait for an import that needs the event loop, and serves them in order", async () => {
    const db = connection();
    const importing = withImportTransaction(db, WAIT_INDEFINITELY, async () => {
      for (let turn = 0; turn < 50; turn++) await setImmediate();
      add(db, "import");
    });
    const writing = numbers(50).map((writer) => {
      const own = connection();
      return withWriteTransaction(own, WAIT_INDEFINITELY, () => add(own, writer));
    });
    await Promise.all([importing, ...writing]);
    expect(written()).toEqual(["import", ...numbers(50)]);
  });

  it("leaves the queue when its signal aborts, and writes nothing", async () => {
    const { end, finished } = await startImport();
    const stop = new AbortController();
    const impatient = connection();
    const waiting: LockWait = { signal: stop.signal, onWait() {} };
    const stopped = withWriteTransaction(impatient, waiting, () => add(impatient, "impatient"));
    const next = connection();
    const writing = withWriteTransaction(next, WAIT_INDEFINITELY, () => add(next, "next"));
    stop.abort(new Error("Ctrl-C"));
    await expect(stopped).rejects.toThrow("Ctrl-C");
    expect(written()).toEqual([]);
    end();
    await Promise.all([finished, writing]);
    expect(written()).toEqual(["import", "next"]);
  });

  it("keeps the event loop running while another program holds the lock, and reports the wait", async () => {
    const holder = new Worker(
      `const { parentPort, workerData } = require("node:worker_threads");
      const db = new (require("better-sqlite3"))(workerData);
      db.exec("BEGIN IMMEDIATE");
      parentPort.postMessage("held");
      parentPort.once("message", () => db.exec("ROLLBACK"));`,
      { eval: true, workerData: test.db.name },
    );
    await once(holder, "message");
    const { promise: waits, onWait } = waitReport();
    const writing = withWriteTransaction(test.db, { ...WAIT_INDEFINITELY, onWait }, () => add(test.db, "late"));
    await waits;
    expect(written()).toEqual([]);
    let turns = 0;
    for (const until = performance.now() + 1000; performance.now() < until; turns++) await delay(1);
    expect(turns).toBeGreaterThan(100);
    holder.postMessage("release");
    await Promise.all([writing, once(holder, "exit")]);
    expect(written()).toEqual(["late"]);
  });

  it("rejects work that returns a promise, at compile time and at run time, and writes nothing", async () => {
    // @ts-expect-error Work must be synchronous.
    const writing = withWriteTransaction(test.db, WAIT_INDEFINITELY, async () => add(test.db, "later"));
    await expect(writing).rejects.toThrow("cannot return a promise");
    expect(written()).toEqual([]);
  });

  it("rolls back work that throws, and lets the next writer write", async () => {
    const failing = withWriteTransaction(test.db, WAIT_INDEFINITELY, () => {
      add(test.db, "failed");
      throw new Error("no");
    });
    const next = withWriteTransaction(test.db, WAIT_INDEFINITELY, () => add(test.db, "next"));
    await expect(failing).rejects.toThrow("no");
    await next;
    expect(written()).toEqual(["next"]);
  });
});

describe("withImportTransaction", () => {
  it("writes nothing if the import fails, and lets the next writer write", async () => {
    const db = connection();
    const importing = withImportTransaction(db, WAIT_INDEFINITELY, async () => {
      add(db, "half");
      await setImmediate();
      throw new Error("damaged");
    });
    const next = withWriteTransaction(test.db, WAIT_INDEFINITELY, () => add(test.db, "next"));
    await expect(importing).rejects.toThrow("damaged");
    await next;
    expect(written()).toEqual(["next"]);
  });
});

function waitReport(): { readonly promise: Promise<void>; onWait(): void } {
  let onWait = () => {};
  const promise = new Promise<void>((resolve) => {
    onWait = resolve;
  });
  return { promise, onWait };
}
