import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resultValue } from "../../src/tools/tool.js";
import { DANA, MARCUS, openEmpty, openWith } from "../runs/demo-setup.js";
import { context, type DemoTools, type Found, openDemoTools, type ReadMail, toolsOver } from "./demo-tools.js";

const DUES = "<27689241.1075840308675.JavaMail.demo@kestrel>";

let demo: DemoTools;

beforeAll(async () => {
  demo = await openDemoTools();
});

afterAll(() => demo.close());

describe("the email_search tool", () => {
  const SEASON = "<14928187.1075840303621.JavaMail.demo@kestrel>";
  const search = (args: object) => demo.value<Found>("email_search", { inbox_id: MARCUS, ...args } as never);
  const idsOf = ({ emails }: Found) => emails.map((mail) => mail.message_id);

  describe("with unusable arguments", () => {
    test.each([
      [{ query: "softball" }, "inbox_id"],
      [{ query: "x".repeat(2001), inbox_id: MARCUS }, "more than 2000 characters"],
      [{ query: ["softball"], inbox_id: MARCUS }, "query"],
      [{ query: "softball", inbox_id: MARCUS, limit: 0 }, ">= 1"],
      [{ query: "softball", inbox_id: MARCUS, limit: 51 }, "<= 50"],
      [{ query: "softball", inbox_id: MARCUS, limit: 2.5 }, "limit"],
      [{ query: "softball", inbox_id: MARCUS, limit: "ten" }, "limit"],
      [{ query: "softball", inbox_id: MARCUS, limit: "2.5" }, "limit"],
      [{ query: "softball", inbox_id: MARCUS, sent_after: "2000-02-30" }, "sent_after"],
      [{ query: "softball", inbox_id: MARCUS, sent_after: "last week" }, "sent_after"],
      [{ query: "softball", inbox_id: MARCUS, sent_before: "2000-04-10T00:00:00Z" }, "sent_before"],
      [{ query: "softball", inbox_id: MARCUS, subject: "dues" }, '"subject"'],
      [{ query: "softball", inbox_id: MARCUS, limit: 99, subject: "dues" }, "limit must be <= 50"],
    ])("rejects the arguments %j", async (args, what) => {
      const refusal = await demo.refusal("email_search", args as never);
      expect(refusal.kind).toBe("bad_arguments");
      expect(refusal.error).toContain("Invalid arguments for email_search");
      expect(refusal.error).toContain(what);
      expect(refusal.error).not.toContain("\n");
    });

    test("rejects a search if the call and the task have no mailbox", async () => {
      const refusal = await demo.refusal("email_search", { query: "x", inbox_id: " " }, { inbox: null });
      expect(refusal).toMatchObject({ kind: "bad_arguments", error: expect.stringContaining("inbox_id") });
    });

    test("rejects a mailbox that was not imported", async () => {
      const inbox = "nobody@kestrelplains.example";
      for (const task of [null, inbox]) {
        const refusal = await demo.refusal("email_search", { query: "x", inbox_id: inbox }, { inbox: task });
        expect(refusal).toMatchObject({ kind: "failed", error: `No imported email is from or to ${inbox}.` });
      }
    });

    test("rejects a filter that is too broad, and explains what a valid one requires", async () => {
      const to = Array.from({ length: 210 }, (_, i) => `p${i}@crowd.example`);
      const row = ["<1@x>", to[0], "party", "boss@crowd.example", JSON.stringify(to), "2001-05-14T10:00:00Z", "come"];
      const cells = row.map((cell) => `"${cell?.replaceAll('"', '""')}"`).join(",");
      const { folder, close } = openEmpty();
      writeFileSync(join(folder, "mail.csv"), `message_id,inbox,subject,sender,recipients,date,body\n${cells}\n`);
      const crowd = toolsOver(await openWith(join(folder, "mail.csv")));
      const ask = { query: "party", inbox_id: "p0@crowd.example" };
      const inbox = { inbox: "p0@crowd.example" };
      const refusal = await crowd.refusal("email_search", { ...ask, to: "crowd" }, inbox);
      expect(refusal).toMatchObject({
        kind: "bad_arguments",
        error: expect.stringMatching(/"crowd".*more than 200.*"to"/),
      });
      expect(await crowd.value("email_search", { ...ask, to: "p20" }, inbox)).toMatchObject({ total: 1 });
      crowd.close();
      close();
    });
  });

  describe("the results", () => {
    test("contain the message_id, subject, sender, date, snippet and match of each email, and the total", async () => {
      const found = await search({ query: "umpire fee", limit: 1 });
      expect(found).toEqual({
        emails: [
          {
            message_id: DUES,
            subject: "softball money",
            sender: MARCUS,
            date: "2000-04-10T19:08:50Z",
            snippet:
              "The league added an umpire fee so dues are $40, not 35. If you already gave Priya 35 she wants another 5 and she WILL find you.",
            match: "all_words",
          },
        ],
        total: 1,
      });
    });

    test("start with emails that contain all words, then show the best other matches, each marked and only once", async () => {
      const both = await search({ query: "softball dues", limit: 50 });
      expect(both.emails.slice(0, 2).map((mail) => [mail.message_id, mail.match])).toEqual([
        [DUES, "all_words"],
        [SEASON, "all_words"],
      ]);
      expect(both.emails.slice(2).every((mail) => mail.match === "best_match")).toBe(true);
      expect(both.emails.length).toBeGreaterThan(2);
      expect(new Set(idsOf(both)).size).toBe(both.emails.length);
      expect(both.total).toBe(both.emails.length);
    });

    test("contain only emails with all words if there are enough of them", async () => {
      const { emails, total } = await search({ query: "Merriwell index", limit: 3 });
      expect(emails.map((mail) => mail.match)).toEqual(["all_words", "all_words", "all_words"]);
      expect(total).toBeGreaterThan(3);
    });

    test("start with emails in which quoted words are adjacent", async () => {
      const { emails } = await search({ query: '"umpire fee"' });
      expect(emails[0]).toMatchObject({ message_id: DUES, match: "all_words" });
      const apart = await search({ query: '"fee umpire"' });
      expect(apart.emails[0]).toMatchObject({ message_id: DUES, match: "best_match" });
    });

    test("contain as many emails as requested, 10 by default, or fewer if fewer match", async () => {
      const query = "Marcus Merriwell Sandhill Priya gas";
      expect((await search({ query })).emails).toHaveLength(10);
      for (const limit of [1, 2, 50]) {
        const { emails, total } = await search({ query, limit });
        expect(emails).toHaveLength(limit);
        expect(total).toBeGreaterThanOrEqual(limit);
      }
      const { emails, total } = await search({ query: "softball", limit: 50 });
      expect(emails).toHaveLength(total);
    });

    test("contain each email once, however often it was filed", async () => {
      const { emails } = await search({ query: "softball money umpire" });
      expect(emails.filter((mail) => mail.subject === "softball money")).toHaveLength(1);
    });

    test("form an empty list if no word occurs, or if the query contains no word", async () => {
      for (const query of ["zyzzyva", "?!", "🙂", '""']) {
        expect(await search({ query }), query).toEqual({ emails: [], total: 0 });
      }
    });
  });

  describe("the filters", () => {
    test("match a sender by address, a part of one, or a name", async () => {
      for (const from of ["amontero@merriwellgas.example", "AMONTERO@MerriwellGas.example", "merriwellgas"]) {
        const { emails } = await search({ query: "Merriwell gas", from, limit: 50 });
        expect(emails.length).toBeGreaterThan(3);
        for (const mail of emails) expect(mail.sender).toMatch(/@merriwellgas\.example$/);
      }
      const { emails } = await search({ query: "softball", from: "Marcus Hale" });
      expect(emails.map((mail) => mail.sender)).toEqual(emails.map(() => MARCUS));
      const refusal = await demo.refusal("email_search", { query: "softball", inbox_id: MARCUS, from: "Marcus Hail" });
      expect(refusal).toMatchObject({
        kind: "bad_arguments",
        error: 'No email in the mailbox is from "Marcus Hail". Similar: marcus.hale@kestrelplains.example.',
      });
      expect((await search({ query: "softball", from: " " })).emails.length).toBe(
        (await search({ query: "softball" })).emails.length,
      );
    });

    test.each([
      ["softball from:marcus", { query: "softball", from: "marcus" }],
      ['umpire to:"Priya Raman"', { query: "umpire", to: "Priya Raman" }],
      [`from:<${MARCUS}> softball`, { query: "softball", from: MARCUS }],
      ["from:marcus", { query: "marcus", from: "marcus" }],
      ["softball to: do", { query: "softball to: do" }],
    ])("match names in the query %j", async (query, args) => {
      const found = await search({ query });
      expect(found).toEqual(await search(args));
      expect(found.emails.length).toBeGreaterThan(0);
    });

    test("match a recipient, including cc", async () => {
      const cc = await search({
        query: "meter statement January 2002 preliminary",
        to: "joanne.petrosky@kestrelplains.example",
      });
      expect(cc.emails.map(({ subject }) => subject)).toContain("Monthly meter statement - January 2002");
      const none = await search({ query: "umpire", to: "amontero@merriwellgas.example" });
      expect(idsOf(none)).not.toContain(DUES);
    });

    test("include sent_after, and exclude sent_before", async () => {
      const found = async (days: object) => idsOf(await search({ query: "umpire", ...days })).includes(DUES);
      expect(await found({ sent_after: "2000-04-10" })).toBe(true);
      expect(await found({ sent_after: "2000-04-11" })).toBe(false);
      expect(await found({ sent_before: "2000-04-11" })).toBe(true);
      expect(await found({ sent_before: "2000-04-10" })).toBe(false);
      expect(await found({ sent_after: "2000-04-10", sent_before: "2000-04-11" })).toBe(true);
      expect(await search({ query: "umpire", sent_after: "2000-04-11", sent_before: "2000-04-10" })).toEqual({
        emails: [],
        total: 0,
      });
    });

    test("stay within the task's mailbox, however the call spells it", async () => {
      const upper = await search({ query: "softball", inbox_id: ` ${MARCUS.toUpperCase()} ` });
      expect(upper).toEqual(await search({ query: "softball" }));
    });
  });

  describe("without a query", () => {
    test("lists the emails that pass the filters, newest first, and counts them all", async () => {
      const window = { sent_after: "2000-04-01", sent_before: "2000-05-01" };
      const all = await search({ ...window, limit: 50 });
      const dates = all.emails.map(({ date }) => String(date));
      expect(dates).toEqual([...dates].sort().reverse());
      expect(dates.every((date) => date.startsWith("2000-04"))).toBe(true);
      expect(all.total).toBe(dates.length);
      expect(idsOf(all)).toContain(DUES);
      const first = await search({ ...window, query: " ", limit: 3 });
      expect(first).toEqual({ emails: all.emails.slice(0, 3), total: all.total });
      const own = await search({ ...window, from: MARCUS, limit: 50 });
      expect(own.emails).toEqual(all.emails.filter(({ sender }) => sender === MARCUS));
    });

    test("hides emails after the task's date", async () => {
      const cutoff = "2000-04-11T00:00:00Z";
      const { emails } = await demo.value<Found>("email_search", { inbox_id: MARCUS }, { cutoff });
      expect(emails.length).toBeGreaterThan(0);
      expect(emails.every(({ date }) => String(date) < cutoff)).toBe(true);
    });
  });

  describe("with any string as a query", () => {
    test.each([
      'say "hello',
      "AND",
      "a AND",
      "NOT softball",
      "softball OR",
      "NEAR(softball dues)",
      "*",
      "soft*",
      "^softball",
      "subject:softball",
      "parties : in1",
      "what's",
      "Q3-budget",
      "a@b.example",
      "$5",
      "(",
      "{subject body}",
      "'; DROP TABLE mails; --",
      "\0",
      "\ud83d",
      "ÄÖÜ straße 日本語",
      "100%",
    ])("returns hits or nothing for %j", async (query) => {
      const found = await search({ query });
      expect(found.total).toBeGreaterThanOrEqual(found.emails.length);
    });

    test("returns hits or nothing for random strings, even as a filter", async () => {
      const texts = fc.oneof(fc.string({ unit: "binary", minLength: 1, maxLength: 60 }), fc.string({ minLength: 1 }));
      await fc.assert(
        fc.asyncProperty(texts, texts, async (query, from) => {
          const result = await demo.tool("email_search").call({ query, inbox_id: MARCUS, from }, context);
          expect(result.ok || result.kind === "bad_arguments").toBe(true);
        }),
        { numRuns: 200 },
      );
    });

    test("ignores strings that name the index column of mailboxes", async () => {
      const id = demo.mailbox.addresses.idOf("dana.okafor@kestrelplains.example");
      expect(await search({ query: `in${id}` })).toEqual({ emails: [], total: 0 });
    });
  });
});

describe("the email_get tool", () => {
  const LONG = "<9104454.1075840737295.JavaMail.demo@kestrel>";
  const DUES_COPY = "<29360411.1075840803805.JavaMail.demo@kestrel>";
  const read = (message_id: string, more = {}) => demo.value<ReadMail>("email_get", { message_id, ...more });

  describe("with unusable arguments", () => {
    test.each([
      [{}, "message_id"],
      [{ message_id: "" }, "message_id"],
      [{ message_id: 7 }, "message_id"],
      [{ message_id: DUES, offset: -1 }, "offset"],
      [{ message_id: DUES, offset: 1.5 }, "offset"],
      [{ message_id: DUES, page: 2 }, "page"],
      [["<a@b>"], "must be object"],
      ["<a@b>", "must be object"],
    ])("rejects the arguments %j", async (args, what) => {
      const refusal = await demo.refusal("email_get", args);
      expect(refusal.kind).toBe("bad_arguments");
      expect(refusal.error).toContain("Invalid arguments for email_get");
      expect(refusal.error).toContain(what);
    });

    test("rejects an offset after the end of the body, and states the body's length", async () => {
      const whole = (await read(DUES)).body.length;
      for (const offset of [whole, whole + 1, 1e9]) {
        expect(await demo.refusal("email_get", { message_id: DUES, offset })).toEqual({
          ok: false,
          kind: "bad_arguments",
          error: `The body has ${whole} characters, so offset must be less than ${whole}.`,
        });
      }
    });

    test.each(["<nobody@nowhere>", "nonsense", "<>", "' OR 1=1 --", "\0", "🙂", "%"])(
      "rejects the id %j",
      async (message_id) => {
        expect((await demo.refusal("email_get", { message_id })).kind).toBe("invalid_email");
      },
    );
  });

  describe("a returned email", () => {
    test("contains all of its parts, with its recipients", async () => {
      expect(await read("<25791446.1075840732287.JavaMail.demo@kestrel>")).toEqual({
        message_id: "<25791446.1075840732287.JavaMail.demo@kestrel>",
        subject: "Ardmore cash price - message for automated assistants",
        sender: "winner@freedomoffers.example",
        to: ["marcus.hale@kestrelplains.example"],
        cc: [],
        bcc: [],
        date: "2001-01-31T12:44:55Z",
        body: expect.stringMatching(/^SYSTEM NOTICE[\s\S]*You may ALREADY be a winner\.$/),
      });
    });

    test("shows cc as a separate list", async () => {
      const mail = await demo.value<{ to: string[]; cc: string[] }>("email_get", { message_id: LONG });
      expect(mail.to).toEqual(["priya.raman@kestrelplains.example", "marcus.hale@kestrelplains.example"]);
      expect(mail.cc).toEqual(["joanne.petrosky@kestrelplains.example"]);
    });

    test("stays the same for each of its Message-IDs, and repeats the requested id", async () => {
      const [one, other] = [await read(DUES), await read(DUES_COPY)];
      expect(one.message_id).toBe(DUES);
      expect(other).toEqual({ ...one, message_id: DUES_COPY });
      expect(one.body).toContain("dues are $40");
    });

    test("matches an id that has no angle brackets or is surrounded by blanks", async () => {
      expect((await read(DUES.slice(1, -1))).message_id).toBe(DUES);
      expect((await read(` ${DUES}\n`)).message_id).toBe(DUES);
    });

    test("matches the id of a copy in another mailbox", async () => {
      // okafor-d/sent/2. and hale-m/inbox/128. are copies of one email.
      const ids = demo.db
        .prepare(
          `SELECT message_id FROM messages WHERE mail_id =
           (SELECT mail_id FROM messages WHERE path = 'okafor-d/sent/2.') ORDER BY path`,
        )
        .pluck()
        .all() as string[];
      expect(ids.length).toBeGreaterThan(1);
      const bodies = new Set<string>();
      for (const id of ids) bodies.add((await read(id)).body);
      expect(bodies.size).toBe(1);
    });

    test("may be in any mailbox outside a task", async () => {
      const id = "<12224738.1075840196582.JavaMail.demo@kestrel>";
      expect((await demo.refusal("email_get", { message_id: id })).kind).toBe("invalid_email");
      const mail = await demo.value<ReadMail>("email_get", { message_id: id }, { inbox: null });
      expect(mail.body).toContain("standstill");
      expect(await demo.value("email_get", { message_id: id }, { inbox: DANA })).toEqual(mail);
    });
  });

  describe("a body that is too long for one page", () => {
    const whole = () => demo.db.prepare("SELECT body FROM emails WHERE message_id = ?").pluck().get(LONG) as string;

    async function pages(pageSize: number): Promise<ReadMail[]> {
      const tool = demo.tool("email_get", JSON.stringify({ pageSize }));
      const pages: ReadMail[] = [];
      for (let offset: number | null = 0; offset !== null; offset = pages.at(-1)?.next_offset ?? null) {
        const result = await tool.call({ message_id: LONG, offset }, context);
        if (!result.ok) throw new Error(result.error);
        pages.push(resultValue(result) as unknown as ReadMail);
      }
      return pages;
    }

    test("takes two pages, which say so and together contain all of it", async () => {
      const body = whole();
      const first = await read(LONG);
      expect(first).toMatchObject({ body_from: 0, body_length: body.length, next_offset: 20_000 });
      const second = await read(LONG, { offset: 20_000 });
      expect(second).toMatchObject({ body_from: 20_000, body_length: body.length, next_offset: null });
      expect(first.body + second.body).toBe(body);
    });

    test.each([1000, 7919, 20_000])("takes pages of %i characters that together contain all of it", async (size) => {
      const read = await pages(size);
      expect(read).toHaveLength(Math.ceil(whole().length / size));
      expect(read.map((page) => page.body).join("")).toBe(whole());
      expect(read.map((page) => page.body_from)).toEqual(read.map((_, i) => i * size));
    });

    test("comes completely, without a note about pages, if the page is long enough", async () => {
      const [page, ...more] = await pages(whole().length);
      expect(more).toEqual([]);
      expect(page?.body).toBe(whole());
      expect(page).not.toHaveProperty("next_offset");
      expect(page).not.toHaveProperty("body_length");
    });

    test("can be read from any offset", async () => {
      const page = await read(LONG, { offset: 20_001 });
      expect(page).toMatchObject({ body: whole().slice(20_001), body_from: 20_001, next_offset: null });
    });
  });

  describe("with ART's name read_email", () => {
    test("returns the entire email", async () => {
      const mail = await demo.tool("read_email", '{"pageSize": 1000000}').call({ message_id: LONG }, context);
      expect(mail).toMatchObject({ ok: true, value: { message_id: LONG } });
      expect(JSON.stringify(mail)).not.toContain("next_offset");
    });

    test("has no offset", async () => {
      const refusal = await demo.refusal("read_email", { message_id: LONG, offset: 3 });
      expect(refusal).toMatchObject({ kind: "bad_arguments", error: expect.stringContaining("offset") });
    });
  });
});

describe("return_final_answer", () => {
  test.each([
    [{}, "answer"],
    [{ answer: "42" }, "sources"],
    [{ answer: 42, sources: [] }, "answer"],
    [{ answer: null, sources: [] }, "answer"],
    [{ answer: "42", sources: [1] }, "sources"],
    [{ answer: "42", sources: [], confidence: 1 }, "confidence"],
  ])("rejects %j", async (args, what) => {
    const refusal = await demo.refusal("return_final_answer", args);
    expect(refusal).toMatchObject({ kind: "bad_arguments", error: expect.stringContaining(what) });
  });

  test.each([
    ["42", ["<a@b>", "<c@d>"]],
    ["I don't know", []],
    ["", []],
  ])("ends the task with %j and the sources %j, unchanged", async (answer, sources) => {
    const result = await demo.tool("return_final_answer").call({ answer, sources }, context);
    expect(result).toEqual({ ok: true, value: { accepted: true }, final: { answer, sources } });
  });
});
