import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AtomicImport, openForImport } from "../../src/mail/import/atomic-import.js";
import { UserError } from "../../src/platform/errors.js";
import { openStore } from "../../src/store/open-store.js";
import { Database } from "../../src/store/sqlite.js";
import { checkIndex, importMails, mail } from "./corpus-setup.js";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "art-e-import-file-"));
  path = join(folder, "mail.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function importOne(): Promise<AtomicImport> {
  const file = openForImport(path);
  await importMails(file.db, [mail()]);
  return file;
}

function mailsAt(): number {
  const db = openStore(path, { mustExist: true });
  checkIndex(db);
  const mails = db.prepare("SELECT count(*) FROM emails").pluck().get() as number;
  db.close();
  return mails;
}

function refusal(): UserError {
  try {
    openForImport(path).abandon();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error("it was opened");
}

describe("an import into a file is refused", () => {
  it("while another import makes that file, and does not disturb it", async () => {
    const living = await importOne();
    expect(refusal()).toMatchObject({ code: "db_busy", message: expect.stringContaining(`${path}.partial`) });
    living.finish();
    expect(mailsAt()).toBe(1);
  });

  it("where the file is of another program, which is left as it was", () => {
    writeFileSync(path, "A letter.");
    expect(refusal().code).toBe("db_not_ours");
    expect(readFileSync(path, "utf8")).toBe("A letter.");
  });

  it("where its folder is not there", () => {
    path = join(folder, "no", "mail.db");
    expect(refusal().code).toBe("db_folder_missing");
  });
});

describe("a new file", () => {
  it("is not there before it is whole, and nothing else stays beside it", async () => {
    const file = await importOne();
    expect(existsSync(path)).toBe(false);
    file.finish();
    expect(readdirSync(folder)).toEqual([basename(path)]);
    expect(mailsAt()).toBe(1);
  });

  it("that is abandoned leaves nothing", async () => {
    (await importOne()).abandon();
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each(["", "SQLite format 3\0", "SQLite format 3\0and half of the rest"])(
    "takes the place of what a killed import left (%j)",
    async (left) => {
      writeFileSync(`${path}.partial`, left);
      (await importOne()).finish();
      expect(readdirSync(folder)).toEqual([basename(path)]);
      expect(mailsAt()).toBe(1);
    },
  );

  it.each([false, true])(
    "takes the place of one that was killed when it was whole (its log still there: %s)",
    async (log) => {
      (await importOne()).finish();
      const left = new Database(path);
      if (log) left.exec("CREATE TABLE more (x)");
      for (const end of log ? ["", "-wal"] : [""]) copyFileSync(`${path}${end}`, `${path}.partial${end}`);
      left.close();
      rmSync(path);
      (await importOne()).finish();
      expect(readdirSync(folder)).toEqual([basename(path)]);
      expect(mailsAt()).toBe(1);
    },
  );

  it("never takes the place of one that was made meanwhile, and leaves nothing beside it", async () => {
    const file = await importOne();
    writeFileSync(path, "Made meanwhile.");
    expect(() => file.finish()).toThrow(expect.objectContaining({ code: "db_appeared" }));
    expect(readFileSync(path, "utf8")).toBe("Made meanwhile.");
    expect(readdirSync(folder)).toEqual([basename(path)]);
  });
});

describe("a file that is there", () => {
  it("is added to in its place, and keeps what it held when the import is abandoned", async () => {
    (await importOne()).finish();
    (await importOne()).finish();
    expect(mailsAt()).toBe(2);
    openForImport(path).abandon();
    expect(mailsAt()).toBe(2);
  });

  it("can be read while it is written to, as it was before", async () => {
    (await importOne()).finish();
    const writing = openForImport(path);
    writing.db.exec("BEGIN IMMEDIATE; DELETE FROM corpus_state");
    const reading = openStore(path, { mustExist: true });
    expect(reading.prepare("SELECT count(*) FROM corpus_state").pluck().get()).toBe(1);
    reading.close();
    writing.abandon();
    expect(mailsAt()).toBe(1);
  });
});
