import { describe, expect, it, test } from "vitest";
import { type Email, formatMail, ownText } from "../../src/mail/email.js";
import { applyArtRules, artFilter as openArtFilter } from "../../src/mail/import/art-filter.js";
import { accountedFor, DEMO, importFolder, importFrom, mailText } from "./import-setup.js";

const mail = {
  messageId: "<1@x>",
  date: "2001-02-03T04:05:06Z",
  sender: "a@x",
  to: ["b@x", "c@x"],
  cc: [],
  bcc: [],
  subject: "Dues",
  body: "One\nTwo",
};

test("formatEmail writes the headers, an empty line and the body, and omits empty lists", () => {
  expect(formatMail(mail)).toBe(
    "Message-ID: <1@x>\nDate: 2001-02-03T04:05:06Z\nFrom: a@x\nTo: b@x, c@x\nSubject: Dues\n\nOne\nTwo",
  );
});

test("formatEmail aligns values on request, and says if the date is missing", () => {
  const [id, date, from] = formatMail({ ...mail, date: null }, 11).split("\n");
  expect([id, date, from]).toEqual(["Message-ID: <1@x>", "Date:       unknown", "From:       a@x"]);
});

it.each([
  ["Yes, at noon.\n\n-----Original Message-----\nFrom: Bo", "Yes, at noon."],
  ["Fine.\n> when?", "Fine."],
  ["On May 1 Bo Kim wrote:\nold", ""],
  ["nothing quoted", "nothing quoted"],
])("ownText of %j returns %j", (body, own) => expect(ownText(body)).toBe(own));

const { emptyDb, path, write } = importFolder();

const MAIL: Email = {
  messageId: "<1@example.com>",
  subject: "Hi",
  sender: "a@example.com",
  to: ["b@example.com"],
  cc: [],
  bcc: [],
  date: null,
  body: "Hello.",
};

/** Applies the rules for single emails, then the rules that depend on previous emails. */
function artFilter() {
  const filter = openArtFilter();
  return (email: Email) => filter(applyArtRules(email));
}

const people = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `p${from + n}@example.com`);

describe("ART's filter", () => {
  it.each([
    [5_000, null],
    [5_001, "long_body"],
  ])("returns for a body of %d characters %s", (length, rule) => {
    expect(artFilter()({ ...MAIL, body: "x".repeat(length) })).toBe(rule);
  });

  it.each([
    [30, null],
    [31, "many_recipients"],
  ])("returns for %d recipients in any field %s", (count, rule) => {
    expect(artFilter()({ ...MAIL, to: people(count) })).toBe(rule);
    const spread = { ...MAIL, to: people(count - 20), cc: people(10, 100), bcc: people(10, 200) };
    expect(artFilter()(spread)).toBe(rule);
  });

  it("counts repeated addresses, such as the bcc addresses, which repeat cc in this mail", () => {
    expect(artFilter()({ ...MAIL, to: people(10), cc: people(10), bcc: people(10) })).toBeNull();
    expect(artFilter()({ ...MAIL, to: people(11), cc: people(10), bcc: people(10) })).toBe("many_recipients");
    const repeated = { beforeBody: "", behindBody: "", recipients: 31 };
    expect(artFilter()({ ...MAIL, asWritten: repeated })).toBe("many_recipients");
  });

  it("measures and compares the original body, including surrounding white space", () => {
    const written = (beforeBody: string, behindBody: string) => ({ beforeBody, behindBody, recipients: 1 });
    const body = "x".repeat(4_990);
    expect(artFilter()({ ...MAIL, body, asWritten: written("\n", "\n".repeat(9)) })).toBeNull();
    expect(artFilter()({ ...MAIL, body, asWritten: written("\n", "\n".repeat(10)) })).toBe("long_body");
    // Code points, like in Python.
    expect(artFilter()({ ...MAIL, body: "\u{1f600}".repeat(5_000) })).toBeNull();
    const filter = artFilter();
    expect(filter(MAIL)).toBeNull();
    expect(filter({ ...MAIL, asWritten: written("", "\n") })).toBeNull();
    expect(filter({ ...MAIL, asWritten: written("", "\n") })).toBe("repeat");
  });

  it("accepts only the first email with the same subject, body and sender, whatever else differs", () => {
    const filter = artFilter();
    expect(filter(MAIL)).toBeNull();
    expect(filter({ ...MAIL, messageId: "<2@example.com>", to: people(3), date: "2001-01-01T00:00:00Z" })).toBe(
      "repeat",
    );
    for (const changed of [{ subject: "Ho" }, { body: "Bye." }, { sender: "c@example.com" }]) {
      expect(filter({ ...MAIL, ...changed })).toBeNull();
    }
  });

  it("separates the end of one field from the start of the next", () => {
    const filter = artFilter();
    expect(filter({ ...MAIL, subject: "a", body: "b,c" })).toBeNull();
    expect(filter({ ...MAIL, subject: "a,b", body: "c" })).toBeNull();
    expect(filter({ ...MAIL, subject: 'a","b', body: "c" })).toBeNull();
  });

  it("does not remember dropped emails as duplicates", () => {
    const filter = artFilter();
    expect(filter({ ...MAIL, to: people(31) })).toBe("many_recipients");
    expect(filter(MAIL)).toBeNull();
  });

  it("returns the first of several rules that drop an email", () => {
    expect(artFilter()({ ...MAIL, to: people(31), body: "x".repeat(5_001) })).toBe("long_body");
  });
});

describe("an import with ART's filter", () => {
  it("stores an email even if its first copy was dropped for its surrounding white space", async () => {
    const header = { From: "a@example.com", To: "b@example.com", Subject: "white space" };
    const text = "x".repeat(4_990);
    write("ends/doe-j/inbox/1.", mailText({ ...header, "Message-ID": "<1@x>" }, `${text}${"\n".repeat(20)}`));
    write("ends/doe-j/inbox/2.", mailText({ ...header, "Message-ID": "<2@x>" }, text));
    const db = emptyDb();
    const { summary } = await importFrom(db, path("ends"), { filter: "art" });
    expect(summary).toMatchObject({ read: 2, stored: 1, dropped: { long_body: 1 } });
    expect(db.prepare("SELECT body FROM emails").pluck().get()).toBe(text);
  });

  it("drops emails according to each rule, and stores the others", async () => {
    const header = { From: "a@example.com", To: "b@example.com" };
    const mails = [
      mailText({ ...header, "Message-ID": "<1@x>", Subject: "short" }),
      mailText({ ...header, "Message-ID": "<2@x>", Subject: "short" }),
      mailText({ ...header, "Message-ID": "<3@x>", Subject: "short" }),
      mailText({ ...header, "Message-ID": "<4@x>", Subject: "at the edge" }, "x".repeat(4_999)),
      mailText({ ...header, "Message-ID": "<5@x>", Subject: "over it" }, "x".repeat(5_000)),
      mailText({ ...header, "Message-ID": "<6@x>", Subject: "thirty", To: people(30).join(", ") }),
      mailText({ ...header, "Message-ID": "<7@x>", Subject: "more", To: people(31).join(", ") }),
      mailText({ ...header, "Message-ID": "<8@x>", Subject: "more", To: people(30).join(", "), Cc: "z@example.com" }),
      mailText({ ...header, "Message-ID": "<9@x>", Subject: "more", Bcc: people(40).join(", ") }),
      "no mail\n",
    ];
    for (const [n, text] of mails.entries()) write(`art/doe-j/inbox/${n}.`, text);
    const db = emptyDb();
    const { summary } = await importFrom(db, path("art"), { filter: "art" });
    expect(summary).toMatchObject({
      read: 10,
      stored: 3,
      dropped: { long_body: 1, many_recipients: 3, repeat: 2 },
      skipped: { mails: 1 },
    });
    expect(accountedFor(summary)).toBe(10);
    const ids = db.prepare("SELECT message_id FROM emails ORDER BY 1").pluck().all();
    expect(ids).toEqual(["<1@x>", "<4@x>", "<6@x>"]);
  });

  it("stores the same demo emails as the rules select from the stored mail", async () => {
    const db = emptyDb();
    const { summary } = await importFrom(db, DEMO, { filter: "art" });
    expect(accountedFor(summary)).toBe(517);
    const whole = emptyDb();
    await importFrom(whole, DEMO);
    const passing = whole
      .prepare(
        `SELECT count(DISTINCT json_array(subject, body, sender)) FROM mails
         WHERE length(body) <= 5000 AND json_array_length(recipients) <= 30`,
      )
      .pluck()
      .get();
    expect(summary.stored).toBe(passing);
    expect(Object.values(summary.dropped ?? {}).every((mails) => mails > 0)).toBe(true);
  });
});
