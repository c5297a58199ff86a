import { describe, expect, it } from "vitest";
import type { Email } from "../../src/mail/email.js";
import { MAX_MAIL_BYTES, parseEmail } from "../../src/mail/mime-body.js";

async function parsed(raw: string | Buffer): Promise<Email> {
  const email = await parseEmail(Buffer.isBuffer(raw) ? raw : Buffer.from(raw));
  if (typeof email === "string") throw new Error(email);
  return email;
}

describe("parseEmail refuses", () => {
  it.each([
    ["nothing", "", "it is empty"],
    ["a text without header", "Hello,\n\nworld", "it has no mail header (Message-ID, Date, From, To or Subject)"],
    [
      "fields that no mail is known by",
      "Colour: blue\n\nSubject: no",
      "it has no mail header (Message-ID, Date, From, To or Subject)",
    ],
    ["binary data", "\x7fELF\0\0\0", "it is binary data, not a mail"],
  ])("%s", async (_what, raw, reason) => {
    expect(await parseEmail(Buffer.from(raw))).toBe(reason);
  });

  it("more than 64 MB", async () => {
    expect(await parseEmail(Buffer.alloc(MAX_MAIL_BYTES + 1, "Subject: x\n"))).toBe("it is larger than 64 MB");
  });
});

describe("parseEmail reads headers", () => {
  it("with CRLF, LF and CR as line ends alike", async () => {
    const lf = "Message-ID: <1@example.com>\nTo: a@example.com,\n\tb@example.com\nSubject: Hi\n\nOne\n\nTwo\n";
    const wanted = await parsed(lf);
    expect(wanted).toMatchObject({ to: ["a@example.com", "b@example.com"], subject: "Hi", body: "One\n\nTwo" });
    expect(await parsed(lf.replaceAll("\n", "\r\n"))).toEqual(wanted);
    expect(await parsed(lf.replaceAll("\n", "\r"))).toEqual(wanted);
    expect(await parsed(lf.replace(/\n/g, (end, at: number) => (at % 2 === 0 ? end : "\r\n")))).toEqual(wanted);
  });

  it("behind a byte order mark, blank lines or an mbox line", async () => {
    for (const before of [
      "\ufeff",
      "\r\n\n",
      "From joan Mon May 14 16:39:00 2001\n",
      ">From joan Mon May 14 16:39:00 2001\n",
    ]) {
      expect(await parsed(`${before}Subject: Hi\n\nBody`)).toMatchObject({ subject: "Hi", body: "Body" });
    }
  });

  it("whatever the case of their names, with white space before the colon", async () => {
    expect(await parsed("SUBJECT : Hi\nfrom:a@example.com\n\n")).toMatchObject({
      subject: "Hi",
      sender: "a@example.com",
    });
  });

  it("without a body", async () => {
    expect(await parsed("Subject: Hi")).toMatchObject({ subject: "Hi", body: "" });
  });

  it("with a byte that is not UTF-8, which becomes U+FFFD", async () => {
    expect((await parsed(Buffer.from("Subject: caf\xe9 \xfc\n\n", "latin1"))).subject).toBe("caf\ufffd \ufffd");
  });

  it("with UTF-8, RFC 2047 words, folds and NUL in the subject", async () => {
    expect((await parsed("Subject:\n  Grüße   =?utf-8?Q?aus_?=\n\t=?utf-8?Q?K=C3=B6ln?= \0\n\n")).subject).toBe(
      "Grüße aus Köln \ufffd",
    );
  });

  it("taking all of a repeated To and the first of anything else", async () => {
    const email = await parsed(
      "To: a@example.com\nSubject: one\nTo: b@example.com\nSubject: two\nX-To: c@example.com\n\n",
    );
    expect(email).toMatchObject({ to: ["a@example.com", "b@example.com"], subject: "one" });
  });

  it("taking the Sender where there is no From", async () => {
    expect((await parsed("Sender: list@example.com\n\n")).sender).toBe("list@example.com");
  });

  it.each([
    ["<1@example.com>", "<1@example.com>"],
    [" <1@example.com> (added)", "<1@example.com>"],
    ["\n\t<1@\n example.com>", "<1@example.com>"],
    ["1@example.com", "<1@example.com>"],
  ])("the Message-ID %j", async (header, messageId) => {
    expect((await parsed(`Message-ID: ${header}\nSubject: x\n\n`)).messageId).toBe(messageId);
  });

  it("making up a Message-ID that depends on the content alone", async () => {
    const raw = "Message-ID: \nFrom: a@example.com\nSubject: x\n\nBody\n";
    const { messageId } = await parsed(raw);
    expect(messageId).toMatch(/^<[0-9a-f]{32}@missing>$/);
    expect((await parsed(`X-Folder: other\r\n${raw.replaceAll("\n", "\r\n")}`)).messageId).toBe(messageId);
    expect((await parsed(raw.replace("Body", "Bodies"))).messageId).not.toBe(messageId);
  });
});

describe("parseEmail reads bodies", () => {
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
    ["UTF-8 under the label of what it was", "text/plain; charset=iso-8859-1", "8bit", "Z\xc3\xbcrich", "Zürich"],
    ["what is no UTF-8 though it says so", "text/plain; charset=utf-8", "8bit", "Z\xfcrich", "Z\ufffdrich"],
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
    ["an encoding of no meaning", "text/plain", "x-unknown", "Hello", "Hello"],
    ["flowed text", "text/plain; format=flowed", "7bit", "one \ntwo\n", "one two"],
    ["other kinds of text", "text/enriched", "7bit", "<bold>a</bold>", "<bold>a</bold>"],
    ["base64 of other kinds of text", "text/x-notes", "base64", "SGVsbG8=", "Hello"],
    ["a type that is none", "text", "7bit", "Hello", "Hello"],
    ["HTML", "text/html; charset=windows-1252", "8bit", "<p>Caf\xe9 &amp; bar<br>open</p>", "Café & bar\nopen"],
    [
      "a picture, which has no text",
      "image/gif",
      "base64",
      "R0lGODlh",
      "Attachments:\n- (no name) (image/gif, 6 bytes)",
    ],
    ["an invitation", "text/calendar", "7bit", "BEGIN:VCALENDAR", "BEGIN:VCALENDAR"],
    ["text with a name", "text/plain; name=a.txt", "base64", "SGVsbG8=", "Hello"],
    ["multipart without parts, which has no text", "multipart/mixed; boundary=x", "7bit", "lost", ""],
  ])("in %s", async (_what, type, encoding, body, text) => {
    expect((await parsed(withType(type, encoding, body))).body).toBe(text);
  });

  it("taking the plain one of two versions, with attachments behind it", async () => {
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
      "Plain\n\nAttachments:\n- a.txt (text/plain, 9 bytes)\n\n----- Attachment: a.txt -----\n\nAttached",
    );
  });

  it("as they stand where their structure is refused", async () => {
    let nested = "deep";
    for (let i = 0; i < 300; i++) nested = `--b${i}\nContent-Type: multipart/mixed; boundary=b${i - 1}\n\n${nested}`;
    const email = await parsed(withType("multipart/mixed; boundary=b299", "7bit", nested));
    expect(email.body).toContain("deep");
  });

  it("without blank lines before or white space after, keeping what lies between", async () => {
    expect((await parsed("Subject: x\n\n\r\n \t\n  a \n\n\nb\t\r\n \n\n")).body).toBe("  a \n\n\nb");
  });

  it("with headers and mbox lines in them", async () => {
    const body = "Message-ID: <2@example.com>\nFrom joan Mon May 14 16:39:00 2001\n>From here on\nSubject: inner";
    expect(await parsed(`Message-ID: <1@example.com>\n\n${body}`)).toMatchObject({
      messageId: "<1@example.com>",
      subject: "",
      body,
    });
  });

  it("with NUL as U+FFFD", async () => {
    expect((await parsed("Subject: x\n\na\0b")).body).toBe("a\ufffdb");
  });
});
