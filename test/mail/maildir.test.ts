import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCorpus } from "../../src/mail/import/corpus-formats.js";
import { needs } from "../machine-requirements.js";
import { readAll, temporaryFolder } from "./corpus-fixtures.js";

const base = await temporaryFolder();
let folders = 0;

/** A folder with a small email at each of the paths. */
async function folderWith(...paths: string[]): Promise<string> {
  const root = join(base, String(folders++));
  await mkdir(root);
  for (const path of paths) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), `Message-ID: <${path}>\nSubject: x\n\nBody\n`);
  }
  return root;
}

/** Root can read everything, so these tests need another user. */
async function withoutRights<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  await chmod(base, 0o755);
  process.seteuid?.(65_534);
  return work().finally(() => process.seteuid?.(0));
}

/** Reads all files, even without any mail. */
const openFolder = (folder: string) => openCorpus(folder, "maildir");

const placesOf = async (folder: string) => {
  const { emails } = await readAll(await openFolder(folder));
  return emails.map(({ path, owner }) => `${owner}: ${path}`);
};

describe("an unreadable email", () => {
  it("counts as bad, and the import reads the others", async () => {
    const root = await folderWith("o/inbox/1.", "o/inbox/3.");
    await writeFile(join(root, "o/inbox/2."), "");
    await writeFile(join(root, "o/inbox/.DS_Store"), Buffer.alloc(100));
    const { emails, bad } = await readAll(await openFolder(root));
    expect(emails.map(({ path }) => path)).toEqual(["o/inbox/1.", "o/inbox/3."]);
    expect(bad).toEqual([
      {
        where: join(root, "o/inbox/.DS_Store"),
        reason: "it is a file that belongs to a mail program or the system, not mail",
        isSideFile: true,
      },
      { where: join(root, "o/inbox/2."), reason: "it is empty" },
    ]);
  });

  it("counts as bad if it is a symbolic link, even a circular one", async () => {
    const root = await folderWith("o/inbox/1.");
    await symlink(join(root, "o/inbox/1."), join(root, "o/inbox/2."));
    await symlink(root, join(root, "o/inbox/circle"));
    const { emails, bad } = await readAll(await openFolder(root));
    expect(emails).toHaveLength(1);
    expect(bad.map(({ reason }) => reason)).toEqual(Array(2).fill("it is a symbolic link, which is not followed"));
  });

  it("counts as bad if the system denies access", async () => {
    const root = await folderWith("o/inbox/1.", "o/inbox/2.");
    await chmod(join(root, "o/inbox/1."), 0);
    const { emails, bad } = await withoutRights(async () => readAll(await openFolder(root)));
    expect(emails).toHaveLength(1);
    expect(bad).toHaveLength(1);
  });
});

describe("an unreadable folder", () => {
  it.each(["o", "o/inbox", "p/tmp"])("counts as bad, and the import reads the others, if it is %s", async (path) => {
    const root = await folderWith("o/inbox/1.", "p/cur/1.", "p/new/2.", "p/tmp/3.");
    await chmod(join(root, path), 0);
    const { emails, bad } = await withoutRights(async () => readAll(await openFolder(root)));
    const isMaildir = path === "p/tmp";
    expect(emails).toHaveLength(isMaildir ? 3 : 2);
    const folder = join(root, path);
    const reason = `${folder} cannot be read: permission denied`;
    expect(bad).toContainEqual({ where: folder, reason, ...(isMaildir && { isSideFile: true }) });
  });

  it("causes an error with the reason if there is nothing else", async () => {
    const root = await folderWith("o/inbox/1.");
    await chmod(join(root, "o"), 0);
    await expect(withoutRights(() => openCorpus(root, null))).rejects.toThrow(
      `none of its 1 files contains mail (1: ${join(root, "o")} cannot be read: permission denied)`,
    );
  });
});

describe("a name that is not UTF-8", needs("linux"), () => {
  /** Creates a file at a path in which `?` stands for a byte of latin1. */
  async function addEmail(root: string, path: string): Promise<void> {
    const bytes = (text: string) => Buffer.from(join(root, text).replace("?", "\xfc"), "latin1");
    await mkdir(bytes(dirname(path)), { recursive: true });
    await writeFile(bytes(path), "Message-ID: <1@x>\nSubject: x\n\nBody\n");
  }

  it.each(["Entw?rfe/1.", "o/gr?n.eml"])("counts as bad, and the import reads the others, for %s", async (path) => {
    const root = await folderWith("o/inbox/1.", "p/inbox/2.");
    await addEmail(root, path);
    const { emails, bad } = await readAll(await openFolder(root));
    expect(emails).toHaveLength(2);
    const where = join(root, path.replace("?", "\ufffd").replace(/\/1\.$/, ""));
    expect(bad).toEqual([{ where, reason: `${where} cannot be read: its name is not UTF-8` }]);
  });
});

describe("an email's path", () => {
  const paths = ["o/inbox/1.", "o/inbox/sub/2.", "p/sent/1."];

  it("does not depend on the starting folder if it is maildir, its parent, or a folder of owners under any other name", async () => {
    const parent = await folderWith(...paths.map((path) => `maildir/${path}`), "other.eml");
    const all = ["o: o/inbox/1.", "o: o/inbox/sub/2.", "p: p/sent/1."];
    // An email next to the folder maildir is read too.
    expect(await placesOf(parent)).toEqual([...all, "null: other.eml"]);
    expect(await placesOf(join(parent, "maildir"))).toEqual(all);
    expect(await placesOf(await folderWith(...paths))).toEqual(all);
  });

  it("does not depend on the starting folder if it is one owner's folder", async () => {
    const parent = await folderWith(...paths.map((path) => `maildir/${path}`));
    expect(await placesOf(join(parent, "maildir/o"))).toEqual(["o: o/inbox/1.", "o: o/inbox/sub/2."]);
    expect(await placesOf(`${join(parent, "maildir/p")}/`)).toEqual(["p: p/sent/1."]);
  });

  it("names no owner if the folder contains only emails", async () => {
    expect(await placesOf(await folderWith("1.eml", "2.eml"))).toEqual(["null: 1.eml", "null: 2.eml"]);
  });

  it("stays the same in a real Maildir, and its undelivered mail and server files are left out", async () => {
    const root = await folderWith(
      "joan/cur/1:2,S",
      "joan/new/2",
      "joan/tmp/3",
      "joan/.Sent/cur/4:2,S",
      "joan/.Sent/new/5",
    );
    await writeFile(join(root, "joan/dovecot-uidlist"), "3 V1");
    const paths = ["joan/.Sent/cur/4:2,S", "joan/.Sent/new/5", "joan/cur/1:2,S", "joan/new/2"];
    const all = paths.map((path) => `${join(root, "joan")}: ${path}`);
    expect(await placesOf(join(root, "joan"))).toEqual(all);
    expect(await placesOf(root)).toEqual(all);
  });
});

describe("many emails", () => {
  it("come in the order of their names, in batches until the signal is aborted", async () => {
    const names = Array.from({ length: 303 }, (_, n) => `o/inbox/${String(n).padStart(4, "0")}.`);
    const source = await openFolder(await folderWith(...names));
    expect((await readAll(source)).emails.map(({ path }) => path)).toEqual(names);
    const stop = new AbortController();
    const sizes: number[] = [];
    const reading = (async () => {
      for await (const { mails } of source.batches(stop.signal)) {
        sizes.push(mails.length);
        if (sizes.length === 2) stop.abort(new Error("enough"));
      }
    })();
    await expect(reading).rejects.toThrow("enough");
    expect(sizes).toEqual([100, 100]);
  });
});
