import { Database } from "../../src/store/sqlite.js";

/**
 * Maps every character like FTS5's `unicode61 remove_diacritics 2`, determined by running FTS5. Written to
 * `src/text/unicode61.json`.
 */

/** Characters per row. Each is inside a word that identifies it, `k1f642g?q`. */
const IN_ONE_ROW = 4_096;

interface Characters {
  readonly separators: number[];
  readonly marks: number[];
  readonly folds: [from: number, to: number][];
}

export function askFts5(): Characters {
  const db = new Database(":memory:");
  db.exec(
    "CREATE VIRTUAL TABLE f USING fts5(t, detail = none, tokenize = 'unicode61 remove_diacritics 2'); CREATE VIRTUAL TABLE v USING fts5vocab(f, row)",
  );
  const add = db.prepare("INSERT INTO f (t) VALUES (?)");
  for (let first = 0x80; first < 0x110000; first += IN_ONE_ROW) {
    let text = "";
    for (let code = first; code < Math.min(first + IN_ONE_ROW, 0x110000); code++) {
      if (!isSurrogate(code)) text += `k${code.toString(16)}g${String.fromCodePoint(code)}q `;
    }
    add.run(text);
  }
  const found: Characters = { separators: [], marks: [], folds: [] };
  for (const term of db.prepare("SELECT term FROM v WHERE term >= 'k' AND term < 'l'").pluck().iterate()) {
    const [, hex = "", rest = ""] = /^k([0-9a-f]+)g(.*)$/su.exec(term as string) ?? [];
    const code = Number.parseInt(hex, 16);
    const to = rest.codePointAt(0) ?? 0;
    if (rest === "") found.separators.push(code);
    else if (rest === "q") found.marks.push(code);
    else if (to !== code) found.folds.push([code, to]);
  }
  db.close();
  found.separators.sort((a, b) => a - b);
  found.marks.sort((a, b) => a - b);
  found.folds.sort(([a], [b]) => a - b);
  return found;
}

const isSurrogate = (code: number) => code >= 0xd800 && code < 0xe000;

/** The file's format: hexadecimal ranges, folded to one character (`=`) or to as many consecutive ones (`+`). */
export function writeTable({ separators, marks, folds }: Characters): string {
  const table = { separators: ranges(separators), marks: ranges(marks), folds: foldRanges(folds) };
  return `${JSON.stringify(table, null, 2)}\n`;
}

function ranges(codes: readonly number[]): string {
  const found: { first: number; last: number }[] = [];
  for (const code of codes) {
    const open = found.at(-1);
    if (open !== undefined && code === open.last + 1) open.last = code;
    else found.push({ first: code, last: code });
  }
  return found.map(({ first, last }) => range(first, last)).join(" ");
}

function foldRanges(folds: readonly [number, number][]): string {
  const found: { first: number; last: number; to: number; step: number | null }[] = [];
  for (const [code, to] of folds) {
    const open = found.at(-1);
    const step = open === undefined ? null : (to - open.to) / (code - open.first);
    if (open !== undefined && code === open.last + 1 && (step === 0 || step === 1) && (open.step ?? step) === step) {
      open.last = code;
      open.step = step;
    } else found.push({ first: code, last: code, to, step: null });
  }
  return found
    .map(({ first, last, to, step }) => `${range(first, last)}${step === 1 ? "+" : "="}${to.toString(16)}`)
    .join(" ");
}

function range(first: number, last: number): string {
  return first === last ? first.toString(16) : `${first.toString(16)}-${last.toString(16)}`;
}
