import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { UserError } from "../../src/platform/errors.js";
import { openReadOnly, openStore, withTickTransaction } from "../../src/store/open-store.js";
import { Database } from "../../src/store/sqlite.js";
import { importSource } from "../import-source.js";
import { checkIndex, mail, openWithMails } from "../mail/corpus-setup.js";
import { fill, mail as smallMail } from "../mail/small-corpus.js";
import { openEmpty } from "../runs/demo-setup.js";
import { createEarlierFile } from "./earlier-database.js";

describe("openStore", () => {
  const folder = mkdtempSync(join(tmpdir(), "art-e-open-"));

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  let files = 0;
  const newPath = () => join(folder, `${++files}.db`);

  function sqliteFile(sql: string): string {
    const path = newPath();
    const db = new Database(path);
    db.exec(sql);
    db.close();
    return path;
  }

  /** Creates one of our files and changes it. */
  function ourFile(sql: string): string {
    const path = newPath();
    const db = openStore(path, { mustExist: false });
    db.exec(sql);
    db.close();
    return path;
  }

  function refusal(path: string, mustExist = false): UserError {
    try {
      openStore(path, { mustExist }).close();
    } catch (error) {
      if (error instanceof UserError) return error;
      throw error;
    }
    throw new Error(`${path} was opened`);
  }

  describe("with an unusable file", () => {
    const REFUSED: [what: string, code: string, path: () => string][] = [
      ["the database of another program", "db_not_ours", () => sqliteFile("CREATE TABLE notes (text)")],
      [
        "a file that another program has marked as its own",
        "db_not_ours",
        () => sqliteFile("PRAGMA application_id = 7"),
      ],
      ["a file that is not SQLite", "db_not_ours", () => write("Message-ID: <1@x>\n\nA mail, not a database.\n")],
      ["a file shorter than SQLite's header string", "db_not_ours", () => write("SQL")],
      [
        "a file with SQLite's header string and nothing valid after it",
        "db_unusable",
        () => write(`SQLite format 3\0${"?".repeat(5000)}`),
      ],
      ["a folder", "db_not_a_file", () => folder],
      ["a file in a folder that does not exist", "db_folder_missing", () => join(folder, "no/such/place.db")],
      ["tables of a newer version", "db_newer", () => ourFile("PRAGMA user_version = 99")],
      ["changed migrations", "db_other_history", () => ourFile("UPDATE migrations SET sha256 = 'x' WHERE number = 2")],
      [
        "a file of an unreleased version with more migrations",
        "db_other_history",
        () => ourFile("UPDATE migrations SET sha256 = 'x'; PRAGMA user_version = 24"),
      ],
      ["a missing migration", "db_other_history", () => ourFile("DELETE FROM migrations WHERE number = 1")],
    ];

    it.each(REFUSED)("names %s (%s)", (_what, code, makePath) => {
      const path = makePath();
      const error = refusal(path);
      expect(error.code).toBe(code);
      expect(error.message).toContain(path);
      expect(error.hint).not.toBe("");
    });

    it("names a changed migration", () => {
      expect(refusal(ourFile("UPDATE migrations SET sha256 = 'x' WHERE number = 2")).message).toContain("sql/002_");
    });

    it("names another program's file, which stays unchanged", () => {
      const path = sqliteFile("CREATE TABLE notes (text)");
      const before = readFileSync(path);
      refusal(path);
      expect(readFileSync(path).equals(before)).toBe(true);
    });

    it("refuses a file that replaced one this process has open, whose connection stays usable", () => {
      const path = ourFile("");
      const other = ourFile("");
      const db = openStore(path, { mustExist: true });
      renameSync(other, path);
      expect(refusal(path).code).toBe("db_replaced");
      expect(() => openReadOnly(path)).toThrow(UserError);
      db.pragma("user_version");
      rmSync(path);
      expect(refusal(path).code).toBe("db_replaced");
      expect(existsSync(path)).toBe(false);
      db.close();
      expect(refusal(path, true).code).toBe("db_missing");
      openStore(path, { mustExist: false }).close();
    });

    it("names a missing file that must exist, and does not create it", () => {
      const path = newPath();
      expect(refusal(path, true).code).toBe("db_missing");
      expect(() => readFileSync(path)).toThrow("ENOENT");
    });
  });

  function write(text: string): string {
    const path = newPath();
    writeFileSync(path, text);
    return path;
  }

  describe("with an art-e database", () => {
    it("creates every table, whether the file is missing or empty", () => {
      for (const path of [newPath(), write("")]) {
        const db = openStore(path, { mustExist: false });
        for (const table of [
          "emails",
          "emails_fts",
          "art_e_tasks",
          "tools",
          "agents",
          "agent_tools",
          "runs",
          "traces",
        ]) {
          expect(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()).toBeTypeOf("number");
        }
        expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
        expect(db.pragma("foreign_keys", { simple: true })).toBe(1);
        db.close();
      }
    });

    it("opens it again, and does not change its tables", () => {
      const path = newPath();
      const schema = () => {
        const db = openStore(path, { mustExist: false });
        const rows = db.prepare("SELECT sql FROM sqlite_master UNION ALL SELECT sha256 FROM migrations").pluck().all();
        db.close();
        return rows;
      };
      expect(schema()).toEqual(schema());
    });

    it("completes it if its creation was interrupted before the first table", () => {
      const db = openStore(sqliteFile("PRAGMA application_id = 0x61727465"), { mustExist: true });
      expect(db.prepare("SELECT count(*) FROM emails").pluck().get()).toBe(0);
      db.close();
    });

    it("applies the migrations that an earlier version did not have, and keeps the rows", () => {
      const path = newPath();
      const earlier = createEarlierFile(path, 1);
      fill(earlier, [smallMail("kept")]);
      earlier.close();
      const db = openStore(path, { mustExist: true });
      expect(db.prepare("SELECT message_id FROM emails").pluck().all()).toEqual(["<kept@plains.example>"]);
      expect(db.prepare("SELECT count(*) FROM tools WHERE id = 'email_search'").pluck().get()).toBe(1);
      expect(db.prepare("SELECT max(number) FROM migrations").pluck().get()).toBe(
        db.pragma("user_version", { simple: true }),
      );
      db.close();
    });

    it("lets the documented queries of the schema work", async () => {
      const meeting = mail({ subject: "Meetings", to: ["bob@x.example", "cy@x.example"] });
      const { db, close } = await openWithMails(meeting, { ...meeting, messageId: "<copy@test>" }, mail());
      expect(db.prepare("SELECT COUNT(*) FROM emails").pluck().get()).toBe(3);
      expect(db.prepare("SELECT * FROM emails_fts WHERE emails_fts MATCH 'meeting' LIMIT 5").all()).toMatchObject([
        { subject: "Meetings", body: meeting.body },
      ]);
      expect(db.prepare("SELECT * FROM emails WHERE message_id = '<copy@test>'").get()).toMatchObject({
        inbox: "ann@x.example",
        recipients: '["bob@x.example","cy@x.example"]',
        date: meeting.date,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      });
      checkIndex(db);
      close();
    });

    it("shows if an index does not match the emails", async () => {
      const { db, close } = await openWithMails(mail({ body: "as it was" }));
      db.exec("UPDATE mails SET body = 'as it is'");
      expect(() => checkIndex(db)).toThrow("checksum mismatch");
      close();
    });
  });

  describe("with a file that another program is switching to WAL", () => {
    it("waits, although SQLite immediately reports it as locked", async () => {
      const path = ourFile("PRAGMA journal_mode = DELETE");
      const holder = new Worker(
        `const { parentPort, workerData } = require("node:worker_threads");
      const db = new (require("better-sqlite3"))(workerData);
      db.exec("BEGIN IMMEDIATE");
      parentPort.postMessage("held");
      setTimeout(() => db.exec("ROLLBACK"), 300);`,
        { eval: true, workerData: path },
      );
      await once(holder, "message");
      const db = openStore(path, { mustExist: true });
      expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
      db.close();
      await once(holder, "exit");
    });
  });

  describe("with a new file that two programs open at the same time", () => {
    it("creates each table once, and both see all of them", async () => {
      const path = newPath();
      const program = `${importSource("store/open-store", "openStore")}
      const db = openStore(${JSON.stringify(path)}, { mustExist: false });
      console.log(db.prepare("SELECT count(*) FROM migrations").pluck().get());`;
      const runs = Array.from({ length: 4 }, async () => {
        const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
          stdio: ["ignore", "pipe", "pipe"],
        });
        let said = "";
        child.stdout.on("data", (text) => (said += text));
        child.stderr.on("data", (text) => (said += text));
        const [code] = await once(child, "close");
        return { code, said: said.trim() };
      });
      const migrations = openCount(path, await Promise.all(runs));
      expect(migrations).toBeGreaterThan(2);
    });

    function openCount(path: string, runs: readonly { code: number; said: string }[]): number {
      const db = openStore(path, { mustExist: true });
      const count = db.prepare("SELECT count(*) FROM migrations").pluck().get() as number;
      db.close();
      expect(runs).toEqual(Array(4).fill({ code: 0, said: String(count) }));
      return count;
    }
  });
});

it("reads one snapshot per tick, and holds no transaction after the last tick", async () => {
  const { db, close } = openEmpty();
  onTestFinished(close);
  db.exec("CREATE TABLE seen (n)");
  const reader = openReadOnly(db.name);
  onTestFinished(() => void reader.close());
  const count = reader.prepare("SELECT count(*) FROM seen").pluck();
  const inTurn = withTickTransaction(reader);
  const read = () => inTurn(() => count.get());
  const add = () => db.exec("INSERT INTO seen VALUES (1)");
  expect(read()).toBe(0);
  add();
  expect(read()).toBe(0);
  await setImmediate();
  await setImmediate();
  expect(read()).toBe(1);
  await setImmediate();
  await setImmediate();
  expect(reader.inTransaction).toBe(false);
});

it("does not affect a writing connection", async () => {
  const { db, close } = openEmpty();
  onTestFinished(close);
  expect(withTickTransaction(db)(() => db.inTransaction)).toBe(false);
});

it("allows closing the connection during a tick", async () => {
  const { db, close } = openEmpty();
  onTestFinished(close);
  const reader = openReadOnly(db.name);
  withTickTransaction(reader)(() => reader.prepare("SELECT 1").get());
  reader.close();
  await setImmediate();
});
