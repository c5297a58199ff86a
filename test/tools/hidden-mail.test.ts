import { rmSync, symlinkSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, test, vi } from "vitest";
import { endOfDay } from "../../src/mail/date-range.js";
import { openReadOnly } from "../../src/store/open-store.js";
import { loadTools } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { SearchPool } from "../../src/tools/search-pool.js";
import { resultValue, type ToolContext, type ToolResult } from "../../src/tools/tool.js";
import { DANA, MARCUS, openDemo, type TestDb } from "../runs/demo-setup.js";
import { type DemoTools, type Found, openDemoTools, type ReadMail } from "./demo-tools.js";

describe("hidden mail", () => {
  /** From Dana to an external lawyer. Marcus never received it. */
  const DANAS = "<12224738.1075840196582.JavaMail.demo@kestrel>";
  /** To Marcus and others, 2002-02-11T23:15:55Z. */
  const RATIO = "<15512517.1075840196361.JavaMail.demo@kestrel>";
  const RATIO_DAY = "2002-02-11";
  /** To Marcus, dated 2044. */
  const FAX = "<12687150.1075840731991.JavaMail.demo@kestrel>";
  let demo: DemoTools;

  beforeAll(async () => {
    demo = await openDemoTools();
  });

  afterAll(() => demo.close());

  const cutoff = (day: string) => ({ cutoff: endOfDay(day) });
  const ids = (found: Found) => found.emails.map((mail) => mail.message_id);

  const find = (query: string, context = {}) =>
    demo.value<Found>("email_search", { query, inbox_id: MARCUS, limit: 50 }, context);

  const findArt = (keyword: string, context = {}) =>
    demo.value<{ message_id: string }[]>("search_emails", { keywords: [keyword] }, context);

  const read = (message_id: string, context = {}) => demo.value<ReadMail>("email_get", { message_id }, context);

  describe("another mailbox", () => {
    test("stays out of the search, and the error names the permitted one", async () => {
      const refusal = await demo.refusal("email_search", { query: "standstill", inbox_id: DANA });
      expect(refusal.kind).toBe("bad_arguments");
      expect(refusal.error).toBe(
        `You may search only the mailbox ${MARCUS}, not ${DANA}. Call again with inbox_id "${MARCUS}".`,
      );
    });

    test("causes the same error whether or not it exists", async () => {
      const ask = async (inbox_id: string) => (await demo.refusal("email_search", { query: "x", inbox_id })).error;
      const invented = "nobody@nowhere.example";
      expect((await ask(invented)).replace(invented, "?")).toBe((await ask(DANA)).replace(DANA, "?"));
    });

    test("stays out of a search of the task's own mailbox", async () => {
      const own = new Set(
        demo.db
          .prepare(
            `SELECT message_id FROM messages WHERE mail_id IN
             (SELECT x.mail_id FROM emails e JOIN messages x USING (message_id)
              WHERE @who IN (e.inbox, e.sender) OR instr(e.recipients, '"' || @who || '"') > 0)`,
          )
          .pluck()
          .all({ who: MARCUS }) as string[],
      );
      expect(own.size).toBeGreaterThan(219);
      for (const query of ["Heron standstill data room Adler", "Dana contract", "gas", "lease Fulton", "0.62"]) {
        const found = ids(await find(query));
        expect(found.length, query).toBeGreaterThan(0);
        expect(found.filter((id) => !own.has(id))).toEqual([]);
      }
      expect(ids(await find("standstill"))).not.toContain(DANAS);
      const hers = await demo.value<Found>("email_search", { query: "standstill", inbox_id: DANA }, { inbox: DANA });
      expect(ids(hers)).toContain(DANAS);
    });

    test("cannot be read with email_get, which returns the same message as for a missing email", async () => {
      const invented = "<1.1.JavaMail.nobody@kestrel>";
      const hidden = await demo.refusal("email_get", { message_id: DANAS });
      const missing = await demo.refusal("email_get", { message_id: invented });
      expect(hidden.kind).toBe("invalid_email");
      expect(hidden.error).toContain("Use a message_id from a search result");
      expect(hidden.error.replace(DANAS, "?")).toBe(missing.error.replace(invented, "?"));
      expect(hidden.kind).toBe(missing.kind);
      expect((await demo.refusal("read_email", { message_id: DANAS })).error).toBe(hidden.error);
    });

    test("does not reveal the length of hidden mail, whatever the offset", async () => {
      const refusals = await Promise.all(
        [0, 1, 100_000].map((offset) => demo.refusal("email_get", { message_id: DANAS, offset })),
      );
      expect(new Set(refusals.map((refusal) => refusal.error)).size).toBe(1);
    });
  });

  describe("mail after the cutoff", () => {
    test("stays out of hits and counts", async () => {
      for (const day of ["2002-02-10", "2002-02-05"]) {
        expect(ids(await find("Heron exchange ratio collar", cutoff(day)))).not.toContain(RATIO);
        expect((await findArt("collar", cutoff(day))).map((hit) => hit.message_id)).not.toContain(RATIO);
      }
      const [before, after] = [await find("exchange ratio", cutoff("2002-02-10")), await find("exchange ratio")];
      expect(after.total).toBeGreaterThan(before.total);
      expect(before.total).toBe(before.emails.length);
    });

    test("causes the same error as a missing email", async () => {
      const invented = "<1.1.JavaMail.nobody@kestrel>";
      const hidden = await demo.refusal("email_get", { message_id: RATIO }, cutoff("2002-02-10"));
      const missing = await demo.refusal("email_get", { message_id: invented }, cutoff("2002-02-10"));
      expect(hidden.kind).toBe("invalid_email");
      expect(hidden.error).toContain(`${MARCUS} up to 2002-02-10`);
      expect(hidden.error.replace(RATIO, "?")).toBe(missing.error.replace(invented, "?"));
    });

    test("stays hidden even if later dates are requested", async () => {
      const later = { sent_after: RATIO_DAY, sent_before: "2045-01-01" };
      const found = await demo.value<Found>(
        "email_search",
        { query: "exchange ratio fax", inbox_id: MARCUS, ...later },
        cutoff("2002-02-10"),
      );
      expect(found).toEqual({ emails: [], total: 0 });
    });

    test.each([
      ["before the cutoff", "2002-02-10", RATIO_DAY],
      ["on the day of the cutoff", RATIO_DAY, RATIO_DAY],
      ["after the cutoff", RATIO_DAY, "2045-01-01"],
      ["after the cutoff, in a search for later mail", "2002-02-10", "2045-01-01"],
    ])("stays hidden by both the cutoff and sent_before %s", async (_where, day, sent_before) => {
      const dated = (found: readonly string[]) =>
        found.map((id) => demo.db.prepare("SELECT date FROM emails WHERE message_id = ?").pluck().get(id) as string);
      const earlier = [endOfDay(day), `${sent_before}T00:00:00Z`].sort()[0] as string;
      const args = { query: "exchange ratio", inbox_id: MARCUS, limit: 50, sent_before };
      const best = ids(await demo.value<Found>("email_search", args, cutoff(day)));
      const art = await demo.value<{ message_id: string }[]>(
        "search_emails",
        { keywords: ["ratio"], sent_before },
        cutoff(day),
      );
      const dates = dated([...best, ...art.map((hit) => hit.message_id)]);
      expect(dates.length).toBeGreaterThan(0);
      expect(dates.filter((date) => date >= earlier)).toEqual([]);
      // The email is visible if neither limit hides it.
      expect(best.includes(RATIO)).toBe(earlier > "2002-02-11T23:15:55Z");
    });

    test("starts after the query date, whose last second in UTC is still visible", async () => {
      expect(ids(await find("exchange ratio", cutoff(RATIO_DAY)))).toContain(RATIO);
      expect((await read(RATIO, cutoff(RATIO_DAY))).body).toContain("0.62");
      expect((await read(RATIO, { cutoff: "2002-02-11T23:15:56Z" })).body).toContain("0.62");
      expect((await demo.refusal("email_get", { message_id: RATIO }, { cutoff: "2002-02-11T23:15:55Z" })).kind).toBe(
        "invalid_email",
      );
    });

    test("includes a fax from the year 2044, according to its wrong clock", async () => {
      expect(ids(await find("fax test", cutoff("2002-03-01")))).not.toContain(FAX);
      expect((await demo.refusal("email_get", { message_id: FAX }, cutoff("2002-03-01"))).kind).toBe("invalid_email");
    });

    test("appears if the cutoff is off", async () => {
      expect(ids(await find("Heron exchange ratio collar"))).toContain(RATIO);
      expect((await findArt("collar")).map((hit) => hit.message_id)).toContain(RATIO);
      expect((await read(RATIO)).body).toContain("0.62");
      expect((await read(FAX)).body).toContain("2044");
    });
  });

  describe("undated mail", () => {
    test("stays hidden if there is a cutoff, and otherwise appears", async () => {
      const undated = await openDemoTools();
      const id = "<27689241.1075840308675.JavaMail.demo@kestrel>";
      undated.db.exec(`UPDATE mails SET date = NULL WHERE id = (SELECT mail_id FROM messages WHERE message_id = '${id}');
      UPDATE mail_order SET date = NULL WHERE mail_id = (SELECT mail_id FROM messages WHERE message_id = '${id}')`);
      const until = cutoff("2044-12-31");
      expect((await undated.refusal("email_get", { message_id: id }, until)).kind).toBe("invalid_email");
      expect(await undated.value<ReadMail>("email_get", { message_id: id })).toMatchObject({ date: null });
      undated.close();
    });
  });
});

describe("the search pool", () => {
  let test: TestDb;
  let threads: SearchPool;

  beforeAll(async () => {
    test = await openDemo();
    threads = new SearchPool(test.db.name, 1);
  });

  afterAll(async () => {
    await threads.close();
    test.close();
  });

  const context: ToolContext = { inbox: MARCUS, cutoff: null, signal: new AbortController().signal };
  const search = (query: string) => threads.call("email_search", { query, limit: 10 }, context, {});

  const listed = (result: ToolResult) => {
    if (!result.ok) throw new Error(result.error);
    const { emails } = resultValue(result) as { emails: { message_id: string }[] };
    return emails.map((mail) => mail.message_id);
  };

  it("returns the same hits as a search in this thread", async () => {
    const { search: here, addresses } = openMailbox(test.db);
    const query = { fromIds: null, toIds: null, period: { after: null, before: null }, limit: 10, askedAt: null };
    const { hits } = here.bestFirst({ ...query, words: "contract draft", inboxId: addresses.idOf(MARCUS) });
    expect(hits.length).toBeGreaterThan(3);
    expect(listed(await search("contract draft"))).toEqual(hits.map((hit) => hit.messageId));
  });

  it("returns equal hits from each of several threads", async () => {
    const several = new SearchPool(test.db.name, 3);
    const words = ["contract", "draft", "meeting", "contract draft", "meeting", "contract"];
    const ask = (query: string) => several.call("email_search", { query, limit: 10 }, context, {});
    const together = await Promise.all(words.map(ask));
    for (const [i, query] of words.entries()) expect(together[i]).toEqual(await search(query));
    await several.close();
  });

  it("serves all who open the same file, by any path, until each has closed it", async () => {
    const link = `${test.db.name}.link`;
    symlinkSync(test.db.name, link);
    const linked = openReadOnly(link);
    const pools = [SearchPool.open(test.db, 1), SearchPool.open(linked, 1)];
    expect(pools[1]).toBe(pools[0]);
    const find = (pool?: SearchPool) => pool?.call("email_search", { query: "contract", limit: 10 }, context, {});
    await pools[0]?.close();
    expect(await find(pools[1])).toEqual(await search("contract"));
    await pools[1]?.close();
    await expect(find(pools[1])).rejects.toThrow();
    const next = SearchPool.open(test.db, 1);
    expect(await find(next)).toEqual(await search("contract"));
    await next?.close();
    linked.close();
    rmSync(link);
  });

  it("serves the search tools of an agent, with the same results as without threads", async () => {
    const calls = vi.spyOn(threads, "call");
    const args = { query: "contract draft", inbox_id: MARCUS };
    const resultWith = async (searchThreads?: SearchPool) => {
      const tools = loadTools(test.db, "baseline", { mailbox: openMailbox(test.db), searchThreads });
      const result = await tools.find(({ id }) => id === "email_search")?.call(args, context);
      return listed(result as ToolResult);
    };
    const here = await resultWith();
    expect(here.length).toBeGreaterThan(3);
    expect(calls).not.toHaveBeenCalled();
    expect(await resultWith(threads)).toEqual(here);
    expect(calls).toHaveBeenCalledOnce();
    calls.mockRestore();
  });

  it("does not start for the little mail of the demo", () => {
    expect(SearchPool.open(test.db)).toBeUndefined();
  });

  it("sees mail that another connection imported", async () => {
    const first = async () => JSON.stringify(await search("contract"));
    const [id = ""] = listed(await search("contract"));
    expect(await first()).not.toContain("Changed meanwhile");
    const change = test.db.prepare(
      "UPDATE mails SET subject = ? WHERE id = (SELECT mail_id FROM messages WHERE message_id = ?)",
    );
    change.run("Changed meanwhile", id);
    test.db.prepare("UPDATE corpus_state SET fingerprint = 'changed'").run();
    expect(await first()).toContain("Changed meanwhile");
  });

  it("rejects a call for an unknown mail handler, and continues", async () => {
    await expect(threads.call("execute_python", {}, context, {})).rejects.toThrow("is not a search handler");
    expect(listed(await search("contract")).length).toBeGreaterThan(0);
  });
});
