import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import PostalMime, { type Address } from "postal-mime";
import { extract } from "tar-stream";
import { describe, expect, it } from "vitest";
import { normalizeMessageId, normalizeSubject, splitBody } from "../../src/mail/mime/email-fields.js";
import { isoSeconds } from "../../src/mail/mime/mail-date.js";
import { parseEmail } from "../../src/mail/mime/parse-email.js";
import { ENRON, needs } from "../machine-requirements.js";
import { fixtureMails, mutilatedMails } from "./mutilate.js";

/** Compares our parser with the library postal-mime, field by field. Every difference must be intended. */

interface Named {
  readonly how: string;
  readonly raw: Buffer;
}

const FIELDS = ["messageId", "subject", "sender", "to", "cc", "bcc", "date", "body"] as const;
type Field = (typeof FIELDS)[number];
type Fields = Readonly<Record<Field, string>>;
type LibraryMail = Awaited<ReturnType<typeof PostalMime.parse>>;

async function byUs(raw: Buffer): Promise<Fields | null> {
  const email = await parseEmail(raw);
  if (typeof email === "string") return null;
  const { to, cc, bcc, ...rest } = email;
  const messageId = /^<[0-9a-f]{32}@missing>$/.test(email.messageId) ? "" : email.messageId;
  return { ...rest, messageId, to: to.join(", "), cc: cc.join(", "), bcc: bcc.join(", "), date: email.date ?? "" };
}

/** The library's result, in our format. */
function byLibrary(mail: LibraryMail): Fields {
  return {
    messageId: normalizeMessageId(mail.messageId ?? ""),
    subject: normalizeSubject(mail.subject ?? ""),
    sender: addressesOf(mail.from === undefined ? [] : [mail.from])[0] ?? "",
    to: addressesOf(mail.to).join(", "),
    cc: addressesOf(mail.cc).join(", "),
    bcc: addressesOf(mail.bcc).join(", "),
    date: dateOf(mail.date ?? ""),
    body: splitBody(mail.text ?? "").body,
  };
}

/** Lower case, without duplicates, groups replaced by their addresses, names only without any address. */
function addressesOf(list: readonly Address[] | undefined): string[] {
  const flat = (list ?? []).flatMap((entry) => entry.group ?? [entry]);
  const texts = flat.map(({ address, name }) => (address || name || "").replaceAll('"', "").trim().toLowerCase());
  const addresses = texts.filter((text) => text.includes("@"));
  return [...new Set(addresses.length > 0 ? addresses : texts)].filter((text) => text !== "");
}

function dateOf(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? "" : (isoSeconds(date) ?? "");
}

interface Difference {
  readonly field: Field;
  readonly ours: string;
  readonly theirs: string;
  readonly raw: Buffer;
  readonly mail: LibraryMail;
  /** The first value of a header, as unfolded by the library. */
  readonly header: (name: string) => string;
}

/** An intended difference: its name, and a check that recognizes it. */
type Explanation = readonly [name: string, holds: (difference: Difference) => boolean];

const ADDRESSES: readonly Field[] = ["sender", "to", "cc", "bcc"];
const without = (text: string, pattern: RegExp) => text.replace(pattern, "");

/** A date header without any freedom of interpretation (RFC 5322 3.3). */
const PLAIN_DATE =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [1-9]\d{3} \d\d:\d\d(?::[0-5]\d)? [+-]\d{4}(?: \([A-Z]+\))?$/;

const EXPLANATIONS: readonly Explanation[] = [
  // RFC 5322 4.1: a parser must accept them in obsolete syntax. Dropping them would make two addresses equal.
  [
    "control characters in an address stay, and NUL becomes U+FFFD; the library drops them",
    ({ field, ours, theirs }) =>
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them.
      ADDRESSES.includes(field) && without(ours, /[\0-\x1f\x7f\ufffd]/g) === without(theirs, /[\0-\x1f\x7f\ufffd]/g),
  ],
  // RFC 5322 3.4.1 allows `'` in a local part, so the library is right by the letter. Exports leave it at the start of
  // addresses, though: two of the five such addresses in the real mails also occur without it.
  [
    "quotes and brackets around an address are removed",
    ({ field, ours, theirs }) => {
      const bare = (text: string) => [...new Set(text.split(", ").map((one) => without(one, /^[<' ]+|[>' ]+$/g)))];
      return (
        ADDRESSES.includes(field) &&
        /(^|, )[<']|[>'](,|$)/.test(theirs) &&
        ours === bare(theirs).filter(Boolean).join(", ")
      );
    },
  ],
  // RFC 5322 3.4: the comma is required, and an unquoted display name cannot contain `@`. No recipient must be lost.
  [
    "addresses without a comma between them are all read; the library treats the first as a name",
    ({ field, ours, theirs, header }) => {
      const extra = ours.split(", ").filter((one) => !theirs.split(", ").includes(one));
      const words = header(field).toLowerCase().split(/\s+/);
      const isJoined = (one: string) =>
        words.some((word, i) => word.replace(/[,;]$/, "") === one && !/[,;]$/.test(words[i - 1] ?? ","));
      const isNext = (one: string) => words.some((word, i) => word === one && words[i + 1] !== undefined);
      return ADDRESSES.includes(field) && extra.length > 0 && extra.every((one) => isJoined(one) || isNext(one));
    },
  ],
  // RFC 5322 3.6.2: Sender is the mailbox that sent it. The library returns both separately.
  [
    "an email without From uses its Sender",
    ({ field, ours, theirs, mail }) =>
      field === "sender" && theirs === "" && ours === addressesOf(mail.sender === undefined ? [] : [mail.sender])[0],
  ],
  // RFC 5322 4.3 only lets years of two and three digits be adjusted.
  [
    "a four-digit year is kept; the library reads 0001 as 2001",
    ({ field, ours, theirs, header }) =>
      field === "date" && / 000\d /.test(header("date")) && ours.startsWith("000") && ours.slice(2) === theirs.slice(2),
  ],
  // RFC 5322 3.3 allows the second 60.
  [
    "a leap second is the next minute; the library uses the same minute",
    ({ field, ours, theirs, header }) =>
      field === "date" && /:60\b/.test(header("date")) && Date.parse(ours) - Date.parse(theirs) === 60_000,
  ],
  // RFC 5322 4.3 requires the obsolete forms to be accepted.
  [
    "a date in an obsolete or damaged form is read; the library returns its text",
    ({ field, theirs, mail, header }) => field === "date" && theirs === "" && (mail.date ?? "") === header("date"),
  ],
  // RFC 5322 3.3 does not give such text a meaning. `new Date` in the library guesses, in the time zone of the machine.
  [
    "a date in a non-RFC 5322 format is not guessed",
    ({ field, ours, header }) => field === "date" && ours === "" && !PLAIN_DATE.test(header("date")),
  ],
  // Not a matter of an RFC: an email here has one text.
  [
    "HTML without plain text is converted to text; the library returns HTML",
    ({ field, ours, theirs, mail }) => {
      const html = (mail.html ?? "").replaceAll("&amp;", "&");
      return field === "body" && theirs === "" && html !== "" && ours.split(/\s+/).every((word) => html.includes(word));
    },
  ],
  // Not a matter of an RFC: an email here has one text.
  [
    "attachments are listed and read after the text",
    ({ field, ours, theirs }) =>
      field === "body" && ours.startsWith(theirs) && /^\s*Attachments:\n- /.test(ours.slice(theirs.length)),
  ],
  // RFC 2045 5.2 (a broken type is text/plain) and RFC 2046 4.1.4 (an unknown text type is treated as text/plain).
  [
    "text with an unknown or broken type is read as text; for the library it is an attachment",
    ({ field, ours, theirs, mail }) =>
      field === "body" &&
      theirs === "" &&
      mail.attachments.some(({ content }) => inAscii(attached(content)) === inAscii(ours)),
  ],
  // RFC 5322 2.2: a header consists of fields. Otherwise, text after a missing blank line is lost.
  [
    "a line that is not a field ends the header, as in Python's email",
    ({ field, ours, theirs, raw }) =>
      /^(?![!-~]+:|[ \t\r]|>?From |$)/m.test(
        raw
          .toString("latin1")
          .replace(/\r\n?/g, "\n")
          .split(/\n\s*\n/)[0] ?? "",
      ) && (field === "body" ? ours.includes(theirs.slice(0, 20)) : ours === ""),
  ],
  // RFC 5322 2.2.3: such a line lacks the white space of a folded one. Skipping it loses recipients.
  [
    "a line without a colon continues the subject or the addresses before it; the library skips it",
    ({ field, ours, theirs, raw }) =>
      /^(?:subject|sender|to|cc|bcc)$/.test(field) &&
      ours.startsWith(theirs) &&
      raw
        .toString("utf8")
        .toLowerCase()
        .split(/\r\n?|\n/)
        .includes(ours.slice(theirs.length).trim().toLowerCase()),
  ],
  // RFC 6532 3.2 allows UTF-8 only. Other bytes are from before it, and U+FFFD loses them.
  [
    "header bytes that are not UTF-8 are windows-1252; the library returns U+FFFD",
    ({ field, theirs }) => field !== "body" && theirs.includes("\ufffd"),
  ],
  // RFC 2045 6.8 leaves open what to do with text that is not base64. Otherwise, the email would be empty.
  [
    "a multipart or base64 body with an invalid encoding is kept as text",
    ({ field, ours, header }) =>
      field === "body" &&
      ours !== "" &&
      (/multipart/i.test(header("content-type")) || /base64/i.test(header("content-transfer-encoding"))),
  ],
  // RFC 2046 4.1.2: the label is wrong if the bytes are invalid in it, and decoding them with it gives U+FFFD.
  [
    "a body with a wrong charset label is decoded based on its bytes",
    ({ field, ours, theirs, raw }) =>
      field === "body" &&
      !isUtf8(bodyOf(raw)) &&
      /charset/i.test(raw.toString("latin1")) &&
      inAscii(ours) === inAscii(theirs),
  ],
  // RFC 2046 4.1.2 makes the label decisive. An exporter that converts to UTF-8 leaves it, and text of a single-byte
  // charset is practically never valid UTF-8 by chance.
  [
    "UTF-8 is kept for any label",
    ({ field, ours, theirs, raw }) => field === "body" && isUtf8(bodyOf(raw)) && inAscii(ours) === inAscii(theirs),
  ],
  // RFC 2045 5.2: text without a label is US-ASCII, so any other byte is a guess. This one does not lose text.
  [
    "unlabeled eight-bit text that is not UTF-8 is windows-1252; the library returns U+FFFD",
    ({ field, ours, theirs, mail }) =>
      field === "body" &&
      !/charset/i.test(mail.headers.find(({ key }) => key === "content-type")?.value ?? "") &&
      theirs.includes("\ufffd") &&
      inAscii(ours) === inAscii(theirs),
  ],
];

/** The comparable part of two decodings of the same bytes. */
const inAscii = (text: string) => text.replace(/[^\n -~]+/g, "?");

const attached = (content: string | Uint8Array | ArrayBuffer) =>
  splitBody(typeof content === "string" ? content : Buffer.from(content as ArrayBuffer).toString("latin1")).body;

const bodyOf = (raw: Buffer) => raw.subarray(/\n\r?\n/.exec(raw.toString("latin1"))?.index ?? raw.length);

// RFC 5322 2.3 forbids it. Classic Mac OS and damaged exports end lines this way.
const LONE_CR = "a lone CR ends a line";

/** How often each explanation was needed, and the unexplained differences. */
async function compare(mails: readonly Named[]) {
  const explained: Record<string, number> = {};
  const unexplained: string[] = [];
  let compared = 0;
  for (const { how, raw } of mails) {
    const ours = await byUs(raw);
    if (ours === null) continue;
    compared++;
    const library = await libraryOf(raw);
    // The parser's own result, used only if the email itself does not explain a difference.
    const withLineEnds = Buffer.from(raw.toString("latin1").replace(/\r(?!\n)/g, "\r\n"), "latin1");
    for (const field of FIELDS) {
      if (ours[field] === library.fields[field]) continue;
      const difference = { field, ours: ours[field], raw };
      let name = nameOf({ ...difference, ...library, theirs: library.fields[field] });
      if (name === null && !withLineEnds.equals(raw)) {
        const mended = await libraryOf(withLineEnds);
        const theirs = mended.fields[field];
        if (theirs === ours[field] || nameOf({ ...difference, ...mended, theirs }) !== null) name = LONE_CR;
      }
      if (name !== null) explained[name] = (explained[name] ?? 0) + 1;
      else unexplained.push(`${how}, ${field}: ${excerpts(ours[field], library.fields[field])}`);
    }
  }
  return { compared, explained, unexplained };
}

async function libraryOf(raw: Buffer) {
  const mail = await PostalMime.parse(raw);
  const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value ?? "";
  return { mail, header, fields: byLibrary(mail) };
}

function nameOf(difference: Difference): string | null {
  return EXPLANATIONS.find(([, holds]) => holds(difference))?.[0] ?? null;
}

function excerpts(ours: string, theirs: string): string {
  let at = 0;
  while (ours[at] === theirs[at]) at++;
  const [one, other] = [ours, theirs].map((text) => JSON.stringify(text.slice(Math.max(0, at - 30), at + 60)));
  return `at ${at} we read ${one}, the library ${other}`;
}

async function realMails(): Promise<Named[]> {
  const archive = extract();
  archive.end(gunzipSync(readFileSync(join(ENRON, "maildir.tar.gz"))));
  const mails: Named[] = [];
  for await (const entry of archive) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk);
    if (entry.header.type === "file") mails.push({ how: entry.header.name, raw: Buffer.concat(chunks) });
  }
  return mails;
}

describe("the parser and postal-mime", () => {
  it("differ over the fixture emails only in intended ways", async () => {
    const { compared, explained, unexplained } = await compare(
      fixtureMails().map((raw, n) => ({ how: `fixture mail ${n}`, raw })),
    );
    expect(unexplained).toEqual([]);
    expect(compared).toBe(529);
    expect(explained).toEqual({
      "quotes and brackets around an address are removed": 1,
      "an email without From uses its Sender": 1,
      "a four-digit year is kept; the library reads 0001 as 2001": 2,
      "a leap second is the next minute; the library uses the same minute": 1,
      "a date in an obsolete or damaged form is read; the library returns its text": 1,
      "HTML without plain text is converted to text; the library returns HTML": 1,
      "text with an unknown or broken type is read as text; for the library it is an attachment": 1,
    });
  });

  it("differ over 500 mutilated emails only in intended ways", async () => {
    const { compared, unexplained } = await compare(mutilatedMails(500, 7));
    expect(unexplained).toEqual([]);
    expect(compared).toBeGreaterThan(450);
  });

  it("differ over mislabeled UTF-8", async () => {
    const raw = Buffer.from("Subject: x\nContent-Type: text/plain; charset=iso-8859-1\n\nGrüße aus Köln");
    expect(await compare([{ how: "UTF-8", raw }])).toMatchObject({
      explained: { "UTF-8 is kept for any label": 1 },
      unexplained: [],
    });
  });

  it("differ over 1,329 real emails only in the quotes around addresses", needs("real-mail"), async () => {
    const { compared, explained, unexplained } = await compare(await realMails());
    expect(unexplained).toEqual([]);
    expect(compared).toBe(1329);
    expect(explained).toEqual({ "quotes and brackets around an address are removed": 14 });
  });
});
