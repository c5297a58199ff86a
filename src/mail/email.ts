/** Start of quoted text: a rule, a `>`, a header in the body, or a line that ends in "wrote:". */
const QUOTED = /(?<!-)-{3,}\s*(?:original message|forwarded by)|^>|^[ \t]*from: |\bwrote:[ \t]*$/im;

/** Every match of `QUOTED` in practice contains a rule, a `>` or one of these, which are found ten times as fast. */
const QUOTED_WORDS = ["rom: ", "ROM: ", "rote:", "ROTE:"];

/** Where quoted or forwarded mail starts in a body; -1: nowhere. */
export function quotedStart(body: string): number {
  return mayQuote(body) ? body.search(QUOTED) : -1;
}

/** What the sender wrote: the body before the mail that it quotes. */
export function ownText(body: string): string {
  const quoted = quotedStart(body);
  if (quoted === -1) return body.trim();
  // "On May 1 Bo Kim wrote:" is no text of the sender's.
  const isWrote = /^wrote:/i.test(body.slice(quoted, quoted + 6));
  return body.slice(0, isWrote ? body.lastIndexOf("\n", quoted) + 1 : quoted).trim();
}

function mayQuote(body: string): boolean {
  // Most texts have no colon, which rules the words out at once.
  const hasWord = () => body.includes(":") && QUOTED_WORDS.some((word) => body.includes(word));
  return body.includes("---") || body.includes(">") || hasWord();
}

/** A subject without its Re:, Fw: and Fwd:. */
export function plainSubject(subject: string): string {
  return subject.replace(/^(\s*(re|fwd?)\s*:)+/i, "").trim();
}

/** A Message-ID without its angle brackets: both spellings are in use. */
export function bareMessageId(messageId: string): string {
  return messageId.trim().replace(/^<|>$/g, "");
}

type Shown = Pick<Email, "messageId" | "date" | "sender" | "to" | "cc" | "bcc" | "subject" | "body">;

/** A mail as text: its headers, an empty line, its body. `labelWidth` aligns the values of the headers. */
export function formatMail(mail: Shown, labelWidth = 0): string {
  const header = (label: string, value: string) => `${`${label}:`.padEnd(labelWidth)} ${value}`;
  const list = (label: string, addresses: readonly string[]) =>
    addresses.length === 0 ? [] : [header(label, addresses.join(", "))];
  return [
    header("Message-ID", mail.messageId),
    header("Date", mail.date ?? "unknown"),
    header("From", mail.sender),
    ...list("To", mail.to),
    ...list("Cc", mail.cc),
    ...list("Bcc", mail.bcc),
    header("Subject", mail.subject),
    "",
    mail.body,
  ].join("\n");
}

/** One mail, as every reader gives it. Addresses are lower case; lists keep the header's order. */
export interface Email {
  /** With its angle brackets, as in the header: `<123.JavaMail.evans@thyme>`. */
  readonly messageId: string;
  readonly subject: string;
  readonly sender: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  /** ISO 8601 in UTC, to the second (`2001-05-14T16:39:00Z`); null where the header has no readable date. */
  readonly date: string | null;
  /** Decoded text, lines ended by LF, without white space at its end. */
  readonly body: string;
  /** Left out if the header has no display names. */
  readonly headerNames?: HeaderNames;
  /** What became of it on the way; left out where nothing did. */
  readonly asWritten?: AsWritten;
}

/** The display names in a header, as written: read further only for the first of the copies of an email. */
export interface HeaderNames {
  /** Next to the addresses of From, To, Cc and Bcc. */
  readonly names: readonly string[];
  /** Fields in which Enron's export lists names: X-From, X-To, X-cc and X-bcc. */
  readonly lists: readonly string[];
}

/** What tidying a mail took away, for those who measure it as it was written. */
export interface AsWritten {
  /** White space before and behind the body, with LF as its line ends. */
  readonly beforeBody: string;
  readonly behindBody: string;
  /** Of to, cc and bcc, an address counted as often as it stands there. */
  readonly recipients: number;
}

export interface FiledEmail extends Email {
  /** Path under the mail root, `crandell-s/calendar/1.`; empty where the form has no folders. */
  readonly path: string;
  /** The owner folder, `crandell-s`; null where the form has none. */
  readonly owner: string | null;
  /** The mailbox address where the form itself names it (parsed CSV); null elsewhere. */
  readonly inbox: string | null;
}

/** A mail that could not be used: where it stood and why, in words for the user. */
export interface BadEmail {
  readonly where: string;
  readonly reason: string;
}

/** What a reader gives at a time: mails, the bad ones among them, and how far it has come in its source. */
export interface CorpusBatch<Mail = FiledEmail> {
  readonly mails: readonly Mail[];
  readonly bad: readonly BadEmail[];
  /** Bytes of the source used up so far, comparable with `CorpusSource.totalBytes`. */
  readonly bytesRead: number;
}

export const CORPUS_FORMATS = ["maildir", "tar", "kaggle-csv", "parsed-csv", "parquet", "mbox", "eml"] as const;

export type CorpusFormat = (typeof CORPUS_FORMATS)[number];

/** An opened source of mail. Reading stops between batches when the signal aborts. */
export interface CorpusSource<Mail = FiledEmail> {
  readonly format: CorpusFormat;
  /** Size to measure progress against; null where it is not known beforehand. */
  readonly totalBytes: number | null;
  batches(signal: AbortSignal): AsyncIterable<CorpusBatch<Mail>>;
}
