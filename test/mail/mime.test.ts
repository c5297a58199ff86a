import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Email } from "../../src/mail/email.js";
import { calendarText } from "../../src/mail/mime/calendar.js";
import { splitMessage, withLineFeeds } from "../../src/mail/mime/email-fields.js";
import { isoSeconds, parseIsoDate, parseMailDate } from "../../src/mail/mime/mail-date.js";
import { MAX_MAIL_BYTES, parseEmail } from "../../src/mail/mime/parse-email.js";
import { fixtureMails } from "./mutilate.js";

async function parsed(raw: string | Buffer): Promise<Email> {
  const email = await parseEmail(Buffer.isBuffer(raw) ? raw : Buffer.from(raw));
  if (typeof email === "string") throw new Error(email);
  return email;
}

describe("addressesOf", () => {
  const addressesOf = async (field: string) => (await parsed(`Subject: x\nTo: ${field}\n\n`)).to;

  it.each([
    ["nothing", ""],
    ["an empty address", "<>"],
    ["an empty group", "undisclosed-recipients:;"],
    ["commas", " , ,"],
    ["a lone quote", '"'],
  ])("returns an empty list for %s", async (_what, field) => {
    expect(await addressesOf(field)).toEqual([]);
  });

  it.each([
    ["a list", "a@example.com, b@example.com,\tc@example.com", ["a@example.com", "b@example.com", "c@example.com"]],
    [
      "addresses in capitals, and repeated ones",
      "A@Example.com, b@example.com, a@EXAMPLE.com",
      ["a@example.com", "b@example.com"],
    ],
    [
      "display names",
      '"Cedar, Leo" <leo@example.com>, Mia Alder <mia@example.com>',
      ["leo@example.com", "mia@example.com"],
    ],
    ["addresses separated only by white space", "a@x b@y, c@z\td@z", ["a@x", "b@y", "c@z", "d@z"]],
    ["addresses separated by words", "Mia mia@x Leo Elm leo@y", ["mia@x", "leo@y"]],
    ["addresses in brackets, without commas", 'A <a@x> B <b@y> "C, D" <c@z>', ["a@x", "b@y", "c@z"]],
    ["brackets side by side", "<a@x><b@y>", ["a@x", "b@y"]],
    ["addresses with comments, without commas", "a@x (Mia, c@x) b@y (Leo)", ["a@x", "b@y"]],
    ["addresses as display names", "a@x b@x <c@y>, 'd@y' <d@y>, \"e@x f@x\" g@y", ["c@y", "d@y", "g@y"]],
    [
      "a group",
      "Team: a@example.com, B <b@example.com>;, c@example.com",
      ["a@example.com", "b@example.com", "c@example.com"],
    ],
    ["dots in a row", "k..allen@example.com", ["k..allen@example.com"]],
    ["a leading dot after a name", "legal <.hall@example.com>", [".hall@example.com"]],
    ["an apostrophe", "p..o'neil@example.com", ["p..o'neil@example.com"]],
    ["a quoted apostrophe in the local part", "'.'jan@example.com", ["'.'jan@example.com"]],
    [
      "quotes around an entire address",
      "'pat@example.com', \"sam@example.com\"",
      ["pat@example.com", "sam@example.com"],
    ],
    ["a quoted local part", '"kirk.(e-mail)"@example.com', ["kirk.(e-mail)@example.com"]],
    ["a quoted local part in brackets", '<"kirk.(e-mail)"@example.com>', ["kirk.(e-mail)@example.com"]],
    ["a local part in brackets without its quotes", "kirk.(e-mail)@example.com", ["kirk.(e-mail)@example.com"]],
    ["one pair of brackets around two addresses", "<a@example.com, b@example.com>", ["a@example.com", "b@example.com"]],
    ["a bracket that is never opened", "a@example.com>", ["a@example.com"]],
    ["an encoded name", "=?utf-8?Q?a=2C_b?= <x@example.com>", ["x@example.com"]],
    ["semicolons", "a@example.com; b@example.com", ["a@example.com", "b@example.com"]],
  ])("returns the addresses of %s", async (_what, field, addresses) => {
    expect(await addressesOf(field)).toEqual(addresses);
  });

  it("returns text that is not an address only if there is nothing better", async () => {
    expect(await addressesOf("Board Room 3, postmaster")).toEqual(["board room 3", "postmaster"]);
    expect(await addressesOf("Board Room 3, a@example.com")).toEqual(["a@example.com"]);
  });

  it("returns the same list if given its own output", async () => {
    const once = await addressesOf('"Cedar, Leo" <\'leo@example.com\'>, <"kirk.(e-mail)"@example.com>, .x@example.com');
    expect(await addressesOf(once.join(", "))).toEqual(once);
  });
});

describe("parseMailDate", () => {
  it.each([
    "",
    "some day soon",
    "Mon, 31 Feb 2001 10:00:00 +0000",
    "Mon, 0 Jan 2001 10:00:00 +0000",
    "Mon, 1 Foo 2001 10:00:00 +0000",
    "Mon, 1 Jan 2001 24:00:00 +0000",
    "Mon, 1 Jan 2001 10:61:00 +0000",
    "1 Jan 2001",
    "Sat, 01 Jan 0000 00:00:00 +0100",
    "Fri, 31 Dec 9999 23:00:00 -0200",
    "(((",
  ])("reads no date from %j", (header) => {
    expect(parseMailDate(header)).toBeNull();
  });

  it.each([
    ["Mon, 14 May 2001 09:39:00 -0700 (PDT)", "2001-05-14T16:39:00Z"],
    ["14 May 2001 09:39 +0000", "2001-05-14T09:39:00Z"],
    ["Thu, 29 Feb 2000 23:59:59 -1200", "2000-03-01T11:59:59Z"],
    ["Mon, 31 Dec 1979 16:00:00 -0800 (PST)", "1980-01-01T00:00:00Z"],
    ["Mon, 1 Jan 0001 00:00:00 +0000", "0001-01-01T00:00:00Z"],
    ["Mon, 04 Jan 2044 10:00:00 -0500", "2044-01-04T15:00:00Z"],
  ])("reads %j", (header, iso) => {
    expect(parseMailDate(header)).toBe(iso);
  });

  it.each([
    ["two-digit years below 50", "Mon, 10 Sep 01 09:05:00 GMT", "2001-09-10T09:05:00Z"],
    ["two-digit years from 50 on", "Mon, 10 Sep 50 09:05:00 GMT", "1950-09-10T09:05:00Z"],
    ["three-digit years", "Mon, 10 Sep 101 09:05:00 GMT", "2001-09-10T09:05:00Z"],
    ["zone names", "Mon, 10 Sep 2001 09:05:00 PDT", "2001-09-10T16:05:00Z"],
    ["military zones, which are ignored", "Mon, 10 Sep 2001 09:05:00 K", "2001-09-10T09:05:00Z"],
    ["no zone", "Mon, 10 Sep 2001 09:05:00", "2001-09-10T09:05:00Z"],
    ["nested comments", "Mon, 10 (the (very) tenth) Sep 2001 09:05:00 (a) +0100", "2001-09-10T08:05:00Z"],
    ["white space around colons", "Mon , 10 Sep 2001 09 : 05 : 07 +0000", "2001-09-10T09:05:07Z"],
    ["hyphens", "10-Sep-2001 09:05:00 +0000", "2001-09-10T09:05:00Z"],
    ["a leap second", "Sun, 31 Dec 2000 23:59:60 +0000", "2001-01-01T00:00:00Z"],
  ])("reads obsolete and unusual forms (%s)", (_what, header, iso) => {
    expect(parseMailDate(header)).toBe(iso);
  });
});

describe("parseIsoDate", () => {
  it.each(["", "2001", "2001-13-01", "2001-02-30", "2001-05-14T25:00:00Z", "14 May 2001", "12001-01-01"])(
    "reads no date from %j",
    (text) => {
      expect(parseIsoDate(text)).toBeNull();
    },
  );

  it.each([
    ["2001-05-14T16:39:00Z", "2001-05-14T16:39:00Z"],
    ["2001-05-14 16:39:00.123", "2001-05-14T16:39:00Z"],
    ["2001-05-14T16:39:00+02:00", "2001-05-14T14:39:00Z"],
    ["2001-05-14", "2001-05-14T00:00:00Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
  ])("reads %j", (text, iso) => {
    expect(parseIsoDate(text)).toBe(iso);
  });
});

describe("isoSeconds", () => {
  it("returns null for an invalid date", () => {
    expect(isoSeconds(new Date(Number.NaN))).toBeNull();
    expect(isoSeconds(new Date(8.64e15))).toBeNull();
  });
});

const PIECES = ["Subject", "subject", "To", "Cc", "X-To", "Received", ":", ": ", " ", "\t", "\r\n", "\n", "\r", "a@x"];
const anyText = fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join(""));

describe("normalizing line ends", () => {
  it("converts all to LF, like a single pattern for CRLF, LF and CR", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(withLineFeeds(text)).toBe(text.replace(/\r\n?/g, "\n"));
      }),
    );
  });
});

describe("header fields", () => {
  /** RFC 5322 2.2.3 step by step: line ends, unfolding, lines, fields. */
  function fieldsOf(header: string, names: readonly string[]): [string, string[]][] {
    const lines = header
      .replace(/\r\n?/g, "\n")
      .replace(/\n(?=[ \t])/g, "")
      .split("\n");
    const fields = lines.flatMap((line) => {
      const [, name = "", value = ""] = /^([^:]+):(.*)$/s.exec(line) ?? [];
      return names.includes(name.trimEnd().toLowerCase()) ? [[name.trimEnd().toLowerCase(), value.trim()]] : [];
    });
    return names.flatMap((name) => {
      const values = fields.filter(([found]) => found === name).map(([, value = ""]) => value);
      return values.length === 0 ? [] : [[name, values]];
    });
  }

  it("unfold, and form groups by name, in any order", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        // Without blank lines, which would end the header. A line without a colon, or with only white space, also ends
        // it.
        const lines = `From: a@x\n${text}`.split(/[\r\n]+/).filter((line) => /^[!-~]+:|^[ \t]+\S/.test(line));
        const header = lines.join("\r\n").trimEnd();
        const { headers } = splitMessage(Buffer.from(`${header}\n\nSubject: in the body`));
        const names = ["subject", "to", "cc"];
        const found = names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)]] : []));
        expect(found).toEqual(fieldsOf(header, names));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("the header of a fixture mail", () => {
  // A field that is not ASCII takes the header from the fast path to the one that judges every line.
  it("does not depend on the path, fast or line by line", async () => {
    const mails = fixtureMails().filter((raw) => /^[A-Z][\w-]+:/.test(raw.toString("latin1", 0, 40)));
    expect(mails.length).toBeGreaterThan(500);
    for (const raw of mails) {
      expect(await parseEmail(Buffer.concat([Buffer.from("X-Note: é\n"), raw]))).toEqual(await parseEmail(raw));
    }
  });

  it("ends at the first line if the header of a part is empty", async () => {
    const multipart = (part: string) =>
      parsed(`Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${part}\r\n--b--\r\n`);
    expect((await multipart("\r\n\r\nFirst: one\r\n\r\nSecond")).body).toBe("First: one\n\nSecond");
    expect((await multipart("\r\nFirst: one\r\n\r\nSecond")).body).toBe("First: one\n\nSecond");
  });
});

describe("unusable input of parseEmail", () => {
  it.each([
    ["nothing", "", "it is empty"],
    [
      "a text without a header",
      "Hello,\n\nworld",
      "it does not have an email header (Message-ID, Date, From, To or Subject)",
    ],
    [
      "fields that are not typical of mail",
      "Colour: blue\n\nSubject: no",
      "it does not have an email header (Message-ID, Date, From, To or Subject)",
    ],
    ["binary data", "\x7fELF\0\0\0", "it is binary data, not an email"],
  ])("causes an error (%s)", async (_what, raw, reason) => {
    expect(await parseEmail(Buffer.from(raw))).toBe(reason);
  });

  it("causes an error if it exceeds 64 MB", async () => {
    expect(await parseEmail(Buffer.alloc(MAX_MAIL_BYTES + 1, "Subject: x\n"))).toBe("it is larger than 64 MB");
  });
});

describe("the headers that parseEmail reads", () => {
  it("can have the line ends CRLF, LF or CR", async () => {
    const lf = "Message-ID: <1@example.com>\nTo: a@example.com,\n\tb@example.com\nSubject: Hi\n\nOne\n\nTwo\n";
    const wanted = await parsed(lf);
    expect(wanted).toMatchObject({ to: ["a@example.com", "b@example.com"], subject: "Hi", body: "One\n\nTwo" });
    expect(await parsed(lf.replaceAll("\n", "\r\n"))).toEqual(wanted);
    expect(await parsed(lf.replaceAll("\n", "\r"))).toEqual(wanted);
    expect(await parsed(lf.replace(/\n/g, (end, at: number) => (at % 2 === 0 ? end : "\r\n")))).toEqual(wanted);
  });

  it("can come after a byte order mark, blank lines or an mbox line", async () => {
    for (const before of [
      "\ufeff",
      "\r\n\n",
      "From joan Mon May 14 16:39:00 2001\n",
      ">From joan Mon May 14 16:39:00 2001\n",
    ]) {
      expect(await parsed(`${before}Subject: Hi\n\nBody`)).toMatchObject({ subject: "Hi", body: "Body" });
    }
  });

  it("can have any case, and white space before the colon", async () => {
    expect(await parsed("SUBJECT : Hi\nfrom:a@example.com\n\n")).toMatchObject({
      subject: "Hi",
      sender: "a@example.com",
    });
  });

  it("can come without a body", async () => {
    expect(await parsed("Subject: Hi")).toMatchObject({ subject: "Hi", body: "" });
  });

  it("contain windows-1252 if they are not UTF-8", async () => {
    expect((await parsed(Buffer.from("Subject: caf\xe9 \xfc\n\n", "latin1"))).subject).toBe("café ü");
  });

  it("can contain UTF-8, RFC 2047 words, folds and NUL in the subject", async () => {
    expect((await parsed("Subject:\n  Grüße   =?utf-8?Q?aus_?=\n\t=?utf-8?Q?K=C3=B6ln?= \0\n\n")).subject).toBe(
      "Grüße aus Köln \ufffd",
    );
  });

  it("include all repeated To fields, but only the first of any other field", async () => {
    const email = await parsed(
      "To: a@example.com\nSubject: one\nTo: b@example.com\nSubject: two\nX-To: c@example.com\n\n",
    );
    expect(email).toMatchObject({ to: ["a@example.com", "b@example.com"], subject: "one" });
  });

  it("use the Sender if From is missing", async () => {
    expect((await parsed("Sender: list@example.com\n\n")).sender).toBe("list@example.com");
  });

  it.each([
    ["<1@example.com>", "<1@example.com>"],
    [" <1@example.com> (added)", "<1@example.com>"],
    ["\n\t<1@\n example.com>", "<1@example.com>"],
    ["1@example.com", "<1@example.com>"],
  ])("can have the Message-ID %j", async (header, messageId) => {
    expect((await parsed(`Message-ID: ${header}\nSubject: x\n\n`)).messageId).toBe(messageId);
  });

  it("get a generated Message-ID if it is missing, which depends only on the content", async () => {
    const raw = "Message-ID: \nFrom: a@example.com\nSubject: x\n\nBody\n";
    const { messageId } = await parsed(raw);
    expect(messageId).toMatch(/^<[0-9a-f]{32}@missing>$/);
    expect((await parsed(`X-Folder: other\r\n${raw.replaceAll("\n", "\r\n")}`)).messageId).toBe(messageId);
    expect((await parsed(raw.replace("Body", "Bodies"))).messageId).not.toBe(messageId);
  });
});

describe("the bodies that parseEmail reads", () => {
  const withType = (type: string, encoding: string, body: string) =>
    Buffer.from(`Subject: x\nContent-Type: ${type}\nContent-Transfer-Encoding: ${encoding}\n\n${body}`, "latin1");

  it.each([
    ["latin1", "text/plain; charset=iso-8859-1", "8bit", "Z\xfcrich \xa3", "Zürich £"],
    [
      "windows-1252 under any Western name",
      'text/plain; charset="us-ascii"',
      "7bit",
      "\x93don\x92t\x94 \x80",
      "“don’t” €",
    ],
    ["UTF-8", "text/plain; charset=UTF-8", "8bit", "Z\xc3\xbcrich", "Zürich"],
    ["UTF-8 labeled with its former charset", "text/plain; charset=iso-8859-1", "8bit", "Z\xc3\xbcrich", "Zürich"],
    ["other bytes labeled UTF-8", "text/plain; charset=utf-8", "8bit", "Z\xfcrich", "Z\ufffdrich"],
    ["another charset", "text/plain; charset=koi8-r", "8bit", "\xf0\xf2\xe9", "ПРИ"],
    [
      "quoted-printable",
      "text/plain; charset=ANSI_X3.4-1968",
      "Quoted-Printable",
      "a=3Db=\r\nc=  \nd =E9 =zz =",
      "a=bcd é =zz",
    ],
    ["quoted-printable in UTF-8", "text/plain; charset=utf-8", "quoted-printable", "Z=C3=BCrich", "Zürich"],
    ["base64", "text/plain; charset=us-ascii", "base64", "SGVsbG8=", "Hello"],
    ["an unknown encoding", "text/plain", "x-unknown", "Hello", "Hello"],
    ["flowed text", "text/plain; format=flowed", "7bit", "one \ntwo\n", "one two"],
    ["enriched text without its markup (RFC 1896)", "text/enriched", "7bit", "<bold>a</bold> << b", "a < b"],
    ["base64 of other kinds of text", "text/x-notes", "base64", "SGVsbG8=", "Hello"],
    ["a part whose content type is invalid", "text", "7bit", "Hello", "Hello"],
    ["HTML", "text/html; charset=windows-1252", "8bit", "<p>Caf\xe9 &amp; bar<br>open</p>", "Café & bar\nopen"],
    [
      "a picture, which contains nothing readable",
      "image/gif",
      "base64",
      "R0lGODlh",
      "Attachments:\n- (no name) (image/gif, 6 bytes)",
    ],
    ["an invitation", "text/calendar", "7bit", "BEGIN:VCALENDAR", "BEGIN:VCALENDAR"],
    ["text with a name", "text/plain; name=a.txt", "base64", "SGVsbG8=", "Hello"],
    ["multipart without parts", "multipart/mixed; boundary=x", "7bit", "kept", "kept"],
  ])("can be encoded in %s", async (_what, type, encoding, body, text) => {
    expect((await parsed(withType(type, encoding, body))).body).toBe(text);
  });

  it("consist of the plain-text alternative, followed by attachments", async () => {
    const body = [
      "--b",
      "Content-Type: multipart/alternative; boundary=a",
      "",
      "--a",
      "Content-Type: text/plain",
      "",
      "Plain",
      "--a",
      "Content-Type: text/html",
      "",
      "<p>HTML</p>",
      "--a--",
      "--b",
      "Content-Type: text/plain",
      "Content-Disposition: attachment; filename=a.txt",
      "",
      "Attached",
      "--b--",
      "",
    ].join("\r\n");
    expect((await parsed(withType("multipart/mixed; boundary=b", "7bit", body))).body).toBe(
      "Plain\n\nAttachments:\n- a.txt (text/plain, 8 bytes)\n\n----- Attachment: a.txt -----\n\nAttached",
    );
  });

  it("consist of raw text if their structure is invalid", async () => {
    let nested = "deep";
    for (let i = 0; i < 300; i++) nested = `--b${i}\nContent-Type: multipart/mixed; boundary=b${i - 1}\n\n${nested}`;
    const email = await parsed(withType("multipart/mixed; boundary=b299", "7bit", nested));
    expect(email.body).toContain("deep");
  });

  it("have no blank lines before or white space after the text, and preserve the rest", async () => {
    expect((await parsed("Subject: x\n\n\r\n \t\n  a \n\n\nb\t\r\n \n\n")).body).toBe("  a \n\n\nb");
  });

  it("can contain headers and mbox lines", async () => {
    const body = "Message-ID: <2@example.com>\nFrom joan Mon May 14 16:39:00 2001\n>From here on\nSubject: inner";
    expect(await parsed(`Message-ID: <1@example.com>\n\n${body}`)).toMatchObject({
      messageId: "<1@example.com>",
      subject: "",
      body,
    });
  });

  it("contain U+FFFD instead of NUL", async () => {
    expect((await parsed("Subject: x\n\na\0b")).body).toBe("a\ufffdb");
  });
});

interface PartText {
  readonly type: string;
  readonly content: string | Buffer;
  readonly headers?: readonly string[];
}

const text = (content: string, type = "text/plain; charset=utf-8", headers: readonly string[] = []): PartText => ({
  type,
  content,
  headers,
});

const attached = (name: string) => `Content-Disposition: attachment; filename="${name}"`;
let made = 0;

/** An email in the format of mail programs, every part in base64. */
function mailOf(parts: readonly PartText[], type = "multipart/mixed", subject = "Numbers"): Buffer {
  const boundary = `b${++made}x`;
  const lines = [
    "From: Ann <ann@plains.example>",
    "To: ben@plains.example",
    "Date: Mon, 14 May 2001 10:00:00 +0000",
    `Subject: ${subject}`,
    "MIME-Version: 1.0",
    `Content-Type: ${type}; boundary=${boundary}`,
    "",
  ];
  for (const part of parts) {
    const isMail = part.type.startsWith("message/rfc822");
    const encoding = isMail ? "8bit" : "base64";
    lines.push(`--${boundary}`, `Content-Type: ${part.type}`, `Content-Transfer-Encoding: ${encoding}`);
    lines.push(...(part.headers ?? []), "");
    lines.push(isMail ? part.content.toString() : Buffer.from(part.content).toString("base64"));
  }
  return Buffer.from([...lines, `--${boundary}--`, ""].join("\r\n"));
}

const bodyOf = async (raw: Buffer) => (await parsed(raw)).body;

const INVITATION = [
  "BEGIN:VCALENDAR",
  "METHOD:REQUEST",
  "BEGIN:VTIMEZONE",
  "TZID:Europe/Berlin",
  "BEGIN:STANDARD",
  "DTSTART:16010101T030000",
  "END:STANDARD",
  "END:VTIMEZONE",
  "BEGIN:VEVENT",
  "SUMMARY;LANGUAGE=en-us:Budget review\\, second",
  "  round",
  "DTSTART;TZID=Europe/Berlin:20010312T140000",
  "DTEND;TZID=Europe/Berlin:20010312T153000",
  "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;UNTIL=20010401T000000Z",
  "LOCATION:Room 5\\; second floor",
  'ORGANIZER;CN="Hale; Ann":mailto:ann@plains.example',
  "ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;CN=Ben:MAILTO:ben@plains.example",
  "ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:cy@plains.example",
  "DESCRIPTION:Bring numbers.\\nAnd coffee.",
  "BEGIN:VALARM",
  "DESCRIPTION:Reminder",
  "END:VALARM",
  "END:VEVENT",
  "END:VCALENDAR",
].join("\r\n");

const INVITED = [
  "Invitation",
  "",
  "Event: Budget review, second round",
  "When: 2001-03-12 14:00 to 15:30 Europe/Berlin",
  "Repeats: weekly, every 2, on MO, TH, until 2001-04-01",
  "Where: Room 5; second floor",
  "Organizer: Hale; Ann <ann@plains.example>",
  "Attendees: Ben <ben@plains.example> (accepted), cy@plains.example",
  "",
  "Bring numbers.",
  "And coffee.",
].join("\n");

describe("calendar parts", () => {
  it("show subject, time, place and participants", async () => {
    const body = await bodyOf(mailOf([text("See below."), text(INVITATION, "text/calendar; method=REQUEST")]));
    expect(body).toContain(`----- Attachment: text/calendar -----\n\n${INVITED}`);
    const named = mailOf([text("x"), { type: "application/octet-stream; name=a.ics", content: INVITATION }]);
    expect(await bodyOf(named)).toContain(INVITED);
  });

  it.each(["7bit", "base64"])("show the same text if a calendar in %s is the entire email", async (encoding) => {
    const content = encoding === "base64" ? Buffer.from(INVITATION).toString("base64") : INVITATION;
    const headers = ["From: a@b.example", "Content-Type: text/calendar", `Content-Transfer-Encoding: ${encoding}`];
    expect(await bodyOf(Buffer.from(`${headers.join("\r\n")}\r\n\r\n${content}`))).toBe(INVITED);
  });

  it.each([
    ["DTSTART;VALUE=DATE:20010312\nDTEND;VALUE=DATE:20010313", "When: 2001-03-12"],
    ["DTSTART;VALUE=DATE:20010312\nDTEND;VALUE=DATE:20010315", "When: 2001-03-12 to 2001-03-14"],
    ["DTSTART:20010312T140000Z\nDURATION:PT1H30M", "When: 2001-03-12 14:00 UTC for 1 h 30 min"],
    ["DTSTART:20010312T220000Z\nDTEND:20010313T010000Z", "When: 2001-03-12 22:00 to 2001-03-13 01:00 UTC"],
    ["DTSTART:some day\nSTATUS:CANCELLED", "When: some day\nStatus: cancelled"],
  ])("show for %j the text %j", (lines, said) => {
    const source = `BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x\n${lines}\nEND:VEVENT\nEND:VCALENDAR`;
    expect(calendarText(Buffer.from(source), "")).toBe(`Event: x\n${said}`);
  });

  it("stay unchanged if they contain no event or are truncated", () => {
    for (const source of ["", "no calendar", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x"]) {
      expect(calendarText(Buffer.from(source), "")).toBe(source);
    }
  });
});

describe("attachments", () => {
  it("appear with name, type and size after the body, followed by the text of readable ones", async () => {
    const body = await bodyOf(
      mailOf([
        text("Please see below."),
        {
          type: "application/pdf; name=old.pdf",
          content: Buffer.alloc(12_345, 7),
          headers: [attached("Q3 budget.pdf")],
        },
        text("a,b\n1,2\n", "text/csv", [attached("zebra.csv")]),
        {
          type: "image/png; name=logo.png",
          content: "png",
          headers: ["Content-ID: <1>", "Content-Disposition: inline"],
        },
      ]),
    );
    expect(body).toBe(
      [
        "Please see below.",
        "",
        "Attachments:",
        "- Q3 budget.pdf (application/pdf, 12,345 bytes)",
        "- zebra.csv (text/csv, 8 bytes)",
        "- logo.png (image/png, 3 bytes)",
        "",
        "----- Attachment: zebra.csv -----",
        "",
        "a,b",
        "1,2",
      ].join("\n"),
    );
  });

  it.each([
    [
      "in a different charset",
      text("", "text/plain; charset=windows-1251", [attached("a.txt")]),
      Buffer.from([0xcc, 0xee]),
      "Мо",
    ],
    ["without a charset, if valid UTF-8", text("", "text/plain", [attached("a.txt")]), "Zürich", "Zürich"],
    [
      "without a charset, as windows-1252",
      text("", "text/plain", [attached("a.txt")]),
      Buffer.from([0x93, 0xfc, 0x94]),
      "“ü”",
    ],
    ["as UTF-16", text("", "text/plain", [attached("a.txt")]), Buffer.from("\ufeffGrüße", "utf16le"), "Grüße"],
    ["with a generic type", text("", "application/octet-stream", [attached("a.log")]), "failed", "failed"],
    ["as JSON", text("", "application/json", [attached("a.json")]), '{"a":1}', '{"a":1}'],
    ["as HTML", text("", "text/html", [attached("a.html")]), "<p>Caf&eacute;</p>", "Café"],
    [
      "as a calendar entry",
      text("", "text/calendar; method=REQUEST"),
      "BEGIN:VCALENDAR\r\nEND:VCALENDAR",
      "BEGIN:VCALENDAR\nEND:VCALENDAR",
    ],
  ])("appear in the body %s", async (_how, part, content, read) => {
    const body = await bodyOf(mailOf([text("See below."), { ...part, content }]));
    expect(body.split(/^----- Attachment: .* -----\n\n/m)[1]).toBe(read);
  });

  it.each([
    ["rich text", "text/rtf", "a.rtf", "{\\rtf1 zebra}"],
    ["binary data labeled as text", "text/plain", "a.txt", "zebra\0\0\x01"],
    ["a program", "application/octet-stream", "a.exe", "zebra"],
  ])("appear without their text if they are %s", async (_what, type, name, content) => {
    const body = await bodyOf(mailOf([text("See below."), text(content, type, [attached(name)])]));
    expect(body).toBe(`See below.\n\nAttachments:\n- ${name} (${type}, ${content.length} bytes)`);
  });

  it("appear without their text if the body contains it", async () => {
    const inline = text("the notes", "text/plain; name=notes.txt", ["Content-Disposition: inline; filename=notes.txt"]);
    const body = await bodyOf(mailOf([text("Notes:"), inline]));
    expect(body).toBe("Notes:\n\nthe notes\n\nAttachments:\n- notes.txt (text/plain, 9 bytes)");
  });

  it("have one-line names, whatever characters the names contain, or none", async () => {
    const encoded = "=?utf-8?B?R3LDvMOfZSAyMDAx?=.pdf";
    const body = await bodyOf(
      mailOf([
        text("See below."),
        text("x", "application/pdf", [attached(encoded)]),
        text("x", "application/pdf", [`Content-Disposition: attachment; filename*=utf-8''a%0A%0A-%20b.pdf`]),
        text("x", "application/pdf"),
      ]),
    );
    expect(body.split("\n").slice(2)).toEqual([
      "Attachments:",
      "- Grüße 2001.pdf (application/pdf, 1 byte)",
      "- a - b.pdf (application/pdf, 1 byte)",
      "- (no name) (application/pdf, 1 byte)",
    ]);
  });

  it("form the entire body if an email consists of one file", async () => {
    const one = (type: string, disposition: string) =>
      Buffer.from(`Subject: x\nContent-Type: ${type}\n${disposition}\n\nzebra\n`);
    expect(await bodyOf(one("application/pdf; name=a.pdf", "X-None: 1"))).toContain(
      "- a.pdf (application/pdf, 6 bytes)",
    );
    expect(await bodyOf(one("text/plain", attached("a.txt")))).toBe(
      "Attachments:\n- a.txt (text/plain, 6 bytes)\n\n----- Attachment: a.txt -----\n\nzebra",
    );
  });

  it("end with a note if they have a million characters or more", async () => {
    const body = await bodyOf(
      mailOf([text("See below."), text("x".repeat(1_000_010), "text/plain", [attached("a.txt")])]),
    );
    expect(body).toMatch(/x\n\[cut here: 10 more characters\]$/);
  });
});

describe("a forwarded email", () => {
  const inner = mailOf(
    [text("The zebra is striped."), text("k,v", "text/csv", [attached("inner.csv")])],
    "multipart/mixed",
    "Stripes",
  );

  it.each([
    ["attached", ["Content-Disposition: attachment; filename=stripes.eml"], "- stripes.eml (message/rfc822"],
    ["inline", ["Content-Disposition: inline"], "- (no name) (message/rfc822"],
    ["without a disposition", [], "- (no name) (message/rfc822"],
  ])("follows the body, with its header and attachments, if it is %s", async (_how, headers, listed) => {
    const body = await bodyOf(mailOf([text("FYI"), { type: "message/rfc822", content: inner, headers }]));
    expect(body).toContain(listed);
    expect(body).toContain(
      [
        "----- Forwarded mail: Stripes -----",
        "",
        "From: ann@plains.example",
        "To: ben@plains.example",
        "Date: 2001-05-14T10:00:00Z",
        "Subject: Stripes",
        "",
        "The zebra is striped.",
        "",
        "Attachments:",
        "- inner.csv (text/csv, 3 bytes)",
        "",
        "----- Attachment: inner.csv -----",
        "",
        "k,v",
      ].join("\n"),
    );
    expect(body.split("The zebra is striped.")).toHaveLength(2);
  });

  it("can be part of a digest, or a file with a generic type", async () => {
    const digest = mailOf([text("one"), { type: "message/rfc822", content: inner }], "multipart/digest");
    expect(await bodyOf(digest)).toContain("----- Forwarded mail: Stripes -----");
    const file = { type: "application/octet-stream", content: inner, headers: [attached("stripes.eml")] };
    expect(await bodyOf(mailOf([text("FYI"), file]))).toContain("----- Forwarded mail: Stripes -----");
  });

  it("appears up to five levels deep, and in the list if deeper", async () => {
    let raw = mailOf([text("innermost zebra")], "multipart/mixed", "level 0");
    for (let level = 1; level <= 7; level++) {
      raw = mailOf(
        [text(`body ${level}`), { type: "message/rfc822", content: raw }],
        "multipart/mixed",
        `level ${level}`,
      );
    }
    const body = await bodyOf(raw);
    for (const level of [6, 5, 4, 3, 2]) expect(body).toContain(`----- Forwarded mail: level ${level} -----`);
    expect(body).not.toContain("level 1");
    expect(body.match(/message\/rfc822/g)).toHaveLength(6);
  });

  it("stays text if it has no header", async () => {
    const body = await bodyOf(mailOf([text("FYI"), { type: "message/rfc822", content: "no header here" }]));
    expect(body).toBe(
      "FYI\n\nAttachments:\n- (no name) (message/rfc822, 14 bytes)\n\n----- Attachment: message/rfc822 -----\n\nno header here",
    );
  });

  it("stays with the report if a mail server returned it", async () => {
    const report = { type: "message/delivery-status", content: "Final-Recipient: rfc822; cat@plains.example\n" };
    const body = await bodyOf(
      mailOf([text("Undeliverable."), report, { type: "message/rfc822", content: inner }], "multipart/report"),
    );
    expect(body).toContain(
      "----- Attachment: message/delivery-status -----\n\nFinal-Recipient: rfc822; cat@plains.example",
    );
    expect(body).toContain("----- Forwarded mail: Stripes -----");
  });
});

describe("a part that is not the text", () => {
  const bodyOf = async (raw: string) => {
    const email = await parseEmail(Buffer.from(raw));
    return typeof email === "string" ? email : email.body;
  };
  const alternative = (type: string, content: string, plain = "The plum figures.") =>
    `From: lea@x.example\nContent-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n${plain}\n--b\nContent-Type: ${type}\n\n${content}\n--b--\n`;

  it.each(["text/watch-html", "text/markdown", "text/x-amp-html"])(
    "disappears if it is the alternative %s",
    async (type) => {
      expect(await bodyOf(alternative(type, "<b>Plums</b>"))).toBe("The plum figures.");
    },
  );

  it.each(["Dear Tom,", "Dear Tom, the ...", "Dear Tom, the\u2026", "Dear Tom, the [...]"])(
    "consists of the HTML if the plain text is only its start, %j",
    async (plain) => {
      const html = "<p>Dear Tom,</p><p>the plums are ripe, and the pears will follow.</p>";
      expect(await bodyOf(alternative("text/html", html, plain))).toContain("plums are ripe");
    },
  );

  it("appears without its source if it is a style sheet", async () => {
    const css = '--b\nContent-Type: text/css; name="s.css"\n\np{color:red}\n--b--\n';
    const body = await bodyOf(
      `From: lea@x.example\nContent-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>Plums</p>\n${css}`,
    );
    expect(body).toContain("- s.css (text/css");
    expect(body).not.toContain("color:red");
  });
});

describe("a header that programs write in another way", () => {
  it.each([
    ['Content-Type: text/plain; charset="iso-8859-2*pl"', "W\xb3adys\xb3aw", "Władysław"],
    [
      "Content-Type: text/plain; format=flowed",
      "<x-flowed>The figures \nare due.\n</x-flowed>",
      "The figures are due.",
    ],
    ["X-Mailer: Eudora", "<x-html>\n<p>Plums &amp; <b>pears</b></p>\n</x-html>", "Plums & pears"],
    [
      "Content-Type: text/plain",
      "Hi\n-----BEGIN PGP MESSAGE-----\n\nhQEMA0lF\n=abcd\n-----END PGP MESSAGE-----\nBye",
      "Hi\n[Encrypted with OpenPGP: the text cannot be read.]\nBye",
    ],
    [
      "Content-Type: text/html",
      '<a href="data:text/plain;base64,QUFB">open</a> <a href="https://x.example/">it</a>',
      "open it (https://x.example/)",
    ],
    ["Content-Transfer-Encoding: base64", "emVicmEgfn5-IMO_w7_DvyA_Pz8-Pj4geWFr", "zebra ~~~ ÿÿÿ ???>>> yak"],
  ])("has the usual meaning (%s)", async (header, body, text) => {
    expect(await parseEmail(Buffer.from(`From: lea@x.example\n${header}\n\n${body}`, "latin1"))).toMatchObject({
      body: text,
    });
  });

  it.each([
    ["From: lea at plains.example (Lea Ray)", { sender: "lea@plains.example" }],
    ["To: Tom &lt;tom@x.example&gt;, bo@x.example.", { to: ["tom@x.example", "bo@x.example"] }],
    ["To: Tom <tom@x.example.>", { to: ["tom@x.example"] }],
    ["To: tom(at)x.example, bo [at] x.example", { to: ["tom@x.example", "bo@x.example"] }],
    ["To: <mailto:tom@x.example?subject=Plums>, bo@x.example", { to: ["tom@x.example", "bo@x.example"] }],
    ["Date: Mon, 14 May 2001 10:00:00 +9900", { date: null }],
    ["Date: lun., 14 mai 2001 10:00:00 +0000", { date: "2001-05-14T10:00:00Z" }],
    ["Date: mar., 14 août 2001 10:00:00 +0200", { date: "2001-08-14T08:00:00Z" }],
    ["Date: ven., 13 juil. 2001 10:00:00 +0000", { date: "2001-07-13T10:00:00Z" }],
    ["Date: Fr., 14 Dez. 2001 10:00:00 +0000", { date: "2001-12-14T10:00:00Z" }],
    [
      "Received: from b by c; Mon, 14 May 2001 12:00:09 +0200\nReceived: from a by b; Mon, 14 May 2001 12:00:00 +0200",
      { date: "2001-05-14T10:00:00Z" },
    ],
    [
      "Received: from a by b; Mon, 14 May 2001 12:00:00 +0200\nDate: Tue, 15 May 2001 10:00:00 +0000",
      { date: "2001-05-15T10:00:00Z" },
    ],
    ["Delivered-To: Me@x.example\nDelivered-To: list@x.example\nTo: list@x.example", { deliveredTo: "me@x.example" }],
    ["Delivered-To: mailing list dev@x.example\nX-Original-To: <me@x.example>", { deliveredTo: "me@x.example" }],
  ])("has the usual meaning in %j", async (header, wanted) => {
    expect(await parseEmail(Buffer.from(`Message-ID: <1@x>\n${header}\n\nPlums`))).toMatchObject(wanted);
  });
});
