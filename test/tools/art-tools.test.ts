import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Database } from "../../src/store/sqlite.js";
import { importMails, mail } from "../mail/corpus-setup.js";
import { MARCUS, openEmpty } from "../runs/demo-setup.js";
import { context, type DemoTools, openDemoTools, toolsOver } from "./demo-tools.js";

const DUES = "<27689241.1075840308675.JavaMail.demo@kestrel>";
const SEASON = "<14928187.1075840303621.JavaMail.demo@kestrel>";

type Hits = readonly { readonly message_id: string; readonly snippet: string }[];

let demo: DemoTools;
beforeAll(async () => {
  demo = await openDemoTools();
});
afterAll(() => demo.close());

const search = (args: object) => demo.value<Hits>("search_emails", args as never);
const ids = (hits: Hits) => hits.map((hit) => hit.message_id);
const dateOf = (id: string) =>
  demo.db.prepare("SELECT date FROM emails WHERE message_id = ?").pluck().get(id) as string;

describe("unusable arguments of search_emails", () => {
  test.each([
    [{}, "keywords"],
    [{ keywords: [] }, "keywords"],
    [{ keywords: ["a", 1] }, "keywords"],
    [{ keywords: Array.from({ length: 51 }, () => "a") }, "keywords"],
    [{ keywords: ["a"], max_results: 11 }, "<= 10"],
    [{ keywords: ["a"], max_results: 0 }, ">= 1"],
    [{ keywords: ["a"], sent_before: "soon" }, "sent_before"],
    [{ keywords: ["a"], inbox: MARCUS }, '"inbox"'],
  ])("cause an error (%j)", async (args, what) => {
    const refusal = await demo.refusal("search_emails", args as never);
    expect(refusal).toMatchObject({ kind: "bad_arguments", error: expect.stringContaining(what) });
  });

  test("cause a short error immediately if a keyword has a million words", { timeout: 60_000 }, async () => {
    const words = Array.from({ length: 1_000_000 }, (_, i) => `w${i}`).join(" ");
    const refusal = await demo.refusal("search_emails", { keywords: [words] });
    expect(refusal).toMatchObject({ kind: "bad_arguments", error: expect.stringContaining("at most 1000 characters") });
    const unknown = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`argument${i}`, 1]));
    expect((await demo.refusal("search_emails", { keywords: ["a"], ...unknown })).error.length).toBeLessThan(3_000);
  });

  test("cause an error outside a task, because the mailbox is unknown", async () => {
    const refusal = await demo.refusal("search_emails", { keywords: ["a"] }, { inbox: null });
    expect(refusal.kind).toBe("bad_arguments");
  });
});

describe("the results of search_emails", () => {
  test("contain only the message_id and snippet of each email", async () => {
    const hits = await search({ keywords: ["softball", "umpire"] });
    expect(hits).toEqual([{ message_id: DUES, snippet: expect.stringContaining("an <b>umpire</b> fee so dues are") }]);
  });

  test("contain every keyword", async () => {
    expect(ids(await search({ keywords: ["softball", "dues"] }))).toEqual([DUES, SEASON]);
    expect(ids(await search({ keywords: ["softball", "dues", "umpire"] }))).toEqual([DUES]);
    expect(await search({ keywords: ["softball", "zyzzyva"] })).toEqual([]);
  });

  test("come newest first, at most 10", async () => {
    const hits = await search({ keywords: ["gas"] });
    expect(hits).toHaveLength(10);
    const dates = ids(hits).map(dateOf);
    expect(dates).toEqual([...dates].sort().reverse());
    expect(ids(await search({ keywords: ["gas"], max_results: 3 }))).toEqual(ids(hits).slice(0, 3));
    const newest = demo.db
      .prepare("SELECT max(date) FROM emails WHERE inbox = ? AND (' ' || body || ' ') LIKE '% gas %'")
      .pluck()
      .get(MARCUS) as string;
    expect((dates[0] ?? "") >= newest).toBe(true);
  });

  test("contain the words of a keyword next to each other", async () => {
    expect(ids(await search({ keywords: ["umpire fee"] }))).toEqual([DUES]);
    expect(await search({ keywords: ["fee umpire"] })).toEqual([]);
  });

  test("form an empty list if the keywords contain no word", async () => {
    expect(await search({ keywords: ["", "?!"] })).toEqual([]);
  });
});

describe("search_emails as in ART", () => {
  const ann = "ann@x.example";
  const mails = [
    mail({ messageId: "<meeting@t>", body: "The meeting is on Monday.", date: "2001-01-05T00:00:00Z" }),
    mail({ messageId: "<meetings@t>", body: "No more meetings!", date: "2001-01-04T00:00:00Z" }),
    mail({ messageId: "<cafe@t>", subject: "Café meeting, r\u00e9sum\u00e9", date: "2001-01-03T00:00:00Z" }),
    mail({ messageId: "<split@t>", subject: "the project", body: "meeting", date: "2001-01-02T00:00:00Z" }),
    mail({
      messageId: "<filed@t>",
      sender: "x@y",
      to: ["z@y"],
      body: "meeting",
      owner: "ann-x",
      path: "ann-x/inbox/1.",
    }),
    mail({
      messageId: "<sent@t>",
      sender: "q@y",
      to: ["r@y"],
      bcc: [ann],
      body: "a bcc meeting",
      date: "2001-01-01T00:00:00Z",
    }),
    ...Array.from({ length: 60 }, (_, i) =>
      mail({
        messageId: `<s${i}@t>`,
        body: "gasoline pipelines",
        date: `2001-02-01T00:00:${String(i).padStart(2, "0")}Z`,
      }),
    ),
    mail({ messageId: "<pipeline@t>", body: "one pipeline", date: "2001-01-30T00:00:00Z" }),
  ];
  let own: DemoTools;
  beforeAll(async () => {
    const test = openEmpty();
    await importMails(test.db, mails, { ownerMap: new Map([["ann-x", ann]]) });
    own = toolsOver(test);
  });
  afterAll(() => own.close());
  const found = async (...keywords: string[]) =>
    ids(await own.value<Hits>("search_emails", { keywords }, { inbox: ann }));

  test("does not find other forms of a word, without stemming", async () => {
    expect(await found("meetings")).toEqual(["<meetings@t>"]);
    expect(await found("meeting")).toEqual(["<meeting@t>", "<cafe@t>", "<split@t>", "<sent@t>"]);
    expect(await found("MEETING", "Monday")).toEqual(["<meeting@t>"]);
  });

  test("finds a word even if any number of other emails contain only another form of it", async () => {
    expect(await found("pipeline")).toEqual(["<pipeline@t>"]);
    expect(await found("pipelines")).toHaveLength(10);
  });

  test("searches mail from or to the address, but not other filed mail", async () => {
    expect(await own.value<Hits>("search_emails", { keywords: ["bcc"] }, { inbox: ann })).toHaveLength(1);
    expect(await found("meeting")).not.toContain("<filed@t>");
    const { emails } = await own.value<{ emails: Hits }>(
      "email_search",
      { query: "meeting", inbox_id: ann, limit: 50 },
      { inbox: ann },
    );
    expect(ids(emails)).toContain("<filed@t>");
  });

  test("finds a keyword's words together in the subject or in the body, not across both", async () => {
    expect(await found("the meeting")).toEqual(["<meeting@t>"]);
    expect(await found("project meeting")).toEqual([]);
  });

  test("returns the same results as ART's SQL over the same mail, for any keywords", async () => {
    const art = new Database(":memory:");
    art.exec("CREATE VIRTUAL TABLE fts USING fts5(id UNINDEXED, subject, body)");
    const insert = art.prepare("INSERT INTO fts (id, subject, body) VALUES (?, ?, ?)");
    const byDate = [...mails].sort((a, b) => ((a.date ?? "") < (b.date ?? "") ? 1 : -1));
    for (const { messageId, subject, body } of byDate)
      if (messageId !== "<filed@t>") insert.run(messageId, subject, body);
    const select = art.prepare("SELECT id FROM fts WHERE fts MATCH ? ORDER BY rowid LIMIT 10").pluck();
    const words = [
      "meeting",
      "meetings",
      "Meet",
      "monday.",
      "no more",
      "the",
      "pipeline",
      "gasoline",
      "a bcc",
      "on",
      "bo dy",
    ];
    for (const one of words) {
      for (const other of words) {
        const expected = select.all([one, other].map((word) => `"${word}"`).join(" "));
        expect(await found(one, other), `${one}, ${other}`).toEqual(expected);
      }
    }
    art.close();
  });
});

describe("the filters of search_emails", () => {
  test("match only complete addresses and names", async () => {
    const from = async (from_addr: string) => (await search({ keywords: ["merriwell"], from_addr })).length;
    expect(await from("amontero@merriwellgas.example")).toBeGreaterThan(0);
    expect(await from(" AMontero@merriwellgas.example")).toBe(await from("amontero@merriwellgas.example"));
    expect(await from("merriwellgas")).toBe(0);
    const to = await search({ keywords: ["umpire"], to_addr: "priya.raman@kestrelplains.example" });
    expect(ids(to)).toEqual([DUES]);
    expect(await search({ keywords: ["umpire"], to_addr: "priya" })).toEqual([]);
    for (const to_addr of ["Priya Raman", "Raman, Priya", "Priya Raman <priya.raman@kestrelplains.example>"]) {
      expect(ids(await search({ keywords: ["umpire"], to_addr })), to_addr).toEqual([DUES]);
    }
  });

  test("include sent_after, and exclude sent_before", async () => {
    const found = async (days: object) => ids(await search({ keywords: ["umpire"], ...days })).includes(DUES);
    expect(await found({ sent_after: "2000-04-10" })).toBe(true);
    expect(await found({ sent_after: "2000-04-11" })).toBe(false);
    expect(await found({ sent_before: "2000-04-11" })).toBe(true);
    expect(await found({ sent_before: "2000-04-10" })).toBe(false);
  });
});

test("search_emails accepts any strings as keywords", async () => {
  const texts = fc.array(fc.string({ unit: "binary", maxLength: 30 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(texts, async (keywords) => {
      expect((await demo.tool("search_emails").call({ keywords }, context)).ok).toBe(true);
    }),
    { numRuns: 200 },
  );
});
