// Identifiers that are written with and without separators, such as phone numbers and part numbers.
import { isAscii, plainLetters } from "./plain-letters.js";

/**
 * Order numbers, card numbers, IBANs and telephone numbers, which people write in pieces (`AB-1234X`, `AB 1234X`,
 * `4111 1111 1111 1234`) or as one word. The index contains the joined word in addition to the pieces, and a query
 * with pieces also searches the joined word.
 */

interface JoinedRun {
  /** In lower case. */
  readonly pieces: readonly string[];
  readonly joined: string;
}

/** Shorter words occur by chance. */
const MIN_CHARS = 5;
const MAX_CHARS = 40;
const MAX_PIECES = 12;

/** Numbers with only spaces between them are separate numbers, unless they have this many digits in total. */
const MIN_SPACED_DIGITS = 8;

/** Longer words before a number are not a part of it. */
const MAX_PREFIX_LETTERS = 4;

const SPACE = 0x20;
const HYPHEN = 0x2d;
const POINT = 0x2e;
const SLASH = 0x2f;

/**
 * Returns the runs of pieces with a digit that could also be written as one word. Single spaces, hyphens, points and
 * slashes separate the pieces. Letters before a space belong to a run if they are capitals or if the text is a query.
 */
export function identifierRuns(text: string, isQuery = false): JoinedRun[] {
  const runs: JoinedRun[] = [];
  const digit = isQuery ? DIGIT : DIGIT_IN_RUN;
  for (digit.lastIndex = 0; digit.test(text); ) {
    const at = digit.lastIndex - 1;
    const end = endOfRun(text, at);
    digit.lastIndex = end;
    const run = text.slice(startOfRun(text, at, isQuery), end);
    if (!isIdentifier(run)) continue;
    const pieces = run.toLowerCase().split(SEPARATOR);
    runs.push({ pieces, joined: pieces.join("") });
  }
  return runs;
}

const SEPARATOR = /[ \-./]/;
const DIGIT = /[0-9]/g;

/**
 * The first digit of a number that has a piece before or after its own. Most numbers of an email stand alone, and this
 * pattern skips them ten times as fast as `endOfRun`.
 */
const DIGIT_IN_RUN =
  /(?<![0-9])[0-9](?:(?=[0-9A-Za-z\xc0-\uffff]*(?:[ \-./][A-Za-z\xc0-\uffff]*[0-9]|-[A-Za-z\xc0-\uffff]))|(?<=(?:[A-Z][ -]|[a-z]-)[A-Za-z\xc0-\uffff]*[0-9]))/g;

/** Replaces the spaces, hyphens and digits of typography with plain ones. */
export function plainSeparators(text: string): string {
  if (isAscii(text)) return text;
  return plainLetters(text)
    .replace(/[\u00a0\u2007\u2009\u202f]/g, " ")
    .replace(/[\u2010-\u2015\u2212]/g, "-");
}

/** Returns the start of the run whose first piece with a digit contains the digit at an index. */
function startOfRun(text: string, digit: number, isQuery: boolean): number {
  let start = digit;
  while (isPieceUnit(text.charCodeAt(start - 1))) start--;
  const prefix = prefixBefore(text, start, isQuery);
  return prefix === "" ? start : start - 1 - prefix.length;
}

function endOfRun(text: string, digit: number): number {
  let end = endOfPiece(text, digit);
  for (let next = nextPiece(text, end); next !== end; next = nextPiece(text, end)) end = next;
  return end;
}

/** Returns the letters before a piece and its separator, or an empty string if they are not part of the run. */
function prefixBefore(text: string, start: number, isQuery: boolean): string {
  const separator = text.charCodeAt(start - 1);
  if (separator !== HYPHEN && separator !== SPACE) return "";
  let first = start - 1;
  while (isPieceUnit(text.charCodeAt(first - 1))) first--;
  const length = start - 1 - first;
  if (length === 0 || length > MAX_PREFIX_LETTERS) return "";
  const prefix = text.slice(first, start - 1);
  return (separator === HYPHEN || isQuery ? /^[a-z]+$/i : /^[A-Z]+$/).test(prefix) ? prefix : "";
}

/** Returns the end of the piece after a separator, or `end` if the run ends there. */
function nextPiece(text: string, end: number): number {
  const separator = text.charCodeAt(end);
  if (separator !== SPACE && separator !== HYPHEN && separator !== POINT && separator !== SLASH) return end;
  const next = endOfPiece(text, end + 1);
  const length = next - end - 1;
  if (length === 0) return end;
  if (separator === HYPHEN && length <= MAX_PREFIX_LETTERS) return next;
  for (let i = end + 1; i < next; i++) if (isDigit(text.charCodeAt(i))) return next;
  return end;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** `14/05/2001`, `2001-05-14` */
const DATE = /^(?:\d{1,2}|\d{4})[-./](?:\d{1,2}|\d{4})[ \-./](?:\d{1,2}|\d{4})$/;
const MAX_DATE_CHARS = 10;

/** Whether a run is not a date, a decimal number, or numbers next to each other. */
function isIdentifier(run: string): boolean {
  // Most runs of an email are dates.
  if (run.length <= MAX_DATE_CHARS && DATE.test(run)) return false;
  const pieces = run.split(SEPARATOR).length;
  const chars = run.length - (pieces - 1);
  if (pieces < 2 || pieces > MAX_PIECES || chars < MIN_CHARS || chars > MAX_CHARS || !isAscii(run)) return false;
  const isNumeric = !/[A-Za-z]/.test(run);
  // `1.5`, `1.0.21`, `192.168.0.1`
  if (run.includes(".")) return isNumeric && pieces > 4;
  return !isNumeric || /[-/]/.test(run) || chars >= MIN_SPACED_DIGITS;
}

function endOfPiece(text: string, from: number): number {
  let end = from;
  while (isPieceUnit(text.charCodeAt(end))) end++;
  return end;
}

/** Characters beyond ASCII belong to a piece, which is then not part of an identifier: `É5` is not `5`. */
function isPieceUnit(unit: number): boolean {
  return isDigit(unit) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x61 && unit <= 0x7a) || unit >= 0xc0;
}
