import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { downloadEnronEmails } from "../../src/mail/enron-emails.js";
import { openCorpus } from "../../src/mail/import/corpus-formats.js";
import { type CsvRecord, CsvRecords, MAX_FIELD_BYTES } from "../../src/mail/import/readers/csv.js";
import { UserError } from "../../src/platform/errors.js";
import type { Hub } from "../../src/platform/huggingface.js";
import { hubSetup, never, QUICK, sendFile, sendJson } from "../platform/hub-server.js";
import { parquetOf, questionRows } from "../questions/question-rows.js";
import { mailEntries, readAll, type TarEntry, temporaryFolder, writeParquet, writeTar } from "./corpus-fixtures.js";

/** The records of a text that arrives in pieces of this size, and the final error. */
function split(text: string | Buffer, pieceSize = Number.MAX_SAFE_INTEGER): { records: string[][]; error: unknown } {
  const bytes = Buffer.from(text);
  const splitter = new CsvRecords("emails.csv");
  const records: string[][] = [];
  const keep = (fields: CsvRecord) => records.push(fields.map((field) => field?.toString("utf8") ?? "(too large)"));
  try {
    for (let at = 0; at < bytes.length; at += pieceSize) {
      for (const fields of splitter.push(bytes.subarray(at, at + pieceSize))) keep(fields);
    }
    for (const fields of splitter.end()) keep(fields);
  } catch (error) {
    return { records, error };
  }
  return { records, error: null };
}

const byLibrary = (text: string): string[][] =>
  parse(text, { relax_column_count: true, skip_empty_lines: true, bom: true, record_delimiter: ["\r\n", "\n"] });

describe("CsvRecords on an unclosed quote", () => {
  it("throws an error that names the row, after returning the rows before it", () => {
    const { records, error } = split('file,message\na,"one"\nb,"two\nthree');
    expect(records).toEqual([
      ["file", "message"],
      ["a", "one"],
    ]);
    expect(error).toBeInstanceOf(UserError);
    expect(error).toMatchObject({ message: "emails.csv is truncated in row 3: a quoted field is not closed" });
  });

  it("throws an error after more than 64 MB, and uses little memory", () => {
    const piece = Buffer.from('x""y,\n'.repeat(1_000_000));
    const splitter = new CsvRecords("emails.csv");
    expect([...splitter.push(Buffer.from('a,b\n1,2\n"'))]).toHaveLength(2);
    for (let size = 0; size <= MAX_FIELD_BYTES; size += piece.length) {
      expect([...splitter.push(piece)]).toEqual([]);
    }
    expect(() => [...splitter.end()]).toThrow("emails.csv is truncated in row 3: a quoted field is not closed");
  });
});

describe("a field of more than 64 MB", () => {
  it.each([
    ["quoted", '"', '"'],
    ["plain", "", ""],
  ])("does not affect the fields around it if %s", (_how, open, close) => {
    const splitter = new CsvRecords("emails.csv");
    const piece = Buffer.alloc(8 * 1024 * 1024, "x");
    const records = [...splitter.push(Buffer.from(`a,b\n1,${open}`))];
    for (let size = 0; size <= MAX_FIELD_BYTES; size += piece.length) records.push(...splitter.push(piece));
    records.push(...splitter.push(Buffer.from(`${close}\n3,"4 ""5"""\n6,7`)), ...splitter.end());
    expect(records.map((record) => record.map((field) => field?.toString() ?? null))).toEqual([
      ["a", "b"],
      ["1", null],
      ["3", '4 "5"'],
      ["6", "7"],
    ]);
  });
});

describe("CsvRecords", () => {
  it.each([
    [
      "plain fields",
      "a,b\nc,d\n",
      [
        ["a", "b"],
        ["c", "d"],
      ],
    ],
    [
      "CRLF, and a last line that is not terminated",
      "a,b\r\nc,d",
      [
        ["a", "b"],
        ["c", "d"],
      ],
    ],
    ["line ends, commas and doubled quotes in quotes", '"a\r\n,b","say ""hi"""\n', [["a\r\n,b", 'say "hi"']]],
    [
      "empty fields, quoted and not",
      ',""\n"",\n',
      [
        ["", ""],
        ["", ""],
      ],
    ],
    ["an empty field at the end of the file", "a,", [["a", ""]]],
    ["empty lines, which are skipped", "a\n\n\r\nb\n", [["a"], ["b"]]],
    ["a line with only a quoted empty field", 'a\n""\n', [["a"], [""]]],
    ["a byte order mark", '\ufeff"a",b\n', [["a", "b"]]],
    ["nothing", "", []],
    ["only a byte order mark", "\ufeff", []],
  ])("splits %s", (_what, text, records) => {
    for (const pieceSize of [1, 2, 3, 1000]) expect(split(text, pieceSize)).toEqual({ records, error: null });
  });

  it.each([
    ["a quote within a plain field", 'a"b,c\n', [['a"b', "c"]]],
    ["a quote within a quoted field that does not end it", '"a "b" c",d\n', [['a "b" c', "d"]]],
    ["a lone CR", "a\rb,c\n", [["a\rb", "c"]]],
  ])("keeps as text %s", (_what, text, records) => {
    for (const pieceSize of [1, 2, 1000]) expect(split(text, pieceSize)).toEqual({ records, error: null });
  });
});

describe("CsvRecords next to csv-parse", () => {
  const field = fc.string({ unit: fc.constantFrom("a", "é", ",", '"', "\n", "\r\n", " ", "\ud83d\ude00") });
  const written = fc.tuple(field, fc.boolean()).map(([text, quoted]) => {
    return quoted || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });

  it("returns the same fields of well-formed files, however they are split into pieces", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(written, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
        fc.constantFrom("\n", "\r\n"),
        fc.boolean(),
        fc.integer({ min: 1, max: 40 }),
        (rows, lineEnd, lastEnd, pieceSize) => {
          const text = rows.map((row) => row.join(",")).join(lineEnd) + (lastEnd ? lineEnd : "");
          expect(split(text, pieceSize)).toEqual({ records: byLibrary(text), error: null });
        },
      ),
      { numRuns: 500 },
    );
  });

  it("returns the same fields of any text that csv-parse accepts", () => {
    let accepted = 0;
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", ",", '"', "\n", "\r\n"), maxLength: 12 }),
        fc.integer({ min: 1, max: 13 }),
        (text, pieceSize) => {
          let records: string[][];
          try {
            records = byLibrary(text);
          } catch {
            return;
          }
          accepted++;
          expect(split(text, pieceSize)).toEqual({ records, error: null });
        },
      ),
      { numRuns: 1000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
});

describe("tar archives", async () => {
  const folder = await temporaryFolder();
  let files = 0;
  const mail = (n: number, size = 50) => Buffer.from(`Message-ID: <${n}@example.com>\n\n${"body ".repeat(size)}`);
  const manyMails = Array.from({ length: 600 }, (_, n) => ({ path: `o/inbox/${n}.`, raw: mail(n, 1 + (n % 300)) }));

  async function tar(entries: readonly TarEntry[]): Promise<Buffer> {
    const file = join(folder, `${files++}.tar`);
    await writeTar(file, entries, false);
    return readFile(file);
  }

  async function read(bytes: Buffer) {
    const file = join(folder, `mail-${files++}.tar`);
    await writeFile(file, bytes);
    return readAll(await openCorpus(file, "tar"));
  }

  it("reads the emails after a folder that has a size, which POSIX permits", async () => {
    const [first, second] = mailEntries(manyMails.slice(0, 2));
    if (first === undefined || second === undefined) throw new Error("no entries");
    const bytes = await tar([first, { name: "maildir/o/", type: "directory" }, second]);
    const header = bytes.subarray(1_024, 1_536);
    header.write("00000000620", 124);
    header.fill(" ", 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    const { emails, error } = await read(bytes);
    expect(error).toBeNull();
    expect(emails.map(({ messageId }) => messageId)).toEqual(["<0@example.com>", "<1@example.com>"]);
  });

  describe("a broken archive", () => {
    it.each([0.2, 0.5, 0.999])(
      "returns the emails before the break, then the error, if gzipped and truncated at %d of its length",
      async (part) => {
        const whole = gzipSync(await tar(mailEntries(manyMails)));
        const cut = whole.subarray(0, Math.floor(whole.length * part));
        const { emails, error } = await read(cut);
        // The expected number is what zlib itself can decompress.
        const bytes = gunzipSync(cut, { finishFlush: 2 }).length;
        let wanted = 0;
        for (let at = 0; wanted < manyMails.length; wanted++) {
          at += 512 + Math.ceil((manyMails[wanted]?.raw.length ?? 0) / 512) * 512;
          if (at > bytes) break;
        }
        expect(wanted).toBeGreaterThan(0);
        // The last email's padding may be after the truncation, the email itself before it.
        expect([wanted, wanted + 1]).toContain(emails.length);
        expect(error).toBeInstanceOf(UserError);
        expect(String(error)).toMatch(
          /^UserError: mail-\d+\.tar is truncated or damaged after \d+ complete entries \(\d+ of \d+ bytes/,
        );
      },
    );

    it("appears in the error if gzipped and damaged in the middle", async () => {
      const whole = gzipSync(await tar(mailEntries(manyMails)));
      const middle = Math.floor(whole.length / 2);
      whole.fill(0xff, middle, middle + 100);
      const { emails, error } = await read(whole);
      expect(emails.length).toBeGreaterThan(100);
      expect(error).toBeInstanceOf(UserError);
    });

    it("returns the emails before the break, then the error, if truncated within an email", async () => {
      const whole = await tar(mailEntries(manyMails.slice(0, 3)));
      const { emails, error } = await read(whole.subarray(0, 512 + 512 + 512 + 30));
      expect(emails.map(({ messageId }) => messageId)).toEqual(["<0@example.com>"]);
      expect(error).toMatchObject({ message: expect.stringContaining("after 1 complete entries") });
    });

    it("shows its missing end mark if truncated exactly between two emails", async () => {
      const whole = await tar(mailEntries(manyMails.slice(0, 3)));
      const { emails, error } = await read(whole.subarray(0, 1024));
      expect(emails).toHaveLength(1);
      expect(error).toMatchObject({ message: expect.stringContaining("the end-of-archive marker is missing") });
    });

    it("returns the emails before an invalid header, then throws", async () => {
      const whole = await tar(mailEntries(manyMails.slice(0, 3)));
      whole.fill(0x41, 1024, 1536);
      const { emails, error } = await read(whole);
      expect(emails).toHaveLength(1);
      expect(error).toBeInstanceOf(UserError);
    });
  });

  describe("an unusable archive entry", () => {
    it.each([
      ["../../etc/passwd", {}, "its path leads out of the archive"],
      ["maildir/../../x", {}, "its path leads out of the archive"],
      ["maildir\\..\\x", {}, "its path leads out of the archive"],
      ["/etc/passwd", {}, "its path is absolute"],
      ["C:\\mail\\1.", {}, "its path is absolute"],
      ["maildir/o/link", { type: "symlink", linkname: "/etc/passwd" }, "it is a link, which is not followed"],
      ["maildir/o/hard", { type: "link", linkname: "maildir/o/inbox/1." }, "it is a link, which is not followed"],
      ["maildir/o/fifo", { type: "fifo" }, "it is not a regular file"],
    ] as const)("counts as bad, and the emails around it are read, if its path is %s", async (name, header, reason) => {
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
    it("keeps its own order, and its folders are skipped", async () => {
      const names = ["maildir/b/inbox/2.", "maildir/a/inbox/1.", "maildir/b/inbox/1."];
      const entries = names.map((name, n) => ({ name, content: mail(n) }));
      const { emails, bad } = await read(await tar([{ name: "maildir/b/", type: "directory" }, ...entries]));
      expect(emails.map(({ path }) => path)).toEqual(["b/inbox/2.", "a/inbox/1.", "b/inbox/1."]);
      expect(emails.map(({ owner }) => owner)).toEqual(["b", "a", "b"]);
      expect(bad).toEqual([]);
    });

    it("can have a folder above maildir, names over 100 characters and empty files", async () => {
      const long = "sub-folder/".repeat(30);
      const { emails, bad } = await read(
        await tar([{ name: `enron_mail_20110402/maildir/o/${long}1.`, content: mail(1) }, { name: "maildir/o/empty" }]),
      );
      expect(emails.map(({ path, owner }) => [path, owner])).toEqual([[`o/${long}1.`, "o"]]);
      expect(bad).toMatchObject([{ where: expect.stringContaining("maildir/o/empty"), reason: "it is empty" }]);
    });
  });
});

it("a Parquet row group that is read in several steps returns every email once and in order", {
  timeout: 120_000,
}, async () => {
  const file = join(await temporaryFolder(), "long.parquet");
  const mails = Array.from({ length: 100_100 }, (_, i) => ({
    messageId: `<${i}@x.example>`,
    subject: `Mail ${i}`,
    sender: "a@x.example",
    to: i % 3 === 0 ? [] : Array.from({ length: i % 3 }, (_, n) => `to${i}-${n}@x.example`),
    cc: [],
    bcc: [],
    date: "2001-03-05T10:00:00Z",
    body: `Body ${i}`,
    path: "",
    owner: null,
  }));
  writeParquet(file, mails, 1_000_000);
  const { emails, bad, error } = await readAll(await openCorpus(file, null));
  expect({ bad, error }).toEqual({ bad: [], error: null });
  expect(emails).toHaveLength(mails.length);
  const wrong = mails.findIndex(
    ({ messageId, to, body }, i) =>
      emails[i]?.messageId !== messageId || emails[i]?.to.join() !== to.join() || emails[i]?.body !== body,
  );
  expect(wrong).toBe(-1);
});

describe("the mail dataset", () => {
  const COMMIT = "0123456789abcdef0123456789abcdef01234567";
  const { folder, hub } = hubSetup();

  const SHARDS = [0, 1, 2].map((i) => ({
    path: `data/train-0000${i}-of-00003.parquet`,
    bytes: parquetOf(questionRows(50 + i, i * 100)),
  }));
  const TOTAL = SHARDS.reduce((sum, shard) => sum + shard.bytes.length, 0);

  function tree(shards = SHARDS) {
    return shards.map(({ path, bytes }) => ({
      type: "file",
      path,
      oid: "0".repeat(40),
      size: bytes.length,
      lfs: { oid: createHash("sha256").update(bytes).digest("hex"), size: bytes.length, pointerSize: 130 },
    }));
  }

  /** A hub with the mail dataset. `change` can replace a response. */
  function mailHub(change: (req: IncomingMessage, res: ServerResponse) => boolean = () => false) {
    return hub((req, res) => {
      if (change(req, res)) return;
      if (req.url === "/api/datasets/corbt/enron-emails/revision/main") return sendJson(res, { sha: COMMIT });
      if (req.url === `/api/datasets/corbt/enron-emails/tree/${COMMIT}/data`) return sendJson(res, tree());
      const shard = SHARDS.find(({ path }) => req.url === `/datasets/corbt/enron-emails/resolve/${COMMIT}/${path}`);
      if (shard === undefined) res.writeHead(404).end();
      else sendFile(req, res, shard.bytes);
    });
  }

  const at = (endpoint: string): Hub => ({ endpoint, token: null, retry: QUICK });

  it("causes an error if a shard is missing from the list", async () => {
    const server = await mailHub((req, res) => {
      if (!req.url?.includes("/tree/")) return false;
      sendJson(res, tree(SHARDS.slice(1)));
      return true;
    });
    await expect(downloadEnronEmails(at(server.endpoint), folder(), never)).rejects.toMatchObject({
      message: expect.stringContaining("lists 2 of 3 shards"),
      hint: expect.stringContaining("art-e import FOLDER"),
    });
  });

  it("causes an error if a shard does not match the list", async () => {
    const other = Buffer.from(SHARDS[1]?.bytes ?? []);
    other[100] = (other[100] ?? 0) ^ 1;
    const server = await mailHub((req, res) => {
      if (!req.url?.includes("00001-of-00003")) return false;
      sendFile(req, res, other);
      return true;
    });
    await expect(downloadEnronEmails(at(server.endpoint), folder(), never)).rejects.toMatchObject({
      message: expect.stringContaining("its SHA-256 is"),
    });
  });

  it("causes an error that explains the manual download if the hub is unreachable", async () => {
    await expect(downloadEnronEmails(at("http://127.0.0.1:1"), folder(), never)).rejects.toMatchObject({
      code: "download_failed",
      hint: expect.stringContaining("art-e import FOLDER"),
    });
  });

  it("has three shards from one commit, which is recorded", async () => {
    const server = await mailHub();
    const progress: [number, number | null][] = [];
    const shards = await downloadEnronEmails(at(server.endpoint), folder(), never, (bytes, total) => {
      progress.push([bytes, total]);
    });
    expect(shards).toBe(join(folder(), "corbt", "enron-emails", COMMIT));
    for (const { path, bytes } of SHARDS) {
      expect(await readFile(join(shards, path.replace("data/", "")))).toEqual(bytes);
    }
    expect((await readdir(shards)).filter((name) => !name.endsWith(".parquet.json"))).toHaveLength(3);
    expect(progress.at(-1)).toEqual([TOTAL, TOTAL]);
    expect(progress.map(([bytes]) => bytes)).toEqual(progress.map(([bytes]) => bytes).sort((a, b) => a - b));
    expect(JSON.parse(await readFile(join(folder(), "corbt", "enron-emails", "main.json"), "utf8"))).toMatchObject({
      commit: COMMIT,
    });
  });

  it("causes no request once cached, not even for the commit of main", async () => {
    const server = await mailHub();
    const first = await downloadEnronEmails(at(server.endpoint), folder(), never);
    expect(server.seen).toHaveLength(5);
    expect(await downloadEnronEmails(at("http://127.0.0.1:1"), folder(), never)).toBe(first);
  });

  it("stays at its commit if a shard fails, and only missing shards are downloaded later", async () => {
    let failing = true;
    const server = await mailHub((req, res) => {
      if (!failing || !req.url?.includes("00002-of-00003")) return false;
      res.writeHead(404).end();
      return true;
    });
    await expect(downloadEnronEmails(at(server.endpoint), folder(), never)).rejects.toThrow(/404/);
    failing = false;
    const before = server.seen.length;
    await downloadEnronEmails(at(server.endpoint), folder(), never);
    expect(server.seen.slice(before).map((seen) => seen.path)).toEqual([
      `/datasets/corbt/enron-emails/resolve/${COMMIT}/data/train-00002-of-00003.parquet`,
    ]);
  });
});
