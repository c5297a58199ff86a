import { mkdirSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCorpusStats, readFingerprint } from "../../src/mail/corpus.js";
import type { CorpusBatch, CorpusSource } from "../../src/mail/email.js";
import { openCorpus } from "../../src/mail/import/corpus-formats.js";
import type { ImportProgress } from "../../src/mail/import/import-corpus.js";
import { packBatch, unpackBatch } from "../../src/mail/import/packed-batch.js";
import { checkHealth } from "../../src/mail/integrity.js";
import { openMailLookup } from "../../src/mail/mail-lookup.js";
import { UserError } from "../../src/platform/errors.js";
import { authoredMails, mailEntries, writeTar } from "./corpus-fixtures.js";
import { AUTHORED, accountedFor, contentOf, DEMO, importFolder, importFrom, mailText } from "./import-setup.js";
import { mutilatedMails } from "./mutilate.js";

describe("mail imports", () => {
  const { emptyDb, path, write } = importFolder();

  const count = (db: ReturnType<typeof emptyDb>, table: string) =>
    db.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;

  /** A source that returns some batches and then calls a function. */
  function sourceOf(batches: readonly CorpusBatch[], then: () => void = () => undefined): CorpusSource {
    return {
      format: "maildir",
      totalBytes: null,
      async *batches() {
        yield* batches;
        then();
      },
    };
  }

  async function batchesOf(mail: string): Promise<CorpusBatch[]> {
    const batches: CorpusBatch[] = [];
    for await (const batch of (await openCorpus(mail, null)).batches(new AbortController().signal)) batches.push(batch);
    return batches;
  }

  describe.each([
    ["the demo mailbox", DEMO, { read: 517, stored: 516, distinct: 311, duplicates: 1, inboxes: 3 }],
    ["the made-up emails", AUTHORED, { read: 12, stored: 12, distinct: 12, duplicates: 0, inboxes: 3 }],
  ])("importing %s", (_, mail, figures) => {
    it("counts every email once, and the counts equal the ones in the file", async () => {
      const db = emptyDb();
      const { summary, skipped } = await importFrom(db, mail);
      expect(summary).toMatchObject({ ...figures, dropped: null, unresolvedOwners: 0 });
      expect(accountedFor(summary)).toBe(summary.read);
      expect(skipped).toHaveLength(summary.skipped.mails);
      expect(count(db, "messages")).toBe(summary.stored);
      expect(count(db, "emails")).toBe(summary.stored);
      expect(count(db, "mails")).toBe(summary.distinct);
      expect(count(db, "emails_fts")).toBe(summary.distinct);
      expect(readCorpusStats(db)).toMatchObject({ messages: summary.stored, inboxes: summary.inboxes });
    });

    it("changes nothing if repeated", async () => {
      const db = emptyDb();
      await importFrom(db, mail);
      const before = contentOf(db);
      const { summary } = await importFrom(db, mail);
      expect(summary).toMatchObject({ stored: 0, distinct: 0, renamed: 0, duplicates: figures.read });
      expect(contentOf(db)).toEqual(before);
      expect(count(db, "imports")).toBe(2);
    });

    it("creates the same file for any batch size", async () => {
      const files = [];
      for (const batchSize of [1, 7, 1_000_000]) {
        const db = emptyDb();
        await importFrom(db, mail, { batchSize });
        files.push({ ...contentOf(db), corpus_state: readFingerprint(db) });
      }
      expect(files[1]).toEqual(files[0]);
      expect(files[2]).toEqual(files[0]);
    });
  });

  describe("a second source", () => {
    it("adds its mail, in either order of the two sources", async () => {
      const [one, other] = [emptyDb(), emptyDb()];
      await importFrom(one, DEMO);
      const first = readFingerprint(one);
      const { summary } = await importFrom(one, AUTHORED);
      expect(summary).toMatchObject({ read: 12, stored: 12, inboxes: 6 });
      expect(readCorpusStats(one)).toMatchObject({ messages: 516 + 12, inboxes: 6 });
      expect(readFingerprint(one)).not.toBe(first);

      await importFrom(other, AUTHORED);
      await importFrom(other, DEMO);
      expect(readFingerprint(other)).toBe(readFingerprint(one));
    });

    it("adds nothing if it contains the same mail in another format", async () => {
      const db = emptyDb();
      await importFrom(db, AUTHORED);
      const before = contentOf(db);
      await writeTar(path("mails.tar.gz"), mailEntries(authoredMails()), true);
      const { summary } = await importFrom(db, path("mails.tar.gz"));
      expect(summary).toMatchObject({ format: "tar", stored: 0, duplicates: 12 });
      expect(contentOf(db)).toEqual(before);
    });

    it("keeps both emails if they have the same Message-ID, and renames the later one only once", async () => {
      const db = emptyDb();
      const fields = { "Message-ID": "<1@example.com>", From: "a@example.com", Subject: "one" };
      write("clash/first/doe-j/inbox/1.", mailText(fields));
      write("clash/second/doe-j/inbox/1.", mailText({ ...fields, Subject: "two" }));
      await importFrom(db, path("clash/first"));
      for (const renamed of [1, 0]) {
        expect((await importFrom(db, path("clash/second"))).summary).toMatchObject({ stored: renamed, renamed });
      }
      const ids = db.prepare("SELECT message_id FROM emails ORDER BY subject").pluck().all();
      expect(ids).toEqual(["<1@example.com>", expect.stringMatching(/^<1@example\.com>~[0-9a-f]{8}$/)]);
    });
  });

  describe("an import limit", () => {
    it.each([1, 20, 499, 500, 501, 516])("applies to the number of emails read (%d)", async (limit) => {
      const db = emptyDb();
      const { summary } = await importFrom(db, DEMO, { limit, batchSize: 7 });
      expect(summary.read).toBe(limit);
      expect(accountedFor(summary)).toBe(limit);
    });

    it("reads the entire source if the limit exceeds the source", async () => {
      expect((await importFrom(emptyDb(), DEMO, { limit: 10_000 })).summary.read).toBe(517);
    });

    it("counts only usable emails, and the others appear separately", async () => {
      const [first] = await batchesOf(AUTHORED);
      const bad = ["1", "2", "3"].map((where) => ({ where, reason: "it is empty" }));
      const source = sourceOf([{ mails: first?.mails ?? [], bad, bytesRead: 3 }]);
      const { summary } = await importFrom(emptyDb(), source, { limit: 2 });
      expect(summary).toMatchObject({ read: 5, stored: 2, skipped: { mails: 3 } });
    });
  });

  describe("an unusable email", () => {
    const mixed = () => {
      for (const n of [1, 2, 3]) write(`mixed/doe-j/inbox/${n}.`, mailText({ Subject: `mail ${n}` }));
      write("mixed/doe-j/inbox/4.", "");
      write("mixed/doe-j/inbox/5.", "no mail\n");
      write("mixed/doe-j/inbox/6.", "no mail either\n");
      return path("mixed");
    };

    it("appears in a list with its reason, and the import stores the others", async () => {
      const { summary, skipped } = await importFrom(emptyDb(), mixed());
      const header = "it does not have an email header (Message-ID, Date, From, To or Subject)";
      expect(skipped).toEqual(
        [
          ["4.", "it is empty"],
          ["5.", header],
          ["6.", header],
        ].map(([name, reason]) => ({ where: path(`mixed/doe-j/inbox/${name}`), reason })),
      );
      expect(summary).toMatchObject({ read: 6, stored: 3 });
      expect(summary.skipped).toEqual({ mails: 3, reasons: { "it is empty": 1, [header]: 2 }, first: skipped });
    });

    it("ends a strict import, which leaves nothing", async () => {
      const db = emptyDb();
      await importFrom(db, AUTHORED);
      const before = contentOf(db);
      const error = await importFrom(db, mixed(), { strict: true }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UserError);
      expect(error).toMatchObject({
        code: "mail_invalid",
        exitCode: 1,
        message: expect.stringMatching(/4\.: it is empty\.$/),
      });
      expect(contentOf(db)).toEqual(before);
      expect(count(db, "imports")).toBe(1);
    });

    it("appears in the summary if it is one of the first ten, and always reaches the listener", async () => {
      const bad = Array.from({ length: 700 }, (_, n) => ({ where: `row ${n}`, reason: `of reason ${n}` }));
      const { summary, skipped } = await importFrom(emptyDb(), sourceOf([{ mails: [], bad, bytesRead: 1 }]));
      expect(skipped).toEqual(bad);
      expect(summary.skipped.first).toEqual(bad.slice(0, 10));
      expect(Object.keys(summary.skipped.reasons)).toHaveLength(51);
      expect(summary.skipped.reasons["of other reasons"]).toBe(650);
    });
  });

  describe("an incomplete import", () => {
    async function leftAfter(run: (db: ReturnType<typeof emptyDb>) => Promise<unknown>) {
      const db = emptyDb();
      await importFrom(db, AUTHORED);
      const before = contentOf(db);
      const error = await run(db).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(contentOf(db)).toEqual(before);
      expect(count(db, "imports")).toBe(1);
      // A later import succeeds.
      expect((await importFrom(db, DEMO)).summary.stored).toBe(516);
      return error;
    }

    it("leaves the file unchanged if the source fails in the middle", async () => {
      const batches = await batchesOf(DEMO);
      expect(batches.length).toBeGreaterThan(1);
      const broken = new UserError("broken_source", "the source is cut off", "Fetch it again.");
      const source = sourceOf(batches.slice(0, 1), () => {
        throw broken;
      });
      expect(await leftAfter((db) => importFrom(db, source))).toBe(broken);
    });

    it.each([1, 250, 510])("leaves the file unchanged if aborted after %d emails", async (after) => {
      const controller = new AbortController();
      const reason = new Error("stopped by the user");
      const emails = (await batchesOf(DEMO)).flatMap((batch) => batch.mails);
      const oneByOne = sourceOf(emails.map((email) => ({ mails: [email], bad: [], bytesRead: 0 })));
      const onProgress = ({ mails }: ImportProgress) => mails === after && controller.abort(reason);
      expect(await leftAfter((db) => importFrom(db, oneByOne, { signal: controller.signal, onProgress }))).toBe(reason);
    });

    it("leaves the file unchanged if aborted between two emails of one batch", async () => {
      const controller = new AbortController();
      const reason = new Error("stopped by the user");
      setImmediate(() => controller.abort(reason));
      const batches = await batchesOf(DEMO);
      const slow = { signal: controller.signal, batchSize: 1 };
      expect(await leftAfter((db) => importFrom(db, sourceOf(batches), slow))).toBe(reason);
    });

    it("leaves the file unchanged if aborted during indexing", async () => {
      const controller = new AbortController();
      const reason = new Error("stopped by the user");
      const onProgress = ({ phase }: ImportProgress) => phase === "index" && controller.abort(reason);
      expect(await leftAfter((db) => importFrom(db, DEMO, { signal: controller.signal, onProgress }))).toBe(reason);
    });

    it("leaves the file unchanged if aborted before its start", async () => {
      const reason = new Error("stopped by the user");
      expect(await leftAfter((db) => importFrom(db, DEMO, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    });
  });

  describe("the import's listener", () => {
    it("receives increasing numbers of emails, first for reading, then for indexing", async () => {
      const { progress } = await importFrom(emptyDb(), DEMO);
      const phases = progress.map(({ phase }) => phase);
      expect([...new Set(phases)]).toEqual(["read", "index"]);
      expect(phases).toEqual([...phases].sort().reverse());
      for (const phase of ["read", "index"]) {
        const mails = progress.filter((step) => step.phase === phase).map((step) => step.mails);
        expect(mails).toEqual([...mails].sort((a, b) => a - b));
        expect(mails.at(-1)).toBe(phase === "read" ? 517 : 311);
      }
    });
  });
});

const text = fc.string();
const textOrNull = fc.option(text);

const anyMail = fc.record({
  messageId: text,
  path: text,
  owner: textOrNull,
  inbox: textOrNull,
  form: fc.constantFrom("mbox" as const, "eml" as const),
  contentHash: text,
  names: fc.array(text),
  named: fc.array(fc.record({ address: text, name: text })),
  deliveredTo: textOrNull,
  references: fc.array(text),
  art: fc.option(fc.oneof(fc.record({ drop: fc.constant("repeat" as const) }), fc.record({ repeatKey: text }))),
  content: fc.option(
    fc.record({
      subject: text,
      sender: text,
      recipients: text,
      toCount: fc.nat(),
      ccCount: fc.nat(),
      date: textOrNull,
      body: text,
    }),
  ),
});

it("packs a batch of emails without a change, even if cloned for another thread", () => {
  const bad = [{ where: "mail.csv row 2", reason: "it is empty" }];
  fc.assert(
    fc.property(fc.array(anyMail), fc.nat(), (mails, bytesRead) => {
      const batch = { mails, bad, bytesRead };
      expect(unpackBatch(structuredClone(packBatch(batch)))).toEqual(batch);
    }),
  );
});

describe("an import of 200 mutilated emails", () => {
  const { emptyDb, path } = importFolder();
  const MAILS = mutilatedMails(200, 2001);
  const folder = path("maildir/doe-j/inbox");
  mkdirSync(folder, { recursive: true });
  for (const [n, { raw }] of MAILS.entries()) writeFileSync(`${folder}/${n}.`, raw);

  it("imports each email, or lists it with a reason", async () => {
    const db = emptyDb();
    const { summary, skipped } = await importFrom(db, path("maildir"));
    expect(summary.read).toBe(200);
    expect(accountedFor(summary)).toBe(200);
    expect(skipped).toHaveLength(summary.skipped.mails);
    // A few are unreadable, but not most.
    expect(summary.skipped.mails).toBeGreaterThan(0);
    expect(summary.stored).toBeGreaterThan(150);
    const inFile = db.prepare("SELECT path FROM messages").pluck().all() as string[];
    const named = skipped.map(({ where }) => where.slice(where.indexOf("doe-j/")));
    expect(new Set([...inFile, ...named]).size).toBe(summary.stored + summary.skipped.mails);
    for (const { reason } of skipped)
      expect(reason).toMatch(/^it (is empty|is binary data|does not have an email header)/);
  });

  it("lets each imported email be read by id, and leaves the file intact", async () => {
    const db = emptyDb();
    await importFrom(db, path("maildir"));
    const mails = openMailLookup(db);
    const ids = db.prepare("SELECT message_id FROM emails").pluck().all() as string[];
    for (const id of ids) {
      const mail = mails.get(id);
      expect(mail?.messageId, id).toBe(id);
      expect(JSON.stringify(mail), id).not.toMatch(/\\u0000|\\ud[89a-f]/);
    }
    expect([...checkHealth(db)].filter(({ ok }) => !ok)).toEqual([]);
  });

  it("changes nothing if repeated", async () => {
    const db = emptyDb();
    await importFrom(db, path("maildir"));
    const before = contentOf(db);
    const { summary } = await importFrom(db, path("maildir"));
    expect(summary.stored).toBe(0);
    expect(contentOf(db)).toEqual(before);
  });
});
