import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wordFrequency } from "../../src/evals/suggest.js";
import { openArtSearch } from "../../src/mail/art-search.js";
import { largestMailboxes } from "../../src/mail/import-command.js";
import { checkHealth, repairIndex } from "../../src/mail/integrity.js";
import { openMailboxListing } from "../../src/mail/mail-lookup.js";
import { openMailSearch } from "../../src/mail/search.js";
import { largestInboxes } from "../../src/mail/search-postings.js";
import { openForImport } from "../../src/mail/store/atomic-import.js";
import { copyMail } from "../../src/mail/store/corpus-writer.js";
import { type Db, openStore } from "../../src/store/open-store.js";
import { importSource } from "../import-source.js";
import { never } from "../runs/demo-setup.js";
import { checkIndex, content, sourceOf } from "./corpus-setup.js";
import { importFrom } from "./import-setup.js";
import { anyQuery, PEOPLE, randomMails } from "./random-corpus.js";
import type { PlainQuery } from "./search-reference.js";

/** The index of a large import: two tables, built by two threads, which are asked as one. */

const folder = mkdtempSync(join(tmpdir(), "art-e-parallel-index-"));
const path = (name: string) => join(folder, name);
const mails = randomMails(300, 7);
let one: Db;
let two: Db;

beforeAll(async () => {
  await importInto("one.db", { onThreads: false });
  await importInto("two.db", { onThreads: true });
  [one, two] = [openStore(path("one.db"), { mustExist: true }), openStore(path("two.db"), { mustExist: true })];
});
afterAll(() => {
  one.close();
  two.close();
  rmSync(folder, { recursive: true });
});

interface Wish {
  readonly onThreads: boolean;
  readonly onIndexed?: () => void;
  readonly signal?: AbortSignal;
}

async function importInto(name: string, { onThreads, onIndexed, signal = never }: Wish): Promise<void> {
  const file = openForImport(path(name));
  const { whileReadable } = file;
  try {
    await importFrom(file.db, sourceOf(mails), {
      parallelIndex: onThreads && whileReadable !== null ? { fromMails: 1, whileReadable } : null,
      strict: true,
      onProgress: ({ phase }) => phase === "index" && onIndexed?.(),
      signal,
    });
    // On the connection that imported, as the command does.
    largestMailboxes(file.db, 5);
    file.finish();
  } catch (error) {
    file.abandon();
    throw error;
  }
}

const olderFrom = (db: Db) => db.prepare("SELECT older_from FROM corpus_state").pluck().get();
const rowsOf = (db: Db, table: string) => db.prepare(`SELECT count(*) FROM ${table}_docsize`).pluck().get() as number;
const healthy = (db: Db) => [...checkHealth(db)].every(({ ok }) => ok);
const filesOf = (name: string) => readdirSync(folder).filter((file) => file.startsWith(name));

function answersOf(db: Db) {
  const search = openMailSearch(db);
  const artSearch = openArtSearch(db);
  const frequency = wordFrequency(db);
  const idOf = db.prepare("SELECT id FROM addresses WHERE address = ?").pluck();
  const id = (address: string) => (idOf.get(address) as number | undefined) ?? 0;
  return ({ words, inbox, from, to, after, before, limit }: PlainQuery) => {
    const [fromIds, toIds, period] = [from?.map(id) ?? null, to?.map(id) ?? null, { after, before }];
    const query = { words, inboxId: inbox === null ? null : id(inbox), fromIds, toIds, period, limit, askedAt: before };
    const keywords = words.split(" ").slice(0, 2);
    const listing = openMailboxListing(db, inbox ?? PEOPLE[0], before);
    const page = listing.list(null, limit);
    return {
      newest: search.newestFirst(query),
      best: search.bestFirst(query),
      art: artSearch({ keywords, namedId: id(inbox ?? PEOPLE[1]), fromIds, toIds, period, limit: 10 }),
      listed: [page, listing.list(page.at(-1)?.cursor ?? null, limit)],
      frequencies: words.split(" ").map(frequency),
    };
  };
}

describe("an index in two tables", () => {
  it("halves the mails by date, and agrees with their text", () => {
    const total = rowsOf(one, "emails_fts");
    expect([olderFrom(one), olderFrom(two)]).toEqual([null, Math.ceil(total / 2) + 1]);
    expect(rowsOf(two, "emails_fts")).toBe(Math.ceil(total / 2));
    expect(rowsOf(two, "emails_fts_older")).toBe(Math.floor(total / 2));
    expect(content(two)).toEqual(content(one));
    expect(healthy(two)).toBe(true);
    expect(largestMailboxes(two, 9)).toEqual(largestMailboxes(one, 9));
    expect(largestInboxes(two, 9)).toEqual(largestInboxes(one, 9));
  });

  it("refers to no row that is not there", () => {
    for (const db of [one, two]) expect(db.pragma("foreign_key_check")).toEqual([]);
  });

  it("finds and lists what one table does, in 150 searches", () => {
    const [inOne, inTwo] = [answersOf(one), answersOf(two)];
    let found = 0;
    fc.assert(
      fc.property(anyQuery, (query) => {
        const answers = inTwo(query);
        expect(answers).toEqual(inOne(query));
        if (answers.best.hits.length > 1) found++;
      }),
      { seed: 5, numRuns: 150 },
    );
    expect(found).toBeGreaterThan(30);
  });

  it("takes for words that are in no mail what one table does", () => {
    const words = "contarct mettings tradingfloor repor";
    const query = { words, inboxId: null, fromIds: null, toIds: null, limit: 9, askedAt: null };
    const explained = (db: Db) =>
      openMailSearch(db).explainBestFirst({ ...query, period: { after: null, before: null } });
    expect(explained(two)).toEqual(explained(one));
    expect(explained(two).corrections.map(({ taken }) => taken)).toEqual([
      "contract",
      "meetings",
      "trading floor",
      "repor*",
    ]);
  });

  it("is copied with the mail", () => {
    copyMail({ from: path("two.db"), to: path("copy.db") });
    const copy = openStore(path("copy.db"), { mustExist: true });
    expect(olderFrom(copy)).toBe(olderFrom(two));
    expect(healthy(copy)).toBe(true);
    copy.close();
  });

  it.each([
    ["more mail", async () => void (await importMore("grown.db"))],
    ["a repair", async () => repairAt("grown.db")],
  ])("becomes one by %s, also for those who have searched it before", async (_by, change) => {
    await importInto("grown.db", { onThreads: true });
    const db = openStore(path("grown.db"), { mustExist: true });
    const answers = answersOf(db);
    const anything = { inbox: null, from: null, to: null, after: null, before: null };
    const query: PlainQuery = { words: "gas", ...anything, limit: 300 };
    const before = answers(query).newest.map(({ messageId }) => messageId);
    await change();
    expect(olderFrom(db)).toBeNull();
    expect(rowsOf(db, "emails_fts_older")).toBe(0);
    checkIndex(db);
    expect(answers(query).newest.map(({ messageId }) => messageId)).toEqual(expect.arrayContaining(before));
    expect(before.length).toBeGreaterThan(20);
    db.close();
    for (const name of filesOf("grown.db")) rmSync(path(name));
  });
});

async function importMore(name: string): Promise<void> {
  const file = openForImport(path(name));
  expect(file.whileReadable).toBeNull();
  const source = sourceOf(randomMails(20, 8).map((email) => ({ ...email, messageId: `<more-${email.messageId}` })));
  await importFrom(file.db, source, { strict: true });
  file.finish();
}

function repairAt(name: string): void {
  const db = openStore(path(name), { mustExist: true });
  repairIndex(db, () => undefined);
  db.close();
}

describe("while the threads build", () => {
  it("another import into the file is refused, and does not disturb it", async () => {
    const refused: unknown[] = [];
    const other = `${importSource("mail/store/atomic-import", "openForImport")}
      try { openForImport(${JSON.stringify(path("busy.db"))}); } catch (error) { console.log(error.code); }`;
    await importInto("busy.db", {
      onThreads: true,
      onIndexed() {
        if (refused.length > 0) return;
        const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", other], { encoding: "utf8" });
        refused.push(stdout.trim());
      },
    });
    expect(refused).toEqual(["db_busy"]);
    expect(filesOf("busy.db")).toEqual(["busy.db"]);
  });

  it("an interruption leaves nothing", async () => {
    const stop = new AbortController();
    const reason = new Error("stopped");
    const ended = importInto("stopped.db", {
      onThreads: true,
      onIndexed: () => stop.abort(reason),
      signal: stop.signal,
    });
    await expect(ended).rejects.toBe(reason);
    expect(filesOf("stopped.db")).toEqual([]);
  });

  it("a kill leaves no database, and the next import removes what is left", async () => {
    const script = `
      ${importSource("mail/store/atomic-import", "openForImport")}
      ${importSource("mail/store/parallel-index", "buildIndexOnThreads")}
      const file = openForImport(${JSON.stringify(path("killed.db"))});
      file.db.exec("INSERT INTO mails VALUES (1, x'00', 'a', 'b', '[]', 0, 0, NULL, 'c'), (2, x'01', 'd', 'e', '[]', 0, 0, NULL, 'f')");
      file.db.exec("INSERT INTO mail_order VALUES (1, 1, NULL, ''), (2, 2, NULL, '')");
      await buildIndexOnThreads(file.db, file.whileReadable, 2, () => process.kill(process.pid, "SIGKILL"), new AbortController().signal);`;
    writeFileSync(path("kill.mjs"), script);
    const { signal, stderr } = spawnSync(process.execPath, [path("kill.mjs")], { encoding: "utf8" });
    expect({ signal, stderr }).toEqual({ signal: "SIGKILL", stderr: "" });
    expect(existsSync(path("killed.db"))).toBe(false);
    expect(filesOf("killed.db")).toContainEqual(expect.stringMatching(/^killed\.db\.partial-index/));
    // A journal would be rolled back into the next import's file.
    expect(filesOf("killed.db")).not.toContainEqual(expect.stringMatching(/index.*-journal$/));
    await importInto("killed.db", { onThreads: true });
    expect(filesOf("killed.db")).toEqual(["killed.db"]);
  });
});
