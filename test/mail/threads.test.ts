import { describe, expect, it } from "vitest";
import { openAddressBook } from "../../src/mail/address-book.js";
import type { FiledEmail } from "../../src/mail/email.js";
import { openMailLookup } from "../../src/mail/mail-lookup.js";
import { openThreads } from "../../src/mail/threads.js";
import type { Db } from "../../src/store/open-store.js";
import { seeded } from "../random.js";
import { shuffled } from "./corpus-setup.js";
import { importFolder, importFrom } from "./import-setup.js";
import { ANN, BEN, CAT, DAN, fill, mail } from "./small-corpus.js";

const { emptyDb, write, path } = importFolder();

/** An email of the n-th day of June 2001, with its id as its text. */
function onDay(n: number, id: string, changes: Partial<FiledEmail> = {}): FiledEmail {
  const date = new Date(Date.UTC(2001, 5, n, 9)).toISOString().replace(".000", "");
  return mail(id, { date, body: `This is the text of the email that is called ${id}.`, ...changes });
}

function filled(...mails: readonly FiledEmail[]): Db {
  const db = emptyDb();
  fill(db, mails);
  return db;
}

/** The ids in each thread of two or more, oldest first. */
function threadsIn(db: Db): string[] {
  const rows = db
    .prepare(
      `SELECT group_concat(substr(message_id, 2, instr(message_id, '@') - 2), ' ' ORDER BY o.date IS NULL, o.position DESC)
       FROM mail_threads t JOIN mail_order o USING (mail_id) JOIN messages x USING (mail_id)
       GROUP BY thread_id ORDER BY max(o.position) DESC`,
    )
    .pluck()
    .all();
  return rows as string[];
}

const mailId = (db: Db, id: string) => openMailLookup(db).get(`<${id}@plains.example>`)?.mailId ?? -1;
const idsOf = (mails: readonly { messageId: string }[]) =>
  mails.map(({ messageId }) => messageId.replace(/^<|@.*$/g, ""));

/** Ben's answer to Ann's email. */
const toAnn = { sender: BEN, to: [ANN] };

describe("threads by subject", () => {
  it.each([
    "Re: Budget",
    "RE: RE: Budget",
    "Fw: Budget",
    "Fwd: Re: budget",
    "AW: Budget",
    "SV: VS: Budget",
    "Re[2]: Budget",
    "Re (3): Budget",
    "Antwort: Budget",
    "[team] Re: Budget",
    "回复：Budget",
    "Budget (fwd)",
    "  re :  Budget ",
  ])("%s continues Budget", (subject) => {
    expect(threadsIn(filled(onDay(1, "a", { subject: "Budget" }), onDay(2, "b", { ...toAnn, subject })))).toEqual([
      "a b",
    ]);
  });

  it.each(["Regarding: Budget", "Re: Budget 2002", "Reply: Budget", "Re Budget"])(
    "%s does not continue Budget",
    (subject) => {
      expect(threadsIn(filled(onDay(1, "a", { subject: "Budget" }), onDay(2, "b", { ...toAnn, subject })))).toEqual([]);
    },
  );

  it("include a forward without a prefix, as Lotus Notes writes it", () => {
    const subject = "Budget";
    expect(threadsIn(filled(onDay(1, "a", { subject }), onDay(9, "b", { sender: BEN, to: [CAT], subject })))).toEqual([
      "a b",
    ]);
  });

  it("separate replies to one subject among different people", () => {
    const subject = "Meeting";
    const mails = [
      onDay(1, "a", { subject }),
      onDay(1, "c", { subject, sender: CAT, to: [DAN] }),
      onDay(2, "b", { ...toAnn, subject: "Re: Meeting" }),
      onDay(2, "d", { sender: DAN, to: [CAT], subject: "Re: Meeting" }),
    ];
    expect(threadsIn(filled(...mails)).sort()).toEqual(["a b", "c d"]);
  });

  it("end after the time window", () => {
    const mails = [onDay(1, "a", { subject: "Budget" }), onDay(100, "b", { ...toAnn, subject: "Re: Budget" })];
    expect(threadsIn(filled(...mails))).toEqual([]);
  });

  it("do not include a repeated subject without a prefix, such as a daily report", () => {
    const mails = [1, 2, 3].map((n) => onDay(n, `report${n}`, { subject: "Daily report" }));
    expect(threadsIn(filled(...mails))).toEqual([]);
  });

  it("include a correction that its sender soon sends under the same subject", () => {
    const corrected = { subject: "Daily report", date: "2001-06-01T15:00:00Z" };
    expect(threadsIn(filled(onDay(1, "a", { subject: "Daily report" }), onDay(1, "b", corrected)))).toEqual(["a b"]);
  });

  it("do not include emails with the same subject among other people", () => {
    const mails = [
      onDay(1, "a", { subject: "Budget" }),
      onDay(2, "b", { sender: CAT, to: [DAN], subject: "Re: Budget" }),
    ];
    expect(threadsIn(filled(...mails))).toEqual([]);
  });

  it("continue the earlier email with most common addresses", () => {
    const mails = [
      onDay(1, "a", { subject: "Introductions", to: [BEN] }),
      onDay(2, "b", { subject: "Introductions", to: [CAT] }),
      onDay(3, "c", { subject: "RE: Introductions", to: [BEN] }),
    ];
    expect(threadsIn(filled(...mails))).toEqual(["a c"]);
  });

  it.each(["Re:", "Fw: Re:"])('join emails with the empty subject "%s" only between the same two people', (subject) => {
    const mails = [
      onDay(1, "a", { subject: "" }),
      onDay(2, "b", { sender: BEN, to: [CAT], subject }),
      onDay(3, "c", { ...toAnn, subject }),
      onDay(4, "d", { ...toAnn, subject: "" }),
    ];
    expect(threadsIn(filled(...mails))).toEqual(["a c"]);
  });

  it("include emails without a date", () => {
    const mails = [
      onDay(1, "a", { subject: "Budget" }),
      onDay(1, "b", { ...toAnn, subject: "Re: Budget", date: null }),
    ];
    expect(threadsIn(filled(...mails))).toEqual(["a b"]);
  });

  it("form in linear time from 10,000 emails with one subject", () => {
    const people = Array.from({ length: 10_000 }, (_, n) =>
      onDay(1, `n${n}`, {
        subject: "Re: Hello",
        sender: `p${n}@x.example`,
        to: [`q${n}@x.example`],
        body: `Hello number ${n} of them all`,
      }),
    );
    const start = process.cpuUsage();
    const half = filled(...people.slice(0, 5_000));
    const halfTime = process.cpuUsage(start).user;
    const again = process.cpuUsage();
    const whole = filled(...people);
    expect(process.cpuUsage(again).user).toBeLessThan(3.5 * halfTime);
    expect([threadsIn(half), threadsIn(whole)]).toEqual([[], []]);
  });
});

describe("threads by references", () => {
  const refers = (...ids: string[]) => ({ references: ids.map((id) => `<${id}@plains.example>`) });

  it("include emails with another subject, other people and any distance in time", () => {
    const mails = [onDay(1, "a", { subject: "Budget" }), onDay(400, "b", { sender: CAT, to: [DAN], ...refers("a") })];
    expect(threadsIn(filled(...mails))).toEqual(["a b"]);
  });

  it("come before the subject", () => {
    const mails = [
      onDay(1, "a", { subject: "Budget" }),
      onDay(1, "b", { subject: "Lunch" }),
      onDay(2, "c", { ...toAnn, subject: "Re: Budget", ...refers("b") }),
    ];
    expect(threadsIn(filled(...mails))).toEqual(["b c"]);
  });

  it("use the closest known email", () => {
    const mails = [onDay(1, "a"), onDay(2, "b"), onDay(3, "c", refers("unknown", "b", "a"))];
    expect(threadsIn(filled(...mails))).toEqual(["b c"]);
  });

  it("join the answers to an email that was not imported", () => {
    expect(threadsIn(filled(onDay(1, "a", refers("lost")), onDay(2, "b", refers("lost"))))).toEqual(["a b"]);
  });

  it("include an original that is dated after its answer", () => {
    expect(threadsIn(filled(onDay(1, "b", refers("a")), onDay(2, "a")))).toEqual(["b a"]);
  });

  it("survive loops", () => {
    const mails = [onDay(1, "a", refers("b")), onDay(1, "b", refers("a")), onDay(1, "c", refers("c"))];
    expect(threadsIn(filled(...mails)).map((ids) => ids.split(" ").sort())).toEqual([["a", "b"]]);
  });
});

describe("the headers In-Reply-To and References", () => {
  const raw = (id: string, headers: string) =>
    `Message-ID: <${id}@plains.example>\nDate: Mon, 14 May 2001 10:00:00 +0000\nFrom: ${ANN}\nTo: ${BEN}\n${headers}Subject: ${id}\n\n${id}\n`;

  async function referencesOf(name: string, headers: string): Promise<string[]> {
    write(`${name}/kim-b/inbox/1.`, raw(name, headers));
    const db = emptyDb();
    await importFrom(db, path(name));
    return db.prepare("SELECT value FROM mail_references, json_each(ids)").pluck().all() as string[];
  }

  it.each([
    ["in-reply-to", "In-Reply-To: <a@x>\n", ["<a@x>"]],
    ["references", "References: <a@x>\n <b@x> <c@x>\n", ["<c@x>", "<b@x>", "<a@x>"]],
    ["both", "In-Reply-To: <b@x>\nReferences: <a@x> <c@x>\n", ["<b@x>", "<c@x>", "<a@x>"]],
    ["words", 'In-Reply-To: Your message of "Mon" <bo@x> <a@x>\n', ["<a@x>"]],
    ["repeated", "References: <a@x> <a@x>\n", ["<a@x>"]],
    ["none", "", []],
    ["no-ids", "In-Reply-To: your call\nReferences: <> a@x\n", []],
  ])("connect emails (case %s)", async (name, headers, ids) => {
    expect(await referencesOf(name, headers)).toEqual(ids);
  });

  it("stop at the 50 closest Message-IDs, even in 8 MB", async () => {
    const ids = Array.from({ length: 400_000 }, (_, n) => `<${n}@x.example>`);
    const read = await referencesOf("huge", `References: ${ids.join(" ")}\n`);
    expect(read).toEqual(ids.slice(-50).reverse());
    expect(await referencesOf("long", `References: <${"x".repeat(2_000_000)}> <a@x>\n`)).toEqual(["<a@x>"]);
  });
});

describe("importing in parts", () => {
  it("results in the same threads as a single import, in any order", () => {
    const random = seeded(7);
    const people = [ANN, BEN, CAT, DAN];
    const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
    const mails = Array.from({ length: 120 }, (_, n) =>
      onDay(1 + Math.floor(random() * 50), `m${n}`, {
        subject: pick(["Budget", "Re: Budget", "Lunch", "RE: Lunch", "", "Fw: Budget"]),
        sender: pick(people),
        to: [pick(people)],
        ...(random() < 0.3 && { references: [`<m${Math.floor(random() * 140)}@plains.example>`] }),
      }),
    );
    const expected = threadsIn(filled(...mails));
    expect(expected.length).toBeGreaterThan(5);
    for (let round = 0; round < 5; round++) {
      const db = emptyDb();
      const order = shuffled(mails, random);
      for (const part of [order.slice(0, 20), order.slice(20, 90), order.slice(90)]) fill(db, part);
      expect(
        threadsIn(db)
          .map((ids) => ids.split(" ").sort())
          .sort(),
      ).toEqual(expected.map((ids) => ids.split(" ").sort()).sort());
    }
  });
});

describe("openThreads", () => {
  const db = filled(
    onDay(1, "a", { subject: "Budget", to: [BEN, CAT] }),
    onDay(2, "b", { ...toAnn, subject: "Re: Budget" }),
    onDay(3, "c", { sender: ANN, to: [CAT], subject: "Re: Budget" }),
    onDay(4, "d", {
      sender: BEN,
      to: [DAN],
      subject: "Fw: Budget",
      body: "FYI\n> This is the text of the email that is called a.",
    }),
    onDay(5, "e", {
      sender: CAT,
      to: [BEN],
      subject: "Re: Budget",
      body: "No.\n> This is the text of the email that is called a.",
    }),
    onDay(6, "f", { sender: CAT, to: [BEN], subject: "Re: Budget" }),
    onDay(7, "g", { sender: DAN, to: [ANN], subject: "Re: Budget" }),
    onDay(8, "alone", { subject: "Lunch" }),
  );
  const threads = openThreads(db);
  const inboxOf = (address: string) => openAddressBook(db).idOf(address) ?? -1;

  it("returns the emails of a thread, oldest first", () => {
    for (const id of ["a", "e", "g"])
      expect(idsOf(threads.visible(mailId(db, id), "all", null)).join("")).toBe("abcdefg");
    expect(idsOf(threads.visible(mailId(db, "alone"), "all", null))).toEqual(["alone"]);
    expect(threads.idOf(mailId(db, "alone"))).toBeNull();
    expect(threads.idOf(mailId(db, "g"))).toBe(mailId(db, "a"));
  });

  it("hides emails in other mailboxes and after the cutoff", () => {
    const visible = (address: string, cutoff: string | null) =>
      idsOf(threads.visible(mailId(db, "a"), inboxOf(address), cutoff)).join("");
    expect(visible(BEN, null)).toBe("abdef");
    expect(visible(CAT, null)).toBe("acef");
    expect(visible(CAT, "2001-06-05T09:00:00Z")).toBe("ac");
    expect(visible(DAN, "2001-06-01T00:00:00Z")).toBe("");
  });
});
