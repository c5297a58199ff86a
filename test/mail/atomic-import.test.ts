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

describe("an import into a file", () => {
  it("fails while another import creates the file, and does not disturb that import", async () => {
    const living = await importOne();
    expect(refusal()).toMatchObject({ code: "db_busy", message: expect.stringContaining(`${path}.partial`) });
    living.finish();
    expect(mailsAt()).toBe(1);
  });

  it("fails if the file belongs to another program, and leaves the file unchanged", () => {
    writeFileSync(path, "A letter.");
    expect(refusal().code).toBe("db_not_ours");
    expect(readFileSync(path, "utf8")).toBe("A letter.");
  });

  it("fails if the file's folder does not exist", () => {
    path = join(folder, "no", "mail.db");
    expect(refusal().code).toBe("db_folder_missing");
  });
});

describe("an import into a new file", () => {
  it("shows the file only when complete, and leaves no other file next to it", async () => {
    const file = await importOne();
    expect(existsSync(path)).toBe(false);
    file.finish();
    expect(readdirSync(folder)).toEqual([basename(path)]);
    expect(mailsAt()).toBe(1);
  });

  it("leaves nothing if the import stops", async () => {
    (await importOne()).abandon();
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each(["", "SQLite format 3\0", "SQLite format 3\0and half of the rest"])(
    "replaces the remains of a killed import (%j)",
    async (left) => {
      writeFileSync(`${path}.partial`, left);
      (await importOne()).finish();
      expect(readdirSync(folder)).toEqual([basename(path)]);
      expect(mailsAt()).toBe(1);
    },
  );

  it.each([false, true])("replaces a complete file whose import was killed (log still present %s)", async (log) => {
    (await importOne()).finish();
    const left = new Database(path);
    if (log) left.exec("CREATE TABLE more (x)");
    for (const end of log ? ["", "-wal"] : [""]) copyFileSync(`${path}${end}`, `${path}.partial${end}`);
    left.close();
    rmSync(path);
    (await importOne()).finish();
    expect(readdirSync(folder)).toEqual([basename(path)]);
    expect(mailsAt()).toBe(1);
  });

  it("never replaces a file that was created meanwhile, and leaves nothing next to it", async () => {
    const file = await importOne();
    writeFileSync(path, "Made meanwhile.");
    expect(() => file.finish()).toThrow(expect.objectContaining({ code: "db_appeared" }));
    expect(readFileSync(path, "utf8")).toBe("Made meanwhile.");
    expect(readdirSync(folder)).toEqual([basename(path)]);
  });
});

describe("an import into an existing file", () => {
  it("extends the file in place, and leaves it unchanged if the import stops", async () => {
    (await importOne()).finish();
    (await importOne()).finish();
    expect(mailsAt()).toBe(2);
    openForImport(path).abandon();
    expect(mailsAt()).toBe(2);
  });

  it("lets others read the old mail during the import", async () => {
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
