import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { explainSearch, getMail, searchIn, searchMailbox } from "../../src/tools/search-mailbox.js";
import { MARCUS, openDemo, type TestDb } from "../runs/demo-setup.js";

let demo: TestDb;
beforeAll(async () => {
  demo = await openDemo();
});
afterAll(() => demo.close());

type Options = Parameters<typeof searchIn>[1];

/** Returns the found emails. The two orders have results of different form. */
const search = async (changes: Partial<Options> = {}) => {
  const options: Options = { inbox_address: MARCUS, words: ["gas"], limit: 10, order: "best", ...changes };
  const found = (await searchIn(demo.db, options)) as { message_id: string }[] | { emails: { message_id: string }[] };
  return (Array.isArray(found) ? found : found.emails).map(({ message_id: id }) => getMail(demo.db, id));
};

describe("searchIn", () => {
  it.each([
    ["best", 3, 3],
    ["best", 30, 30],
    ["newest", 3, 3],
    ["newest", 30, 10],
  ] as const)("returns the %s emails up to %i (%i)", async (order, limit, expected) => {
    expect(await search({ order, limit })).toHaveLength(expected);
  });

  it("returns the newest emails first on request", async () => {
    const dates = (await search({ order: "newest" })).map(({ date }) => String(date));
    expect(dates).toEqual([...dates].sort().reverse());
  });

  it("applies typed operators in both orders", async () => {
    for (const order of ["best", "newest"] as const) {
      const emails = await search({ order, words: ["gas", "from:dana.okafor@kestrelplains.example"] });
      expect(emails.length).toBeGreaterThan(0);
      expect(new Set(emails.map(({ sender }) => sender))).toEqual(new Set(["dana.okafor@kestrelplains.example"]));
    }
  });

  it("hides mail after the end of the cutoff date", async () => {
    const [newest] = await search({ order: "newest", limit: 1 });
    const date = String(newest?.date).slice(0, 10);
    const includes = async (cutoff: string) =>
      (await search({ order: "newest", cutoff })).some(({ messageId }) => messageId === newest?.messageId);
    expect(await includes(date)).toBe(true);
    expect(await includes("2000-01-01")).toBe(false);
  });

  it("lists the newest emails if there are no words", async () => {
    const listed = await search({ words: [], limit: 50 });
    expect(listed).toHaveLength(50);
    expect(await search({ order: "newest", words: [], limit: 50 })).toEqual(listed);
    const dates = listed.map(({ date }) => String(date));
    expect(dates).toEqual([...dates].sort().reverse());
  });

  it("rejects arguments that an agent's call could not have", async () => {
    await expect(search({ after: "yesterday" })).rejects.toMatchObject({ code: "search_refused" });
  });
});

describe("searchMailbox", () => {
  it.each([
    [["gas"], false],
    [[], true],
  ])("returns the hits of searchIn, and whether they only list the mailbox (%j)", async (words, isListing) => {
    const options = { words, limit: 3, order: "best" } as const;
    const value = await searchIn(demo.db, { ...options, inbox_address: MARCUS });
    const found = await searchMailbox({ ...options, mailbox: MARCUS }, { db: demo.db.name } as never);
    expect(found).toEqual({ value, isListing });
  });
});

describe("getMail", () => {
  it("returns an email by its Message-ID, or says how to find one", async () => {
    const [first] = await search();
    expect(getMail(demo.db, first?.messageId ?? "")).toEqual(first);
    expect(() => getMail(demo.db, "<nobody@x>")).toThrow("Unknown email <nobody@x>");
  });
});

describe("explainSearch", () => {
  it("rejects the order without scores", () => {
    const options = { mailbox: MARCUS, words: ["gas"], limit: 10, order: "newest" } as const;
    expect(() => explainSearch(options, { db: demo.db.name } as never)).toThrow("--explain cannot be combined");
  });
});
