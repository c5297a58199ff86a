import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DANA } from "../runs/demo-setup.js";
import { context, type DemoTools, openDemoTools, type ReadMail } from "./demo-tools.js";

const LONG = "<9104454.1075840737295.JavaMail.demo@kestrel>";
const DUES = "<27689241.1075840308675.JavaMail.demo@kestrel>";
const DUES_COPY = "<29360411.1075840803805.JavaMail.demo@kestrel>";

let demo: DemoTools;
beforeAll(async () => {
  demo = await openDemoTools();
});
afterAll(() => demo.close());

const read = (message_id: string, more = {}) => demo.value<ReadMail>("email_get", { message_id, ...more });

describe("email_get refuses", () => {
  test.each([
    [{}, "message_id"],
    [{ message_id: "" }, "message_id"],
    [{ message_id: 7 }, "message_id"],
    [{ message_id: DUES, offset: -1 }, "offset"],
    [{ message_id: DUES, offset: 1.5 }, "offset"],
    [{ message_id: DUES, page: 2 }, "page"],
    [["<a@b>"], "must be object"],
    ["<a@b>", "must be object"],
  ])("the arguments %j", async (args, what) => {
    const refusal = await demo.refusal("email_get", args);
    expect(refusal.kind).toBe("bad_arguments");
    expect(refusal.error).toContain("email_get was called with arguments that do not fit");
    expect(refusal.error).toContain(what);
  });

  test("an offset behind the body, and says how long that is", async () => {
    const whole = (await read(DUES)).body.length;
    for (const offset of [whole, whole + 1, 1e9]) {
      expect(await demo.refusal("email_get", { message_id: DUES, offset })).toEqual({
        ok: false,
        kind: "bad_arguments",
        error: `The body has ${whole} characters: offset must be below that.`,
      });
    }
  });

  test.each(["<nobody@nowhere>", "nonsense", "<>", "' OR 1=1 --", "\0", "🙂", "%"])("the id %j", async (message_id) => {
    expect((await demo.refusal("email_get", { message_id })).kind).toBe("invalid_email");
  });
});

describe("email_get gives", () => {
  test("a mail whole, recipients included", async () => {
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

  test("cc in its own list", async () => {
    const mail = await demo.value<{ to: string[]; cc: string[] }>("email_get", { message_id: LONG });
    expect(mail.to).toEqual(["priya.raman@kestrelplains.example", "marcus.hale@kestrelplains.example"]);
    expect(mail.cc).toEqual(["joanne.petrosky@kestrelplains.example"]);
  });

  test("the same mail under each of its Message-IDs, by the one that was asked for", async () => {
    const [one, other] = [await read(DUES), await read(DUES_COPY)];
    expect(one.message_id).toBe(DUES);
    expect(other).toEqual({ ...one, message_id: DUES_COPY });
    expect(one.body).toContain("dues are $40");
  });

  test("a mail whose id came without its brackets, or with blanks round it", async () => {
    expect((await read(DUES.slice(1, -1))).message_id).toBe(DUES);
    expect((await read(` ${DUES}\n`)).message_id).toBe(DUES);
  });

  test("a mail by the id of a copy that lies in somebody else's mailbox", async () => {
    // okafor-d/sent/2. and hale-m/inbox/128. are one mail.
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

  test("any imported mail outside a task", async () => {
    const id = "<12224738.1075840196582.JavaMail.demo@kestrel>";
    expect((await demo.refusal("email_get", { message_id: id })).kind).toBe("invalid_email");
    const mail = await demo.value<ReadMail>("email_get", { message_id: id }, { inbox: null });
    expect(mail.body).toContain("standstill");
    expect(await demo.value("email_get", { message_id: id }, { inbox: DANA })).toEqual(mail);
  });
});

describe("a body too long for one page", () => {
  const whole = () => demo.db.prepare("SELECT body FROM emails WHERE message_id = ?").pluck().get(LONG) as string;

  async function pages(pageSize: number): Promise<ReadMail[]> {
    const tool = demo.tool("email_get", JSON.stringify({ pageSize }));
    const pages: ReadMail[] = [];
    for (let offset: number | null = 0; offset !== null; offset = pages.at(-1)?.next_offset ?? null) {
      const result = await tool.call({ message_id: LONG, offset }, context);
      if (!result.ok) throw new Error(result.error);
      pages.push(result.value as unknown as ReadMail);
    }
    return pages;
  }

  test("comes in two, which say so and together are all of it", async () => {
    const body = whole();
    const first = await read(LONG);
    expect(first).toMatchObject({ body_from: 0, body_length: body.length, next_offset: 20_000 });
    const second = await read(LONG, { offset: 20_000 });
    expect(second).toMatchObject({ body_from: 20_000, body_length: body.length, next_offset: null });
    expect(first.body + second.body).toBe(body);
  });

  test.each([1000, 7919, 20_000])("comes in pages of %i that together are all of it", async (size) => {
    const read = await pages(size);
    expect(read).toHaveLength(Math.ceil(whole().length / size));
    expect(read.map((page) => page.body).join("")).toBe(whole());
    expect(read.map((page) => page.body_from)).toEqual(read.map((_, i) => i * size));
  });

  test("comes whole where the page is long enough, without a word of pages", async () => {
    const [page, ...more] = await pages(whole().length);
    expect(more).toEqual([]);
    expect(page?.body).toBe(whole());
    expect(page).not.toHaveProperty("next_offset");
    expect(page).not.toHaveProperty("body_length");
  });

  test("may be begun anywhere", async () => {
    const page = await read(LONG, { offset: 20_001 });
    expect(page).toMatchObject({ body: whole().slice(20_001), body_from: 20_001, next_offset: null });
  });
});

describe("read_email, as ART names it,", () => {
  test("gives the whole mail at once", async () => {
    const mail = await demo.tool("read_email", '{"pageSize": 1000000}').call({ message_id: LONG }, context);
    expect(mail).toMatchObject({ ok: true, value: { message_id: LONG } });
    expect(JSON.stringify(mail)).not.toContain("next_offset");
  });

  test("takes no offset", async () => {
    const refusal = await demo.refusal("read_email", { message_id: LONG, offset: 3 });
    expect(refusal).toMatchObject({ kind: "bad_arguments", error: expect.stringContaining("offset") });
  });
});
