/**
 * Converts RTF to plain text, for emails that Outlook wrote as RTF. Formatting, pictures and field instructions are
 * omitted. RTF made from HTML also contains the HTML's tags, in groups that are skipped.
 */
import { decodeCharset } from "./charset.js";

/** Destinations whose text is not part of the document. Groups that start with `\*` are skipped in any case. */
// biome-ignore format: rows of a table
const SKIPPED = new Set([
  "colortbl", "stylesheet", "info", "pict", "object", "nonshppict", "xe", "tc", "rxe", "bkmkstart", "bkmkend",
  "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "ftnsep", "template",
]);

// biome-ignore format: rows of a table
const SPECIAL: Readonly<Record<string, string>> = {
  par: "\n", line: "\n", sect: "\n", page: "\n", row: "\n", cell: "\t", tab: "\t",
  emdash: "—", endash: "–", lquote: "‘", rquote: "’", ldblquote: "“", rdblquote: "”", bullet: "•",
  emspace: " ", enspace: " ", qmspace: " ",
};

/** Code pages by the `\fcharset` number of a font. */
// biome-ignore format: rows of a table
const FONT_CODE_PAGES: Readonly<Record<number, number>> = {
  77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256,
  186: 1257, 204: 1251, 222: 874, 238: 1250,
};

interface Group {
  readonly isSkipped: boolean;
  readonly isFontTable: boolean;
  /** Number of characters after `\u` for programs that do not read Unicode. */
  readonly fallbackChars: number;
  readonly codePage: number;
}

const TOKEN =
  /\\(?<word>[a-z]{1,32})(?<number>-?\d{1,10})? ?|\\'(?<hex>[0-9a-f]{2})|\\(?<symbol>[^a-z])|(?<brace>[{}])|[\r\n]+|(?<text>[^\\{}\r\n]+)/gis;

/** @param bytes RTF, starting with `{\rtf` */
export function rtfToText(bytes: Buffer): string {
  const rtf = bytes.toString("latin1");
  const fonts = new Map<number, number>();
  const stack: Group[] = [];
  let group: Group = { isSkipped: false, isFontTable: false, fallbackChars: 1, codePage: 1252 };
  let documentCodePage = 1252;
  let font = 0;
  let text = "";
  let pending = "";
  let toSkip = 0;
  const flush = () => {
    if (pending !== "") text += decodeCodePage(Buffer.from(pending, "latin1"), group.codePage);
    pending = "";
  };
  const add = (chars: string) => {
    const visible = chars.slice(toSkip);
    toSkip = Math.max(0, toSkip - chars.length);
    if (!group.isSkipped && !group.isFontTable) pending += visible;
  };
  const addDecoded = (chars: string) => {
    flush();
    if (!group.isSkipped && !group.isFontTable) text += chars;
  };
  const readWord = (word: string, number: number | null) => {
    if (SKIPPED.has(word)) group = { ...group, isSkipped: true };
    else if (word === "fonttbl") group = { ...group, isFontTable: true };
    else if (word === "f") {
      font = number ?? 0;
      if (!group.isFontTable) group = { ...group, codePage: fonts.get(font) ?? documentCodePage };
    } else if (word === "fcharset" && group.isFontTable) {
      const codePage = FONT_CODE_PAGES[number ?? 0];
      if (codePage !== undefined) fonts.set(font, codePage);
    } else if (word === "ansicpg") {
      documentCodePage = number ?? 1252;
      group = { ...group, codePage: documentCodePage };
    } else if (word === "uc") group = { ...group, fallbackChars: number ?? 1 };
    else if (word === "u") {
      addDecoded(String.fromCharCode((number ?? 0) & 0xffff));
      toSkip = group.fallbackChars;
    } else addDecoded(SPECIAL[word] ?? "");
  };
  for (const token = new RegExp(TOKEN); ; ) {
    const groups = token.exec(rtf)?.groups;
    if (groups === undefined) break;
    const { word, number, hex, symbol, brace } = groups;
    if (word !== undefined) {
      flush();
      const value = number === undefined ? null : Number(number);
      // The data after `\bin` is not RTF.
      if (word === "bin") token.lastIndex += Math.max(0, value ?? 0);
      else readWord(word, value);
    } else if (hex !== undefined) add(String.fromCharCode(Number.parseInt(hex, 16)));
    else if (brace === "{") {
      flush();
      toSkip = 0;
      stack.push(group);
    } else if (brace === "}") {
      flush();
      toSkip = 0;
      group = stack.pop() ?? group;
    } else if (symbol === "*") group = { ...group, isSkipped: true };
    else if (symbol === "~") addDecoded(" ");
    else if (symbol === "_") add("-");
    else if (symbol === "\r" || symbol === "\n") addDecoded("\n");
    else if (symbol !== undefined && "{}\\".includes(symbol)) add(symbol);
    else if (groups.text !== undefined) add(groups.text);
  }
  flush();
  // Outlook puts NUL after the last group.
  return text.replaceAll("\0", "");
}

/** Charset labels of the Windows code pages whose label is not `cp` followed by their number. */
// biome-ignore format: rows of a table
const CODE_PAGES: Readonly<Record<number, string>> = {
  0: "windows-1252", 1200: "utf-16le", 10000: "macintosh", 20127: "us-ascii", 20866: "koi8-r", 21866: "koi8-u",
  50220: "iso-2022-jp", 50221: "iso-2022-jp", 51932: "euc-jp", 51949: "euc-kr", 54936: "gb18030", 65000: "utf-7",
  65001: "utf-8",
};

/** @param codePage number of a Windows code page, such as 1252 */
export function decodeCodePage(bytes: Buffer, codePage: number): string {
  const isIso = codePage > 28590 && codePage < 28606;
  return decodeCharset(bytes, CODE_PAGES[codePage] ?? (isIso ? `iso-8859-${codePage - 28590}` : `cp${codePage}`));
}
