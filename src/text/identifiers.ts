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
    const run = runAt(text, digit.lastIndex - 1, isQuery);
    digit.lastIndex = run.end;
    if (run.pieces === null || !isIdentifier(run.pieces, run.separators)) continue;
    const pieces = run.pieces.map((piece) => piece.toLowerCase());
    runs.push({ pieces, joined: pieces.join("") });
  }
  return runs;
}

const DIGIT = /[0-9]/g;

/**
 * A digit that has a piece before or after its own. Most numbers of an email stand alone, and this pattern skips them
 * ten times as fast as `runAt`.
 */
const DIGIT_IN_RUN =
  /[0-9](?:(?=[0-9A-Za-z\xc0-\uffff]*(?:[ \-./][A-Za-z\xc0-\uffff]*[0-9]|-[A-Za-z\xc0-\uffff]))|(?<=(?:[A-Z][ -]|[a-z]-)[A-Za-z\xc0-\uffff]*[0-9]))/g;

/** Replaces the spaces, hyphens and digits of typography with plain ones. */
export function plainSeparators(text: string): string {
  if (isAscii(text)) return text;
  return plainLetters(text)
    .replace(/[\u00a0\u2007\u2009\u202f]/g, " ")
    .replace(/[\u2010-\u2015\u2212]/g, "-");
}

interface Run {
  /** Null if there is only one piece. */
  readonly pieces: readonly string[] | null;
  readonly separators: readonly number[];
  readonly end: number;
}

/** Returns the run with the digit at an index, whose piece is the first one with a digit. */
function runAt(text: string, digit: number, isQuery: boolean): Run {
  let start = digit;
  while (isPieceUnit(text.charCodeAt(start - 1))) start--;
  let end = endOfPiece(text, digit);
  const prefix = prefixBefore(text, start, isQuery);
  let next = nextPiece(text, end);
  // Most numbers stand alone.
  if (prefix === "" && next === end) return { pieces: null, separators: [], end };
  const pieces = [text.slice(start, end)];
  const separators: number[] = [];
  if (prefix !== "") {
    pieces.unshift(prefix);
    separators.push(text.charCodeAt(start - 1));
  }
  for (; next !== end; next = nextPiece(text, end)) {
    separators.push(text.charCodeAt(end));
    pieces.push(text.slice(end + 1, next));
    end = next;
  }
  return { pieces, separators, end };
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

/** Whether the pieces are not a date, a decimal number, or numbers next to each other. */
function isIdentifier(pieces: readonly string[], separators: readonly number[]): boolean {
  if (pieces.length < 2 || pieces.length > MAX_PIECES) return false;
  const chars = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (chars < MIN_CHARS || chars > MAX_CHARS || !pieces.every(isAscii)) return false;
  const isNumeric = pieces.every((piece) => /^\d+$/.test(piece));
  // `1.5`, `1.0.21`, `192.168.0.1`
  if (separators.includes(POINT)) return isNumeric && pieces.length > 4;
  // `14/05/2001`, `2001-05-14`
  if (isNumeric && pieces.length === 3 && separators[0] !== SPACE && chars <= 8 && pieces.every(isDatePart))
    return false;
  return !isNumeric || separators.some((separator) => separator !== SPACE) || chars >= MIN_SPACED_DIGITS;
}

function isDatePart(piece: string): boolean {
  return piece.length <= 2 || piece.length === 4;
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
