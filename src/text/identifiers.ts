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
  for (let i = 0; i < text.length; ) {
    const code = text.charCodeAt(i);
    if (code > 0x39 || code < 0x30) {
      i++;
      continue;
    }
    const run = runAt(text, i, isQuery);
    if (isIdentifier(run)) {
      const pieces = run.pieces.map((piece) => piece.toLowerCase());
      runs.push({ pieces, joined: pieces.join("") });
    }
    i = run.end;
  }
  return runs;
}

/** Replaces the spaces, hyphens and digits of typography with plain ones. */
export function plainSeparators(text: string): string {
  if (isAscii(text)) return text;
  return plainLetters(text)
    .replace(/[\u00a0\u2007\u2009\u202f]/g, " ")
    .replace(/[\u2010-\u2015\u2212]/g, "-");
}

interface Run {
  readonly pieces: readonly string[];
  readonly separators: readonly number[];
  readonly end: number;
}

/** Returns the run with the digit at an index, whose piece is the first one with a digit. */
function runAt(text: string, digit: number, isQuery: boolean): Run {
  let start = digit;
  while (isPieceUnit(text.charCodeAt(start - 1))) start--;
  let end = endOfPiece(text, digit);
  const pieces = [text.slice(start, end)];
  const separators: number[] = [];
  const before = text.charCodeAt(start - 1);
  if (before === HYPHEN || before === SPACE) {
    let first = start - 1;
    while (isPieceUnit(text.charCodeAt(first - 1))) first--;
    const prefix = text.slice(first, start - 1);
    const isPart = before === HYPHEN || isQuery ? /^[a-z]{1,4}$/i.test(prefix) : /^[A-Z]{1,4}$/.test(prefix);
    if (isPart) {
      pieces.unshift(prefix);
      separators.push(before);
    }
  }
  for (;;) {
    const separator = text.charCodeAt(end);
    if (separator !== SPACE && separator !== HYPHEN && separator !== POINT && separator !== SLASH) break;
    const next = endOfPiece(text, end + 1);
    const piece = text.slice(end + 1, next);
    if (!(/\d/.test(piece) || (separator === HYPHEN && piece.length > 0 && piece.length <= MAX_PREFIX_LETTERS))) break;
    pieces.push(piece);
    separators.push(separator);
    end = next;
  }
  return { pieces, separators, end };
}

/** Whether the pieces are not a date, a decimal number, or numbers next to each other. */
function isIdentifier({ pieces, separators }: Run): boolean {
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
  return (
    (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x61 && unit <= 0x7a) || unit >= 0xc0
  );
}
