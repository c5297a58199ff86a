import { readFileSync } from "node:fs";

/**
 * What FTS5's tokenizer makes of each character. Its tables are of one version of Unicode, Node's of another, so they
 * are kept as a file that was asked of FTS5; a test compares the two.
 */
const FILE = new URL("./unicode61.json", import.meta.url);

export interface Characters {
  /** By code unit: what it becomes, a space where it separates words, or one of the two below. */
  readonly basic: Uint16Array;
  /** Stands in `basic` for a combining accent, which is left out of its word. */
  readonly mark: number;
  /** Stands in `basic` for half a pair. */
  readonly surrogate: number;
  /** What a character beyond the basic plane becomes: another one there, or a space. */
  foldBeyond(code: number): number;
}

const SPACE = 0x20;
const MARK = 1;
const SURROGATE = 2;

let characters: Characters | undefined;

/** Read when the first text beyond ASCII comes. */
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
