import { withoutQuotations } from "./email/quoted-text.js";

/** What the sender wrote: the body without quoted and forwarded email. Empty if everything is quoted. */
export function ownText(body: string): string {
  const mayQuote = body.includes(">") || /[:：]/.test(body) || body.includes("--");
  return mayQuote ? withoutQuotations(body) : body.trim();
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
  readonly form: MailForm;
}

/**
 * The form of the file that an email was read from. `eml` is one email in a file with an extension, `maildir` one in a
 * file without (Maildir, MH, the CMU layout).
 */
export type MailForm = "mbox" | "maildir" | "eml" | "emlx" | "kaggle-csv" | "parsed-csv" | "parquet";

/** A skipped email or file: its location and the reason, as the end of a sentence. */
export interface BadEmail {
  readonly where: string;
  readonly reason: string;
  /** Set for files that mail programs and systems keep next to mail, such as indexes. `--strict` ignores them. */
  readonly isSideFile?: true;
}

/** What a reader gives at a time: mails, the bad ones among them, and how far it has come in its source. */
export interface CorpusBatch<Mail = FiledEmail> {
  readonly mails: readonly Mail[];
  readonly bad: readonly BadEmail[];
  /** Bytes of the source used up so far, comparable with `CorpusSource.totalBytes`. */
  readonly bytesRead: number;
}

export const CORPUS_FORMATS = ["maildir", "tar", "kaggle-csv", "parsed-csv", "parquet", "mbox", "eml", "zip"] as const;

export type CorpusFormat = (typeof CORPUS_FORMATS)[number];

/** An opened source of mail. Reading stops between batches when the signal aborts. */
export interface CorpusSource<Mail = FiledEmail> {
  readonly format: CorpusFormat;
  /** Size to measure progress against; null where it is not known beforehand. */
  readonly totalBytes: number | null;
  batches(signal: AbortSignal): AsyncIterable<CorpusBatch<Mail>>;
}
