import { describe, expect, it } from "vitest";
import { isMboxStart, MboxMessages } from "../../src/mail/import/readers/mbox.js";

/** Separators of mail programs, and text that looks like one (RFC 4155 does not define the form of the separator). */

const email = (subject: string, body = "Plums.") =>
  `From: lea@x.example\nDate: Sat, 4 Mar 2006 08:15:00 +0000\nSubject: ${subject}\n\n${body}\n`;

/** Reads an mbox in pieces of this size. Returns its emails. */
function split(text: string, size = Number.MAX_SAFE_INTEGER): string[] {
  const bytes = Buffer.from(text);
  const messages = new MboxMessages();
  const found: (Buffer | null)[] = [];
  for (let at = 0; at < bytes.length; at += size) found.push(...messages.push(bytes.subarray(at, at + size)));
  return [...found, ...messages.end()].map((raw) => raw?.toString() ?? "(too large)");
}

const ASCTIME = "From lea Sat Mar  4 08:15:00 2006";

describe("the separators of MboxMessages", () => {
  it.each([
    "From - ",
    "From -",
    "From ",
    "From 184567@xxx",
    "From lea@x.example",
    "From lea@x.example Sat, 4 Mar 2006 08:15:00 +0000",
    "From lea@x.example 2006-03-04T08:15:00Z",
    "From lea@x.example Sat Mar 04 08:15 06",
    "From - Sat Mar 04 08:15:00 2006",
    "From 184567@xxx Sat Mar 04 08:15:00 +0000 2006",
    "From ???@??? Sat Mar 04 08:15:00 2006",
    "From lea@x.example  Sat Mar  4 08:15:00 2006 remote from hub",
    "From lea@x.example Sat Mar 4 08:15:00 AM 2006",
    '"From "Lea Ray" Sat Mar  4 08:15:00 2006'.slice(1),
  ])("include %j if a header follows", (separator) => {
    const mbox = `${separator}\n${email("1")}\n${separator}\n${email("2")}`;
    for (const size of [1, 700, 100_000]) {
      expect(split(mbox, size).map((raw) => /Subject: (.*)/.exec(raw)?.[1])).toEqual(["1", "2"]);
    }
    expect(isMboxStart(Buffer.from(mbox))).toBe(true);
  });

  it.each([
    ["a byte order mark", `\ufeff${ASCTIME}\n`],
    ["blank lines", `\n\r\n \n${ASCTIME}\n`],
  ])("include the first separator after %s", (_, start) => {
    expect(split(`${start}${email("1")}\n${ASCTIME}\n${email("2")}`)).toHaveLength(2);
    expect(isMboxStart(Buffer.from(start + email("1")))).toBe(true);
  });

  it.each([
    [
      "Thunderbird's, if a status header follows",
      "From - Sat Mar 04 08:15:00 2006\nX-Mozilla-Status: 0001\nX-Mozilla-Status2: 00000000\n",
      "",
    ],
    ["any, if the end of a multipart precedes it", `${ASCTIME}\n`, "--b--\n"],
    ["any, if a line of white space precedes it", `${ASCTIME}\n`, " \t\n"],
    ["CRLF", `${ASCTIME}\r\n`, "\r\n"],
  ])("need no blank line before them (%s)", (_, separator, end) => {
    expect(split(`${separator}${email("1")}${end}${separator}${email("2")}${end}`)).toHaveLength(2);
  });

  it("need no address or date if headers of mail programs follow", () => {
    const stored = "Received: from hub\nMessage-ID: <1@x>\nX-UID: 1\n";
    expect(split(`From Lea Ray\n${stored}${email("1")}\nFrom Lea Ray\n${stored}${email("2")}`)).toHaveLength(2);
  });

  it("can precede a header that a program quoted", () => {
    const quoted = `>From hub Sat Mar  4 08:15:00 2006\n>From: lea@x.example\nSubject: 1\nMessage-ID: <1@x>\n\nPlums.\n`;
    expect(split(`${ASCTIME}\n${quoted}\n${ASCTIME}\n${quoted}`)).toHaveLength(2);
  });
});

describe("MboxMessages without a separator", () => {
  it.each([
    ["a sentence", "From here on we take the tram."],
    ["a sentence with a dash", "From - well, me and Tom."],
    ["a sentence with a date", "From the desk of Lea, Sat Mar  4 08:15:00 2006 we move."],
    [
      "a sentence with a date, even if the next line has a colon",
      "From Lea, Sat Mar  4 08:15:00 2006\nNote: bring plums.",
    ],
    ["a separator without a header", `${ASCTIME}\nstill the first email`],
    ["a list", "From the shop:\nTo: two pens\nSubject: ink"],
    [
      "a quoted email after a sentence",
      "From my notes:\nFrom: tom@x.example\nDate: 3 March\nTo: lea@x.example\nSubject: pens",
    ],
    [
      "a git patch",
      "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nFrom: Tom <tom@x.example>\nDate: Sat, 4 Mar 2006 08:15:00 +0000\nSubject: [PATCH] ink",
    ],
  ])("does not split %s", (_, text) => {
    const mails = split(`${ASCTIME}\n${email("1", `Plums.\n\n${text}\n\nend`)}\n${ASCTIME}\n${email("2")}`, 50);
    expect(mails).toHaveLength(2);
    expect(mails[0]).toContain(`${text}\n\nend`);
  });

  it("does not split a text covered by the Content-Length if a separator follows that text", () => {
    const body = `Plums.\n\n${ASCTIME}\n${email("inner")}\nend\n`;
    const mbox = (length: number) =>
      `${ASCTIME}\nContent-Length: ${length}\n${email("1", body.trimEnd())}\n${ASCTIME}\n${email("2")}`;
    for (const size of [1, 9_000]) expect(split(mbox(body.length), size)).toHaveLength(2);
    expect(split(mbox(body.length - 5))).toHaveLength(3);
    expect(split(mbox(1_000_000))).toHaveLength(3);
  });

  it("does not split at unquoted lines of mboxrd", () => {
    expect(split(`${ASCTIME}\n${email("1", ">From here\n>>From there")}`)[0]).toContain("From here\n>From there");
  });
});

describe("isMboxStart", () => {
  it.each([
    "From here on we take the tram.\n",
    "From Lea, Sat Mar  4 08:15:00 2006\nwe move.\n",
    "From: lea@x.example\n\nx",
  ])("rejects %j", (text) => {
    expect(isMboxStart(Buffer.from(text))).toBe(false);
  });
});
