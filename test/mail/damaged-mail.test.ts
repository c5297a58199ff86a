import { describe, expect, it } from "vitest";
import { htmlToText } from "../../src/mail/html-text.js";
import { MboxMessages } from "../../src/mail/import/readers/mbox.js";
import { normalizeSubject } from "../../src/mail/mime/email-fields.js";
import { parseMailDate, parseTableDate } from "../../src/mail/mime/mail-date.js";
import { parseEmail } from "../../src/mail/mime/parse-email.js";

/** Mail as people have it: forms that RFC 5322 and MIME do not allow, or that few programs read. */

async function read(raw: string | Buffer) {
  const email = await parseEmail(typeof raw === "string" ? Buffer.from(raw) : raw);
  if (typeof email === "string") throw new Error(email);
  return email;
}

const bodyOf = async (type: string, body: string | Buffer, encoding = "8bit") =>
  (
    await read(
      Buffer.concat([
        Buffer.from(`From: a@x.example\nContent-Type: ${type}\nContent-Transfer-Encoding: ${encoding}\n\n`),
        Buffer.from(body),
      ]),
    )
  ).body;

describe("parseMailDate", () => {
  it.each([
    ["Sat, 4 Mar 2006 08:15:00 +05:30", "2006-03-04T02:45:00Z"],
    ["Sat, 4 Mar 2006 08:15:00 GMT-0200", "2006-03-04T10:15:00Z"],
    ["Sat, 4 Mar 2006 08:15:00 -330", "2006-03-04T11:45:00Z"],
    ["Sat, 4 Mar 2006 08:15:00 KST", "2006-03-03T23:15:00Z"],
    ["Sat, 4 Mar 2006 08:15:00 Pacific Standard Time", "2006-03-04T16:15:00Z"],
    ["Sat, 4 Mar 2006 12:15:00 AM +0000", "2006-03-04T00:15:00Z"],
    ["Sat, 4 Mar 2006 02:15 p.m. +0000", "2006-03-04T14:15:00Z"],
    ["Sat Mar  4 08:15:00 2006", "2006-03-04T08:15:00Z"],
    ["Sat Mar 4 08:15:00 EST 2006", "2006-03-04T13:15:00Z"],
    ["Saturday, March 4, 2006 at 8:15 PM", "2006-03-04T20:15:00Z"],
    ["2006-03-04T08:15:00.25+01:00", "2006-03-04T07:15:00Z"],
    ["3/4/2006 8:15:00 PM", "2006-03-04T20:15:00Z"],
    ["Sat, 4 Mar 2006 08.15.00 +0100", "2006-03-04T07:15:00Z"],
    ["Sat, 4 Mar 2006 08:15:00 Nowhere", null],
    ["Sat, 4 Mar 2006 08:15:00 +0275", null],
  ])("reads %s as %s", (header, date) => {
    expect(parseMailDate(header)).toBe(date);
  });
});

describe("parseTableDate", () => {
  it.each([
    ["2006-03-04 08:15:00 UTC", "2006-03-04T08:15:00Z"],
    ["2006-03-04 08:15:00+00", "2006-03-04T08:15:00Z"],
    ["2006-03-04 08:15:00-05", "2006-03-04T13:15:00Z"],
    ["1141460100", "2006-03-04T08:15:00Z"],
    ["1141460100000", "2006-03-04T08:15:00Z"],
    ["3/4/2006", "2006-03-04T00:00:00Z"],
    ["12", null],
  ])("reads %s as %s", (text, date) => {
    expect(parseTableDate(text)).toBe(date);
  });
});

describe("the address reader of parseEmail", () => {
  it.each([
    ["a source route", "<@mx.example,@hub.example:lea@x.example>", ["lea@x.example"]],
    ["a source route without brackets", "@mx.example:lea@x.example", ["lea@x.example"]],
    ["comments (RFC 5322 A.5)", "Lea <lea(home)@x.example(host)>", ["lea@x.example"]],
    ["spaces around dots (RFC 5322 A.6.3)", "Lea <lea @ x . example>", ["lea@x.example"]],
    ["Exchange's address types", "Lea [SMTP:lea@x.example]", ["lea@x.example"]],
    ["undisclosed recipients with a domain", "<undisclosed-recipients:@mx.example;>", []],
    ["undisclosed recipients with semicolons", "undisclosed-recipients;;", []],
    ["a group with a comment after it", "unlisted-recipients:; (no To-header on input)", []],
    ["a group with comments (RFC 5322 A.5)", "(none)(start)Nobody  :(at all(that I know))  ;", []],
    ["words after an address in brackets", "<lea@x.example goes here>", ["lea@x.example"]],
    ["an unclosed bracket", "<, lea@x.example, pens", ["lea@x.example"]],
    ["a name without an address", "=?utf-8?q?caf=C3=A9?= team", ["café team"]],
  ])("reads addresses from %s", async (_what, field, to) => {
    expect((await read(`From: a@x.example\nTo: ${field}\n\nx`)).to).toEqual(to);
  });
});

describe("parseEmail on a badly folded line", () => {
  const header =
    "From: a@x.example\nTo: Lea\n__\n  <lea@x.example>,\nben@x.example,\n\tkim@x.example\nCc: b@x\nSubject: pens\nand ink\n";

  it("adds the line to the addresses or the subject before it", async () => {
    const mail = await read(`${header}Date: Mon, 14 May 2001 09:39:00 +0000\n\nTwo.`);
    const to = ["lea@x.example", "ben@x.example", "kim@x.example"];
    expect(mail).toMatchObject({ to, cc: ["b@x"], subject: "pens and ink", date: "2001-05-14T09:39:00Z" });
  });

  it("adds neither that line nor an mbox separator to another field", async () => {
    const mail = await read(
      `Date: Mon, 14 May 2001 09:39:00 +0000\nby cable\nTo: b@x\n>From c@x Mon May 14 09:39:00 2001\nCc: d@x\n:-From: Bo, Kim\nSubject: pens\n\nTwo.`,
    );
    expect(mail).toMatchObject({ to: ["b@x"], cc: ["d@x"], subject: "pens", date: "2001-05-14T09:39:00Z" });
  });
});

describe("the header reader of parseEmail", () => {
  it.each([
    ["at a line of white space", "From: a@x.example\n \t\nTwo pens.\n\nThree.", "Two pens.\n\nThree."],
    [
      "at prose, even if no blank line precedes it",
      "From: a@x.example\nTwo pens are here.\n\nThree.",
      "Two pens are here.\n\nThree.",
    ],
    [
      "at a line of white space before another header",
      "From: a@x.example\n \nFrom: b@x.example\npens",
      "From: b@x.example\npens",
    ],
    [
      "after a line of white space in a folded field",
      "From: a@x.example\nSubject: pens\n \n\tand ink\nTo: b@x.example\n\nTwo.",
      "Two.",
    ],
    [
      "after a damaged line in a field",
      "From: a@x.example\nTo: Lea\n__\n  <lea@x.example>\nSubject  : pens\n\nTwo.",
      "Two.",
    ],
    ["at the separator of Emacs drafts", "From: a@x.example\n--text follows this line--\nPens: two.", "Pens: two."],
  ])("ends the header %s", async (_where, raw, body) => {
    expect((await read(raw)).body).toBe(body);
  });

  it.each([
    ["notes", "Pens to buy\nTo: do\n\nmore"],
    ["a log", "2006-03-04 08:15 started\nSubject: job 3 failed\n\n"],
    ["a web page", "<html>\nSubject: pens\n\n</html>"],
  ])("rejects %s", async (_what, raw) => {
    expect(await parseEmail(Buffer.from(raw))).toMatch(/^it does not have an email header/);
  });

  it("extracts the email from an .emlx file", async () => {
    const mail = "From: a@x.example\n\npens\n";
    expect((await read(`${mail.length}\n${mail}<?xml version="1.0"?><plist/>`)).body).toBe("pens");
  });
});

describe("the text reader of parseEmail", () => {
  const part = (type: string, text: string) => `--b\nContent-Type: ${type}\n\n${text}\n`;
  it.each([
    [
      "HTML next to a blank plain part",
      "alternative; boundary=b",
      `${part("text/plain", " \u00a0")}${part("text/html", "<p>pens</p>")}--b--`,
    ],
    [
      "HTML next to a stub",
      "alternative; boundary=b",
      `${part("text/plain", "In HTML")}${part("text/html", "<p>pens</p>")}--b--`,
    ],
    ["a multipart without a boundary", "mixed", "pens"],
    ["a multipart with a different boundary", "mixed; boundary=z", `${part("text/plain", "pens")}--b--`],
    ["a boundary that ends in a space", 'mixed; boundary="b "', `${part("text/plain", "pens")}--b--`],
  ])("finds the text of %s", async (_what, subtype, body) => {
    expect(await bodyOf(`multipart/${subtype}`, body)).toBe("pens");
  });

  it.each([
    ["Please use an HTML capable program to read this message.", "The pens in the catalog cost two dollars each."],
    ["To view this email in a browser, click here.", "The pens in the catalog cost two dollars each."],
  ])("finds the text in HTML next to the stub %j", async (plain, html) => {
    const body = `${part("text/plain", plain)}${part("text/html", `<p>${html}</p>`)}--b--`;
    expect(await bodyOf("multipart/alternative; boundary=b", body)).toBe(html);
  });

  it("finds a short plain part about HTML", async () => {
    const plain = "This email tests a parser, with some funky HTML code.";
    const body = `${part("text/plain", plain)}${part("text/html", `<p>${"pens ".repeat(20)}</p>`)}--b--`;
    expect(await bodyOf("multipart/alternative; boundary=b", body)).toBe(plain);
  });

  it("reads a multipart in base64", async () => {
    const body = Buffer.from(`${part("text/plain", "pens")}--b--`).toString("base64");
    expect(await bodyOf("multipart/mixed; boundary=b", body, "base64")).toBe("pens");
  });

  it("reads at most 10,000 parts of a hostile multipart", async () => {
    const body = `${"--b\nx\n".repeat(12_000)}--b--`;
    const text = await bodyOf("multipart/mixed; boundary=b", body);
    expect(text.split("x").length - 1).toBe(12_000);
  });

  it.each([
    ["plain text labeled base64", "base64", "Two pens, please."],
    ["a footer after base64", "base64", `${Buffer.from("Two pens, please.").toString("base64")}\n`],
    ["uuencode", "x-uuencode", "begin 644 a\n15'=O('!E;G,L('!L96%S92X \n`\nend\n"],
    ["a comment before the encoding", "(x) quoted-printable", "Two pens=2C please."],
  ])("reads %s", async (_what, encoding, body) => {
    expect(await bodyOf("text/plain", body, encoding)).toBe("Two pens, please.");
  });
});

describe("the decoder of parseEmail", () => {
  it.each([
    ["cp437", [0x81], "ü"],
    ["cp-850", [0x81], "ü"],
    ["latin9", [0xa4], "€"],
    ["x-unknown", [0xc3, 0xbc], "ü"],
    ["unknown-8bit", [0xfc], "ü"],
    ["utf-7", [0x2b, 0x41, 0x50, 0x77, 0x2d], "ü"],
    ["iso-2022-kr", [0x1b, 0x24, 0x29, 0x43, 0x0e, 0x47, 0x51, 0x0f], "한"],
    ["charset=iso-8859-2", [0xb3], "ł"],
    ["us-ascii", [0xef, 0xbb, 0xbf, 0x61], "a"],
    ["us-ascii", [0xff, 0xfe, 0x61, 0x00], "a"],
  ])("decodes %s", async (charset, bytes, text) => {
    expect(await bodyOf(`text/plain; charset="${charset}"`, Buffer.from(bytes))).toBe(text);
  });

  it("decodes UTF-8 with an East Asian charset label, but other bytes according to the label", async () => {
    const utf8 = Buffer.from("下周的会议 pens");
    for (const label of ["gb2312", "big5", "shift_jis", "euc-kr"]) {
      expect(await bodyOf(`text/plain; charset=${label}`, utf8)).toBe("下周的会议 pens");
    }
    // 联通 in GB 2312, which is also valid UTF-8.
    expect(await bodyOf("text/plain; charset=gb2312", Buffer.from("c1aacda8", "hex"))).toBe("联通");
  });

  it("decodes HTML according to its meta element", async () => {
    const html = Buffer.from('<meta charset="koi8-r"><p>\xcd\xc9\xd2</p>', "latin1");
    expect(await bodyOf("text/html", html)).toBe("мир");
  });
});

describe("normalizeSubject", () => {
  it.each([
    ["a character split between words", "=?UTF-8?Q?caf=C3?= =?utf-8?q?=A9?=", "café"],
    ["raw bytes in a word", "=?iso-8859-1?Q?caf\u00e9=20?=x", "café x"],
    ["UTF-7", "=?utf-7?Q?caf+AOk-?=", "café"],
    ["a word without a charset", "=??Q?caf=C3=A9?=", "café"],
  ])("decodes %s", (_what, subject, text) => {
    expect(normalizeSubject(subject)).toBe(text);
  });
});

describe("the HTML reader of parseEmail", () => {
  it.each([
    ["that contains a bare < and >", "<p>pens < 5 and ink > 2, x<5</p>", "pens < 5 and ink > 2, x<5"],
    [
      "and does not break words",
      "<p><font>p</font>ens <b>i</b>nk qu<o:p>i</o:p>ll pa<!-- x -->per</p>",
      "pens ink quill paper",
    ],
    [
      "that contains rows and cells",
      "<table><tr><td>Pens</td><td>5</td></tr><tr><td>Ink</td><td>2</td></tr></table>",
      "Pens\t5\nInk\t2",
    ],
    ["and leaves out scripts and styles", "<style>p>a{}</style><script>if (a<b) x()</script><p>pens</p>", "pens"],
    ["that contains addresses in angle brackets", "<p>To: Lea <lea@x.example></p>", "To: Lea <lea@x.example>"],
    ["that contains alternative texts", '<p>See <img alt="the pens"> here</p>', "See the pens here"],
    ["that contains quotes", "<p>Mine</p><blockquote>Theirs</blockquote>", "Mine\n\n> Theirs"],
  ])("converts %s", async (_what, html, text) => {
    expect(await bodyOf("text/html", html)).toBe(text);
  });
});

describe("htmlToText", () => {
  it("marks at most 20 quotation levels, so that the text is not longer than its source", () => {
    const nested = (depth: number) => `${"<blockquote>".repeat(depth)}pens${"</blockquote>".repeat(depth)}`;
    expect(htmlToText(nested(3))).toBe("> > > pens");
    expect(htmlToText(nested(500))).toBe(`${"> ".repeat(20)}pens`);
    const lines = `${"<blockquote>".repeat(500)}${"<div>pens</div>".repeat(1_000)}${"</blockquote>".repeat(500)}`;
    expect(htmlToText(lines).length).toBeLessThan(50_000);
  });
});

describe("MboxMessages", () => {
  const mail = (subject: string) =>
    `From: a@x.example\nDate: Sat, 4 Mar 2006 08:15:00 +0000\nSubject: ${subject}\n\npens\n`;
  const split = (text: string) => {
    const messages = new MboxMessages();
    return [...messages.push(Buffer.from(text)), ...messages.end()].map((raw) => raw?.toString() ?? null);
  };

  it.each([
    "From - ",
    "From ",
    "From 184@xxx",
    "From a@x.example Sat, 4 Mar 2006 08:15:00 +0000",
    "From a@x.example 2006-03-04 08:15",
  ])("splits at %j before a header", (separator) => {
    expect(split(`${separator}\n${mail("1")}\n${separator}\n${mail("2")}`)).toHaveLength(2);
  });

  it("splits at a separator even if there is no blank line before it", () => {
    const separator = "From - Sat Mar 04 08:15:00 2006";
    expect(split(`${separator}\n${mail("1")}${separator}\n${mail("2")}`)).toHaveLength(2);
  });

  it.each(["From - well, me and Lea.", "From the pens:\nTo: two\n", "From here"])("does not split at %j", (line) => {
    expect(split(`From \n${mail("1")}\n${line}\n\nend\n`)).toHaveLength(1);
  });
});
