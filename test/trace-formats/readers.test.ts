import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { CORPUS_FORMATS, type CorpusFormat, type FiledEmail } from "../../src/mail/email.js";
import { openCorpus } from "../../src/mail/import/corpus-formats.js";
import { UserError } from "../../src/platform/errors.js";
import type { ExportedTrace } from "../../src/trace-formats/export-traces/exported-trace.js";
import { FORMATS } from "../../src/trace-formats/formats.js";
import { openImport } from "../../src/trace-formats/open-import.js";
import { EXPORTS, needs } from "../machine-requirements.js";
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
import { readArtGroups } from "./art-reader.js";
import { readAtif } from "./atif-reader.js";
import { readChats } from "./chat-reader.js";
import { contextOf } from "./context.js";
import { hostileConversation } from "./hostile-conversations.js";
import { inspectJsonLog } from "./inspect-json-log.js";
import { readEvalFile, readJsonLog } from "./inspect-reader.js";
import { ALL_KINDS, TOOLS } from "./kinds-of-traces.js";
import { readOtlp } from "./otlp-reader.js";

describe("corpus readers", async () => {
  const mails = authoredMails();

  const expected: Omit<FiledEmail, "form">[] = expectedMails()
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
    /** The parts of an email that the format can represent. */
    readonly held: (email: Omit<FiledEmail, "form">) => Partial<FiledEmail>;
  }

  const TEXTS: readonly CorpusFormat[] = ["kaggle-csv", "parsed-csv", "mbox", "eml"];

  const everything = (email: Omit<FiledEmail, "form">) => email;

  const FORMS: Form[] = [
    { name: "a maildir folder", source: join(FIXTURES, "maildir"), format: "maildir", held: everything },
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
    it("stops if it is aborted", async () => {
      const { emails, error } = await readAll(await openCorpus(source, null), AbortSignal.abort(new Error("enough")));
      expect(emails).toEqual([]);
      expect(error).toEqual(new Error("enough"));
    });

    // A text is read as the user says, because its form can only be guessed.
    const isText = (one: CorpusFormat) => TEXTS.includes(one);
    const wrong = CORPUS_FORMATS.filter(
      (other) => other !== format && !(isText(format) && ["mbox", "eml"].includes(other)),
    );
    it.each(wrong)("rejects the wrong --format %s", async (other) => {
      await expect(openCorpus(source, other)).rejects.toBeInstanceOf(UserError);
    });

    it("recognizes its content, and returns the twelve emails as they were written", async () => {
      const corpus = await openCorpus(source, null);
      expect(corpus.format).toBe(format);
      const { emails, bad, error } = await readAll(corpus);
      expect(error).toBeNull();
      expect(bad).toEqual([]);
      expect(emails).toHaveLength(12);
      const wanted = expected.map(held);
      for (const [i, email] of emails.entries()) expect(email).toMatchObject(wanted[i] ?? {});
    });

    it("returns the same emails in the same order if they are read twice", async () => {
      const corpus = await openCorpus(source, format);
      expect(await readAll(corpus)).toEqual(await readAll(corpus));
    });

    it("reaches all of its bytes at the end", async () => {
      const corpus = await openCorpus(source, format);
      const { bytesRead } = await readAll(corpus);
      expect(bytesRead).toBe(corpus.totalBytes ?? mails.reduce((sum, { raw }) => sum + raw.length, 0));
    });

    it("stops cleanly if its consumer stops early", async () => {
      const corpus = await openCorpus(source, format);
      for await (const batch of corpus.batches(new AbortController().signal)) {
        expect(batch.mails.length).toBeGreaterThan(0);
        break;
      }
    });
  });

  describe("facts that only some formats contain", () => {
    it("include the mailbox in a parsed CSV", async () => {
      const { emails } = await readAll(await openCorpus(at("parsed.csv"), null));
      expect(new Set(emails.map(({ inbox, owner, path }) => [inbox, owner, path].join("|")))).toEqual(
        new Set(["mia.alder@example.com||"]),
      );
    });

    it("include the owner in an mbox's path", async () => {
      const { emails } = await readAll(await openCorpus(at("archive.mbox"), null));
      expect(new Set(emails.map(({ inbox, owner, path }) => [inbox, owner, path].join("|")))).toEqual(
        new Set([`|${at("archive")}|`]),
      );
    });
  });
});

/** The test readers must accept and refuse the same files as the formats' own readers. */

const READERS: Readonly<Record<string, (bytes: Buffer, name: string) => unknown>> = {
  art: (bytes) => readArtGroups(bytes.toString()),
  atif: (bytes) => readAtif(bytes.toString()),
  otel: (bytes) => readOtlp(bytes.toString()),
  "openai-sft": (bytes, name) => readChats(bytes.toString(), name.includes("hf") ? "hf" : "openai"),
  inspect: (bytes, name) =>
    name.endsWith(".eval") ? readEvalFile(bytes, "python") : readJsonLog(bytes.toString(), "python"),
};

describe("example files in the tests' own readers", needs("exports"), () => {
  it.each(Object.entries(READERS))("contain every field of %s", (folder, read) => {
    const path = join(EXPORTS, "examples", folder);
    const names = readdirSync(path);
    expect(names.filter((name) => name.includes("broken")).length).toBeGreaterThan(5);
    for (const name of names) {
      const use = () => read(readFileSync(join(path, name)), name);
      if (name.includes("broken")) expect(use, name).toThrow();
      else expect(use, name).not.toThrow();
    }
  });

  it("include Inspect's, although the viewer needs more than the minimum", () => {
    const path = join(EXPORTS, "examples/inspect");
    const read = (name: string) => readJsonLog(readFileSync(join(path, name), "utf8"), "viewer");
    expect(() => read("2026-11-20T09-00-00_art-e_tAsK1.json")).not.toThrow();
    expect(() => read("2026-11-20T09-00-01_least_x.json")).toThrow();
  });
});

describe("exporting and importing", () => {
  /** Exporting, importing and exporting again must give the same bytes for the facts that a format contains. */

  const folder = mkdtempSync(join(tmpdir(), "art-e-"));

  afterAll(() => rmSync(folder, { recursive: true }));

  /** OTLP contains fewer facts other than the conversation. Its own tests import the traces of a run. */
  const WHOLE = ["jsonl", "inspect", "inspect-json", "atif"] as const;

  function exported(name: (typeof WHOLE)[number], traces: readonly ExportedTrace[]): Buffer {
    const context = contextOf({ toolsOf: () => TOOLS });
    if (name === "inspect-json") return Buffer.from(inspectJsonLog(traces, context));
    const format = FORMATS[name];
    if ("bytes" in format) return Buffer.concat([...format.bytes(traces, context)]);
    return Buffer.from([...format.lines(traces, context)].map((line) => `${line}\n`).join(""));
  }

  async function imported(bytes: Buffer): Promise<{ format: string; traces: ExportedTrace[]; lacking: object }> {
    const path = join(folder, "file");
    writeFileSync(path, bytes);
    const source = await openImport(path);
    const traces: ExportedTrace[] = [];
    for await (const { trace } of source.traces()) traces.push(trace);
    return { format: source.format, traces, lacking: source.lacking() };
  }

  describe.each(WHOLE)("traces as %s", (format) => {
    it.each(ALL_KINDS.map((trace) => [trace.traceId, trace] as const))(
      "stay the same for the kind %s",
      async (_, trace) => {
        const bytes = exported(format, [trace]);
        const read = await imported(bytes);
        expect(read.format).toBe(format);
        expect(exported(format, read.traces).toString()).toBe(bytes.toString());
      },
    );
  });

  const TRACES = process.env.ART_E_LONG ? 10_000 : 60;
  const SEED = Math.floor(Math.random() * 2 ** 31);

  describe.each(WHOLE)("hostile traces as %s", (format) => {
    it("stay the same", async () => {
      const traces = fc
        .sample(hostileConversation, { numRuns: TRACES, seed: SEED })
        // zod drops keys with this name.
        .filter((trace) => !JSON.stringify(trace).includes('"__proto__":'))
        .map((trace, i) => ({ ...trace, taskId: i, traceId: `trace_${i}` }));
      expect(traces.length).toBeGreaterThan(TRACES / 2);
      const bytes = exported(format, traces);
      const again = exported(format, (await imported(bytes)).traces);
      if (again.equals(bytes)) return;
      for (const trace of traces) {
        const one = exported(format, [trace]);
        expect(exported(format, (await imported(one)).traces).toString(), `seed ${SEED}`).toBe(one.toString());
      }
      expect.unreachable("each trace is the same, but all of them are not");
    });
  });
});
