// Recognizes the kind of a file from its first bytes, and explains why a file is not mail.
import { NO_HEADER, type RawMail, readMailFields } from "../../mime/email-fields.js";
import { type CsvTable, csvNames, findCsvTable, missingColumns } from "./csv.js";
import { isGzip } from "./gunzip.js";
import { hasSeparator, isMboxStart } from "./mbox.js";

/** The kind of a file, detected from its first bytes. */
export type FileKind =
  | { readonly kind: "parquet" | "gzip" | "tar" | "zip" | "mbox" | "email" }
  | { readonly kind: "csv"; readonly table: CsvTable }
  /** `reason` is worded as the end of a sentence. */
  | { readonly kind: "unknown"; readonly reason: string; readonly isSideFile: boolean };

interface KnownFile {
  /** First bytes, decoded as latin1. */
  readonly start: string;
  readonly reason: string;
  readonly isSideFile: boolean;
}

/** Number of bytes to inspect. Enough for an mbox separator, a CSV header or the header of an email. */
export const HEAD_BYTES = 64 * 1024;

/**
 * Returns whether a file's name or place says that it is a single email. One header field makes such a file an email.
 */
function claimsToBeEmail(name: string, isInMaildir: boolean): boolean {
  return isInMaildir || /^\d+\.?$|\.(?:eml|emlx)$/i.test(name);
}

/** Returns whether a file that is not mail is unusable. All others, which programs keep next to mail, are left out. */
export function claimsToBeMail(name: string, isInMaildir: boolean): boolean {
  return claimsToBeEmail(name, isInMaildir) || /\.(?:mbox|mbx|csv|tsv|parquet|zip|tar|tgz|gz)$/i.test(name);
}

/** Whether a file that is in memory is a single email. Fast, because it is called for every file of a corpus. */
export function isPlainEmail(bytes: Buffer, name: string, isInMaildir: boolean): boolean {
  if (!beginsWithField(bytes)) return false;
  return claimsToBeEmail(name, isInMaildir) || recognize(bytes, true, name).kind === "email";
}

function beginsWithField(bytes: Buffer): boolean {
  for (let i = 0; i < 100; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === COLON) return i > 0 && !isTar(bytes);
    // Only letters, digits and hyphens.
    if (
      !((byte > 0x60 && byte < 0x7b) || (byte > 0x40 && byte < 0x5b) || (byte > 0x2f && byte < 0x3a) || byte === HYPHEN)
    ) {
      return false;
    }
  }
  return false;
}

const COLON = 0x3a;
const HYPHEN = 0x2d;

/** @param isWhole whether the head is the entire file */
export function recognize(head: Buffer, isWhole: boolean, name: string, isInMaildir = false): FileKind {
  if (head.length === 0) return { kind: "unknown", reason: "it is empty", isSideFile: false };
  if (head.subarray(0, 4).toString("latin1") === "PAR1") return { kind: "parquet" };
  if (isGzip(head)) return { kind: "gzip" };
  if (isTar(head)) return { kind: "tar" };
  if (ZIP_STARTS.includes(head.toString("hex", 0, 4))) {
    if (/\.olm$/i.test(name)) return { kind: "unknown", reason: OLM, isSideFile: false };
    return { kind: "zip" };
  }
  if (isMboxStart(head)) return { kind: "mbox" };
  const start = head.toString("latin1", 0, 512);
  const file = KNOWN_FILES.find((format) => start.startsWith(format.start));
  if (file !== undefined) return { kind: "unknown", reason: file.reason, isSideFile: file.isSideFile };
  const isEmail = claimsToBeEmail(name, isInMaildir);
  const table = isEmail && beginsWithField(head) ? null : findCsvTable(head, isWhole, null);
  if (table !== null) return { kind: "csv", table };
  const mail = head.subarray(emlxLineLength(head));
  const fields = readMailFields(mail);
  if (isEmail && typeof fields !== "string") return { kind: "email" };
  // The first separator of an mbox can be missing, quoted or truncated.
  if (hasSeparator(head)) return { kind: "mbox" };
  if (typeof fields !== "string" && hasMailHeader(fields, mail)) return { kind: "email" };
  return {
    kind: "unknown",
    reason: reasonOf(head, name, typeof fields === "string" ? fields : NO_HEADER),
    isSideFile: false,
  };
}

/**
 * Whether a header has two fields of an email, or one with a field that mail servers and programs add. Notes, settings
 * and HTTP responses can also begin with `Date:` or `To:`.
 */
function hasMailHeader({ fields }: RawMail, mail: Buffer): boolean {
  const { messageId, subject, from, to, date } = fields;
  const header = mail.toString("latin1", 0, 8 * 1024).split(/\r?\n\r?\n/, 1)[0] ?? "";
  if (messageId === "" && HTTP_FIELD.test(header)) return false;
  const found = [messageId, subject, date ?? "", from.includes("@") ? from : "", to.includes("@") ? to : ""];
  if (found.filter((field) => field !== "").length > 1) return true;
  return /^(?:received|return-path|mime-version|delivered-to|x-[\w-]+)[ \t]*:/im.test(header);
}

/** Fields that only HTTP uses. */
const HTTP_FIELD =
  /^(?:server|host|etag|cache-control|set-cookie|last-modified|accept-ranges|vary|transfer-encoding)[ \t]*:/im;

/** Signatures of a local file header, an empty archive, and the first part of a split one. */
const ZIP_STARTS = ["504b0304", "504b0506", "504b0708"];

/** POSIX and GNU tar both write `ustar` at byte 257. */
function isTar(head: Buffer): boolean {
  return head[257] === 0x75 && head.subarray(257, 262).toString("latin1") === "ustar";
}

/** Returns the length of the line with the byte count at the start of Apple Mail's .emlx, or 0 for any other file. */
export function emlxLineLength(head: Buffer): number {
  return /^\d{1,10}[ \t]*\r?\n/.exec(head.toString("latin1", 0, 32))?.[0].length ?? 0;
}

const known = (start: string, reason: string): KnownFile => ({ start, reason, isSideFile: false });
const sideFile = (start: string, reason: string): KnownFile => ({ start, reason, isSideFile: true });

const KNOWN_FILES: readonly KnownFile[] = [
  sideFile("// <!-- <mdb:mork", "it is a Thunderbird index"),
  sideFile("SQLite format 3\0", "it is an SQLite database, not mail"),
  sideFile("bplist00", "it is a property list, not mail"),
  sideFile("\0\x05\x16\0", "it is macOS metadata"),
  sideFile("\0\x05\x16\x07", "it is macOS metadata"),
  sideFile("\0\0\0\x01Bud1", "it is macOS metadata"),
  known("!BDN", "it is an Outlook .pst or .ost file: export it as mbox or .eml, for example with readpst"),
  known(
    "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "it is an Outlook .msg or an old Office file: save an email as .eml instead",
  ),
  known("\xcf\xad\x12\xfe", "it is an Outlook Express .dbx file: export it as mbox or .eml"),
  known("\xfd7zXZ\0", "it is an xz file: decompress it first"),
  known("BZh", "it is a bzip2 file: decompress it first"),
  known("\x28\xb5\x2f\xfd", "it is a Zstandard file: decompress it first"),
  known("7z\xbc\xaf\x27\x1c", "it is a 7z archive: unpack it first"),
  known("Rar!\x1a\x07", "it is a RAR archive: unpack it first"),
  known("%PDF-", "it is a PDF, not mail"),
  known("\x1a\0\0\x04\0\0", "it is a Lotus Notes database (.nsf): export it as .eml or mbox"),
  known("version https://git-lfs.github.com/spec/", "it is a Git LFS pointer, not the file itself: run git lfs pull"),
];

const OLM = "it is an Outlook for Mac archive (.olm): export the mail as mbox or .eml";

/** Returns the reason why a text is not mail, with more detail if it is a table, HTML or JSON. */
function reasonOf(head: Buffer, name: string, reason: string): string {
  const start = head
    .toString("latin1", 0, 512)
    .replace(/^\xef\xbb\xbf/, "")
    .trimStart();
  if (/^<(?:!doctype html|html|head|body)\b/i.test(start)) return "it is HTML, not an email: export it as .eml";
  if (/^(?:\[\s*)?\{\s*"/.test(start)) return "it is JSON, not mail: convert it to CSV, Parquet or .eml";
  if (!/\.(?:csv|tsv)$/i.test(name)) return reason;
  const names = csvNames(head);
  if (names.length < 2) return reason;
  const missing = missingColumns(names);
  const absent = missing.length < missingColumns([]).length ? `a column for ${missing.join(", ")}` : "mail columns";
  return `it is a table without ${absent}: its columns are ${names.join(", ")}`;
}

/** Names of files that mail programs and servers store next to mail. */
export const SIDE_FILE =
  /^(?:dovecot[\w.-]*|courier[\w.-]*|maildir(?:folder|size)|subscriptions|\.subscriptions|\.mh_sequences|\.uidvalidity|\.mbsyncstate.*|\.isyncuidmap\.db|table_of_contents|msgFilterRules\.dat|filterlog\.html|popstate\.dat|feeds\.rdf|Info\.plist|\.DS_Store|Thumbs\.db|desktop\.ini|\..*\.swp|.*\.msf|.*\.wdseml|.*\.parquet\.json|\._.*)$/i;
