import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { CORPUS_FORMATS, type CorpusFormat, type FiledEmail } from "../../src/mail/email.js";
import { openCorpus } from "../../src/mail/open-corpus.js";
import { UserError } from "../../src/platform/errors.js";
import {
  authoredMails,
  expectedMails,
  FIXTURES,
  kaggleCsv,
  mailEntries,
  mbox,
  parsedCsv,
  readAll,
  temporaryFolder,
  writeParquet,
  writeTar,
} from "../mail/corpus-fixtures.js";

const mails = authoredMails();
const expected: FiledEmail[] = expectedMails()
  .map((email) => ({ ...email, inbox: null }))
  .sort((a, b) => (a.path < b.path ? -1 : 1));
const folder = await temporaryFolder();
const at = (name: string) => join(folder, name);

await writeTar(at("mails.tar"), mailEntries(mails), false);
await writeTar(at("mails.tar.gz"), mailEntries(mails), true);
await writeFile(at("emails.csv"), kaggleCsv(mails));
await writeFile(at("parsed.csv"), parsedCsv(expected.map((email) => ({ ...email, inbox: "mia.alder@example.com" }))));
await writeFile(at("archive.mbox"), mbox(mails));
await writeFile(at("zipped.mbox.gz"), gzipSync(mbox(mails)));
writeParquet(at("emails.parquet"), expected);

interface Form {
  readonly name: string;
  readonly source: string;
  readonly format: CorpusFormat;
  /** What the form can hold of a mail. */
  readonly held: (email: FiledEmail) => Partial<FiledEmail>;
}

const everything = (email: FiledEmail) => email;

const FORMS: Form[] = [
  { name: "a maildir folder", source: FIXTURES, format: "maildir", held: everything },
  { name: "a tar", source: at("mails.tar"), format: "tar", held: everything },
  { name: "a gzipped tar", source: at("mails.tar.gz"), format: "tar", held: everything },
  { name: "Kaggle's CSV", source: at("emails.csv"), format: "kaggle-csv", held: everything },
  { name: "Parquet", source: at("emails.parquet"), format: "parquet", held: everything },
  {
    name: "a parsed CSV",
    source: at("parsed.csv"),
    format: "parsed-csv",
    held: ({ messageId, subject, sender, to, cc, bcc, date, body }) => {
      return { messageId, subject, sender, to: [...new Set([...to, ...cc, ...bcc])], date, body };
    },
  },
  {
    name: "an mbox",
    source: at("archive.mbox"),
    format: "mbox",
    held: ({ path: _path, owner: _owner, ...email }) => email,
  },
  {
    name: "a zipped mbox",
    source: at("zipped.mbox.gz"),
    format: "mbox",
    held: ({ path: _path, owner: _owner, ...email }) => email,
  },
];

describe.each(FORMS)("the reader of $name", ({ source, format, held }) => {
  it("refuses to go on once it is aborted", async () => {
    const { emails, error } = await readAll(await openCorpus(source, null), AbortSignal.abort(new Error("enough")));
    expect(emails).toEqual([]);
    expect(error).toEqual(new Error("enough"));
  });

  it.each(CORPUS_FORMATS.filter((other) => other !== format))("refuses a wrong --format %s", async (other) => {
    await expect(openCorpus(source, other)).rejects.toBeInstanceOf(UserError);
  });

  it("is found by content and gives the twelve mails as they were written", async () => {
    const corpus = await openCorpus(source, null);
    expect(corpus.format).toBe(format);
    const { emails, bad, error } = await readAll(corpus);
    expect(error).toBeNull();
    expect(bad).toEqual([]);
    expect(emails).toHaveLength(12);
    const wanted = expected.map(held);
    for (const [i, email] of emails.entries()) expect(email).toMatchObject(wanted[i] ?? {});
  });

  it("gives the same again, in the same order, when read twice", async () => {
    const corpus = await openCorpus(source, format);
    expect(await readAll(corpus)).toEqual(await readAll(corpus));
  });

  it("has read all of its bytes at the end", async () => {
    const corpus = await openCorpus(source, format);
    const { bytesRead } = await readAll(corpus);
    expect(bytesRead).toBe(corpus.totalBytes ?? mails.reduce((sum, { raw }) => sum + raw.length, 0));
  });

  it("stops cleanly when its reader has had enough", async () => {
    const corpus = await openCorpus(source, format);
    for await (const batch of corpus.batches(new AbortController().signal)) {
      expect(batch.mails.length).toBeGreaterThan(0);
      break;
    }
  });
});

describe("what only some forms tell", () => {
  it("takes the inbox from a parsed CSV", async () => {
    const { emails } = await readAll(await openCorpus(at("parsed.csv"), null));
    expect(new Set(emails.map(({ inbox, owner, path }) => [inbox, owner, path].join("|")))).toEqual(
      new Set(["mia.alder@example.com||"]),
    );
  });

  it("takes the owner from an mbox's file name", async () => {
    const { emails } = await readAll(await openCorpus(at("archive.mbox"), null));
    expect(new Set(emails.map(({ inbox, owner, path }) => [inbox, owner, path].join("|")))).toEqual(
      new Set(["|archive|"]),
    );
  });
});
