import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openTarball } from "../../src/mail/readers/tar.js";
import { UserError } from "../../src/platform/errors.js";
import { mailEntries, readAll, type TarEntry, temporaryFolder, writeTar } from "./corpus-fixtures.js";

const folder = await temporaryFolder();
let files = 0;

const mail = (n: number, size = 50) => Buffer.from(`Message-ID: <${n}@example.com>\n\n${"body ".repeat(size)}`);
const manyMails = Array.from({ length: 2000 }, (_, n) => ({ path: `o/inbox/${n}.`, raw: mail(n, 1 + (n % 300)) }));

async function tar(entries: readonly TarEntry[]): Promise<Buffer> {
  const file = join(folder, `${files++}.tar`);
  await writeTar(file, entries, false);
  return readFile(file);
}

async function read(bytes: Buffer) {
  const file = join(folder, `mail-${files++}.tar`);
  await writeFile(file, bytes);
  return readAll(await openTarball(file));
}

describe("a broken archive", () => {
  it.each([0.2, 0.5, 0.999])(
    "gzipped and cut off at %d of its length gives the mails before the cut, then the error",
    async (part) => {
      const whole = gzipSync(await tar(mailEntries(manyMails)));
      const cut = whole.subarray(0, Math.floor(whole.length * part));
      const { emails, error } = await read(cut);
      // What zlib itself can get out of the piece is the measure.
      const bytes = gunzipSync(cut, { finishFlush: 2 }).length;
      let wanted = 0;
      for (let at = 0; wanted < manyMails.length; wanted++) {
        at += 512 + Math.ceil((manyMails[wanted]?.raw.length ?? 0) / 512) * 512;
        if (at > bytes) break;
      }
      expect(wanted).toBeGreaterThan(0);
      // The last mail's padding may lie behind the cut, the mail itself before it.
      expect([wanted, wanted + 1]).toContain(emails.length);
      expect(error).toBeInstanceOf(UserError);
      expect(String(error)).toMatch(
        /^UserError: mail-\d+\.tar is cut off or damaged after \d+ whole entries \(\d+ of \d+ bytes/,
      );
    },
  );

  it("gzipped and damaged in the middle names the file", async () => {
    const whole = gzipSync(await tar(mailEntries(manyMails)));
    const middle = Math.floor(whole.length / 2);
    whole.fill(0xff, middle, middle + 100);
    const { emails, error } = await read(whole);
    expect(emails.length).toBeGreaterThan(100);
    expect(error).toBeInstanceOf(UserError);
  });

  it("cut off within a mail gives the mails before it, then the error", async () => {
    const whole = await tar(mailEntries(manyMails.slice(0, 3)));
    const { emails, error } = await read(whole.subarray(0, 512 + 512 + 512 + 30));
    expect(emails.map(({ messageId }) => messageId)).toEqual(["<0@example.com>"]);
    expect(error).toMatchObject({ message: expect.stringContaining("after 1 whole entries") });
  });

  it("cut off exactly between two mails is known by its missing end mark", async () => {
    const whole = await tar(mailEntries(manyMails.slice(0, 3)));
    const { emails, error } = await read(whole.subarray(0, 1024));
    expect(emails).toHaveLength(1);
    expect(error).toMatchObject({ message: expect.stringContaining("the end mark is missing") });
  });

  it("with a header that is none is an error after the mails before it", async () => {
    const whole = await tar(mailEntries(manyMails.slice(0, 3)));
    whole.fill(0x41, 1024, 1536);
    const { emails, error } = await read(whole);
    expect(emails).toHaveLength(1);
    expect(error).toBeInstanceOf(UserError);
  });
});

describe("an entry that must not be touched is bad, and the mails around it are read", () => {
  it.each([
    ["../../etc/passwd", {}, "its path leads out of the archive"],
    ["maildir/../../x", {}, "its path leads out of the archive"],
    ["maildir\\..\\x", {}, "its path leads out of the archive"],
    ["/etc/passwd", {}, "its path is absolute"],
    ["C:\\mail\\1.", {}, "its path is absolute"],
    ["maildir/o/link", { type: "symlink", linkname: "/etc/passwd" }, "it is a link, which is not followed"],
    ["maildir/o/hard", { type: "link", linkname: "maildir/o/inbox/1." }, "it is a link, which is not followed"],
    ["maildir/o/fifo", { type: "fifo" }, "it is not a plain file"],
  ] as const)("%s", async (name, header, reason) => {
    const content = "type" in header ? {} : { content: mail(7) };
    const around = mailEntries(manyMails.slice(0, 2));
    const { emails, bad, error } = await read(
      await tar([...around.slice(0, 1), { name, ...header, ...content }, ...around.slice(1)]),
    );
    expect(error).toBeNull();
    expect(emails).toHaveLength(2);
    expect(bad).toEqual([{ where: expect.stringMatching(/^mail-\d+\.tar entry /), reason }]);
  });
});

describe("an archive", () => {
  it("keeps its own order, and passes over folders", async () => {
    const names = ["maildir/b/inbox/2.", "maildir/a/inbox/1.", "maildir/b/inbox/1."];
    const entries = names.map((name, n) => ({ name, content: mail(n) }));
    const { emails, bad } = await read(await tar([{ name: "maildir/b/", type: "directory" }, ...entries]));
    expect(emails.map(({ path }) => path)).toEqual(["b/inbox/2.", "a/inbox/1.", "b/inbox/1."]);
    expect(emails.map(({ owner }) => owner)).toEqual(["b", "a", "b"]);
    expect(bad).toEqual([]);
  });

  it("may have a folder above maildir, names over 100 characters and empty files", async () => {
    const long = "sub-folder/".repeat(30);
    const { emails, bad } = await read(
      await tar([{ name: `enron_mail_20110402/maildir/o/${long}1.`, content: mail(1) }, { name: "maildir/o/empty" }]),
    );
    expect(emails.map(({ path, owner }) => [path, owner])).toEqual([[`o/${long}1.`, "o"]]);
    expect(bad).toEqual([{ where: expect.stringContaining("maildir/o/empty"), reason: "it is empty" }]);
  });
});
