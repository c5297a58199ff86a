import { readFileSync } from "node:fs";

/**
 * How FTS5's tokenizer folds each character. Its Unicode version differs from Node's, so the table is a file
 * generated from FTS5; a test compares the two.
 */
const FILE = new URL("./unicode61.json", import.meta.url);

export interface Characters {
  /** By code unit: the folded unit, a space for separators, `mark` or `surrogate`. */
  readonly basic: Uint16Array;
  /** Marks combining accents, which are dropped. */
  readonly mark: number;
  /** Marks surrogates. */
  readonly surrogate: number;
  /** Folds a code point beyond the basic plane: to another one there, or a space. */
  foldBeyond(code: number): number;
}

const SPACE = 0x20;
const MARK = 1;
const SURROGATE = 2;

let characters: Characters | undefined;

/** Loaded for the first text beyond ASCII. */
export function readCharacters(): Characters {
  characters ??= toCharacters(JSON.parse(readFileSync(FILE, "utf8")));
  return characters;
}

function toCharacters(file: { separators: string; marks: string; folds: string }): Characters {
  const basic = Uint16Array.from({ length: 0x10000 }, (_, code) => (code < 0x80 ? foldAscii(code) : code));
  const beyond = new Map<number, number>();
  const set = (code: number, to: number) => {
    if (code < 0x10000) basic[code] = to;
    else beyond.set(code, to);
  };
  for (const { first, last } of ranges(file.separators)) for (let c = first; c <= last; c++) set(c, SPACE);
  for (const { first, last } of ranges(file.marks)) for (let c = first; c <= last; c++) set(c, MARK);
  for (const { first, last, to, step } of ranges(file.folds)) {
    for (let c = first; c <= last; c++) set(c, to + (c - first) * step);
  }
  basic.fill(SURROGATE, 0xd800, 0xe000);
  const foldBeyond = (code: number) => (code < 0x10000 ? SPACE : (beyond.get(code) ?? code));
  return { basic, mark: MARK, surrogate: SURROGATE, foldBeyond };
}

function foldAscii(code: number): number {
  const text = String.fromCharCode(code).toLowerCase();
  return /[a-z0-9]/.test(text) ? text.charCodeAt(0) : SPACE;
}

/** `c0-c5=61`: these become U+0061; `410-42f+430`: U+0430 and those after it, in this order. */
function ranges(text: string): { first: number; last: number; to: number; step: number }[] {
  return text.split(" ").map((range) => {
    const [, first = "", last = first, sign, to = "0"] = /^(\w+)(?:-(\w+))?(?:([=+])(\w+))?$/.exec(range) ?? [];
    return {
      first: Number.parseInt(first, 16),
      last: Number.parseInt(last, 16),
      to: Number.parseInt(to, 16),
      step: sign === "+" ? 1 : 0,
    };
  });
}
