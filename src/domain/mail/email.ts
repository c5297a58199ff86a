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
  /** What became of it on the way; left out where nothing did. */
  readonly asWritten?: AsWritten;
}

/** What tidying a mail took away, for those who measure it as it was written. */
export interface AsWritten {
  /** White space before and behind the body, with LF as its line ends. */
  readonly beforeBody: string;
  readonly behindBody: string;
  /** Of to, cc and bcc, an address counted as often as it stands there. */
  readonly recipients: number;
}

/** A mail and the place it was filed in. */
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
export interface CorpusBatch {
  readonly emails: readonly FiledEmail[];
  readonly bad: readonly BadEmail[];
  /** Bytes of the source used up so far, comparable with `CorpusSource.totalBytes`. */
  readonly bytesRead: number;
}

export const CORPUS_FORMATS = ["maildir", "tar", "kaggle-csv", "parsed-csv", "parquet", "mbox", "eml"] as const;

export type CorpusFormat = (typeof CORPUS_FORMATS)[number];

/** An opened source of mail. Reading stops between batches when the signal aborts. */
export interface CorpusSource {
  readonly format: CorpusFormat;
  /** Size to measure progress against; null where it is not known beforehand. */
  readonly totalBytes: number | null;
  batches(signal: AbortSignal): AsyncIterable<CorpusBatch>;
}
