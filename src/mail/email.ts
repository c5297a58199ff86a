// The types of an email: as readers return it, as it was filed, and why one was skipped.
import { withoutQuotations } from "./email/quoted-text.js";

type Shown = Pick<Email, "messageId" | "date" | "sender" | "to" | "cc" | "bcc" | "subject" | "body">;

/** An email as returned by every reader. Addresses are lower case, and lists keep the header's order. */
export interface Email {
  /** Message-ID with its angle brackets, as in the header: `<123.JavaMail.evans@thyme>`. */
  readonly messageId: string;
  readonly subject: string;
  readonly sender: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  /**
   * ISO 8601 in UTC, to the second (`2001-05-14T16:39:00Z`), or null if the header does not contain a readable date.
   */
  readonly date: string | null;
  /** Decoded text with LF line ends, without trailing white space. */
  readonly body: string;
  /** Absent if the header does not contain display names. */
  readonly headerNames?: HeaderNames;
  /** The address of Delivered-To, or X-Original-To. Absent if the header contains neither. */
  readonly deliveredTo?: string;
  /** Message-IDs in In-Reply-To and References, the closest first. Absent if the header does not contain any. */
  readonly references?: readonly string[];
  /** Changes made when the email was tidied. Absent if nothing changed. */
  readonly asWritten?: AsWritten;
}

/** The display names in a header, as written. Only those of an email's first copy are parsed further. */
export interface HeaderNames {
  /** Names next to the addresses in From, To, Cc and Bcc. */
  readonly names: readonly string[];
  /** The address next to each name, or an empty string if unknown. */
  readonly addresses: readonly string[];
  /** Values of X-From, X-To, X-cc and X-bcc, the name lists of Enron's export. */
  readonly lists: readonly string[];
  /** Value of X-From: the sender's name. */
  readonly senderName: string;
}

/** Data removed when the email was tidied, for measurements of the original. */
export interface AsWritten {
  /** White space before and after the body, with LF line ends. */
  readonly beforeBody: string;
  readonly behindBody: string;
  /** Number of addresses in to, cc and bcc, including repeats. */
  readonly recipients: number;
}

export interface FiledEmail extends Email {
  /** Path below the mail root (`crandell-s/calendar/1.`), or an empty string if the form does not have folders. */
  readonly path: string;
  /**
   * Place of the owner's account: the source and the path of the account's folder in it. Only the name in the CMU
   * layout (`crandell-s`). Null if the email is not in a folder.
   */
  readonly owner: string | null;
  /** Mailbox address, or null if the form itself does not contain it (only parsed CSV does). */
  readonly inbox: string | null;
  readonly form: MailForm;
}

/**
 * The form of an email's source file. `eml` is a single email in a file with an extension. `maildir` is a single email
 * in a file without one (Maildir, MH, the CMU layout).
 */
export type MailForm = "mbox" | "maildir" | "eml" | "emlx" | "kaggle-csv" | "parsed-csv" | "parquet";

/** A skipped email or file with its location and the reason, worded as the end of a sentence. */
export interface BadEmail {
  readonly where: string;
  readonly reason: string;
  /** True for files that mail programs and systems store next to mail, such as indexes. `--strict` ignores them. */
  readonly isSideFile?: true;
}

/** What was not read from a mail table. */
export interface ReadTable {
  readonly where: string;
  /** Names of the columns that were not read. */
  readonly unread: readonly string[];
  /** Fields without a column. */
  readonly missing: readonly string[];
  /** Number of cells with a date. */
  readonly dates: number;
  /** Number of these that are not readable. */
  readonly unreadDates: number;
  /** Number of cells that are not UTF-8 and were read as windows-1252. */
  readonly foreignCells: number;
}

/** A batch of emails from a reader, with the bad emails and the reader's progress in its source. */
export interface CorpusBatch<Mail = FiledEmail> {
  readonly mails: readonly Mail[];
  readonly bad: readonly BadEmail[];
  /** Tables that were read to their end in this batch. */
  readonly tables?: readonly ReadTable[];
  /** Bytes of the source read so far, comparable with `CorpusSource.totalBytes`. */
  readonly bytesRead: number;
}

/** An open mail source. If the signal aborts, reading stops at the end of the batch. */
export interface CorpusSource<Mail = FiledEmail> {
  readonly format: CorpusFormat;
  /** Total size in bytes for progress reports, or null if it is not known in advance. */
  readonly totalBytes: number | null;
  batches(signal: AbortSignal): AsyncIterable<CorpusBatch<Mail>>;
}

export const CORPUS_FORMATS = ["maildir", "tar", "kaggle-csv", "parsed-csv", "parquet", "mbox", "eml", "zip"] as const;

export type CorpusFormat = (typeof CORPUS_FORMATS)[number];

/** Returns the sender's own text: the body without quoted and forwarded email. Empty if everything is quoted. */
export function ownText(body: string): string {
  const mayQuote = body.includes(">") || /[:：]/.test(body) || body.includes("--");
  return mayQuote ? withoutQuotations(body) : body.trim();
}

/** Returns the addresses in To, Cc and Bcc. One can occur several times. */
export function recipientsOf({ to, cc, bcc }: Pick<Email, "to" | "cc" | "bcc">): readonly string[] {
  return [...to, ...cc, ...bcc];
}

/** Removes the angle brackets from a Message-ID. Both spellings are in use. */
export function bareMessageId(messageId: string): string {
  return messageId.trim().replace(/^<|>$/g, "");
}

/** Formats an email as text: headers, an empty line, and the body. `labelWidth` aligns the header values. */
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
