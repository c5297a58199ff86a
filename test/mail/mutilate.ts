import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { below, seeded } from "../random.js";
import { AUTHORED, DEMO } from "./import-setup.js";

/** Accidentally damaged emails, the same for the same seed. */

type Random = () => number;
type Mutilation = (raw: Buffer, random: Random) => Buffer;

/** Every authored email of the fixtures, ordered by path. */
export function fixtureMails(): Buffer[] {
  return [AUTHORED, DEMO].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: "utf8" })
      .sort()
      .map((name) => join(root, name))
      .filter((file) => statSync(file).isFile())
      .map((file) => readFileSync(file)),
  );
}

export interface Mutilated {
  /** The names of the applied changes, in order. */
  readonly how: string;
  readonly raw: Buffer;
}

/** Fixture emails, each with one to three changes. */
export function mutilatedMails(count: number, seed: number): Mutilated[] {
  const random = seeded(seed);
  const mails = fixtureMails();
  const names = Object.keys(MUTILATIONS);
  return Array.from({ length: count }, (_, n) => {
    let raw = pick(mails, random);
    const done: string[] = [];
    // Each kind comes first equally often.
    for (let i = 1 + below(random, 3); i > 0; i--) {
      const name = done.length === 0 ? (names[n % names.length] ?? "") : pick(names, random);
      raw = MUTILATIONS[name]?.(raw, random) ?? raw;
      done.push(name);
    }
    return { how: `mail ${n}: ${done.join(", ")}`, raw };
  });
}

const CHARSETS = [
  "us-ascii",
  "utf-8",
  "iso-8859-1",
  "windows-1252",
  "koi8-r",
  "shift_jis",
  "x-unheard-of",
  '"',
  "utf-7",
];
const ENCODINGS = ["7bit", "8bit", "base64", "quoted-printable", "x-uuencode", "", "BASE64", "quoted-printable "];
const HEADERS = ["Subject", "From", "To", "Cc", "Bcc", "Date", "Message-ID", "Content-Type"];

const MUTILATIONS: Readonly<Record<string, Mutilation>> = {
  "cut off": (raw, random) => raw.subarray(0, below(random, raw.length + 1)),
  "cut off in the header": (raw, random) => raw.subarray(0, below(random, headerLength(raw) + 1)),
  "bytes flipped": (raw, random) => {
    const bytes = Buffer.from(raw);
    for (let i = 1 + below(random, 20); i > 0; i--) bytes[below(random, bytes.length)] = below(random, 256);
    return bytes;
  },
  "bytes of the header flipped": (raw, random) => {
    const bytes = Buffer.from(raw);
    for (let i = 1 + below(random, 6); i > 0; i--) bytes[below(random, headerLength(raw))] = below(random, 256);
    return bytes;
  },
  "NULs put in": (raw, random) => insert(raw, below(random, raw.length + 1), Buffer.alloc(1 + below(random, 5))),
  "eight-bit bytes put in": (raw, random) =>
    insert(raw, below(random, raw.length + 1), Buffer.from(Array.from({ length: 4 }, () => 128 + below(random, 128)))),
  "a header line gone": (raw, random) => withLines(raw, (lines) => lines.splice(below(random, lines.length), 1)),
  "a header line twice": (raw, random) =>
    withLines(raw, (lines) => lines.splice(below(random, lines.length), 0, pick(lines, random))),
  "another header of the same name": (raw, random) =>
    withLines(raw, (lines) =>
      lines.splice(below(random, lines.length), 0, `${pick(HEADERS, random)}: other.${below(random, 9)}@example.com`),
    ),
  "header lines in disorder": (raw, random) => withLines(raw, (lines) => lines.sort(() => random() - 0.5)),
  "a huge header line": (raw, random) =>
    withLines(raw, (lines) => lines.push(`${pick(HEADERS, random)}: ${"x".repeat(20_000)} ${"<".repeat(2_000)}`)),
  "another charset": (raw, random) => typed(raw, `text/plain; charset=${pick(CHARSETS, random)}`, null),
  "another transfer encoding": (raw, random) => typed(raw, null, pick(ENCODINGS, random)),
  "a broken multipart": (raw, random) => {
    const boundary = pick(["b", "--", "a b", "x".repeat(100)], random);
    const multipart = typed(
      raw,
      `multipart/${pick(["mixed", "alternative", "digest"], random)}; boundary="${boundary}"`,
      null,
    );
    const parts = [`\n--${boundary}\nContent-Type: text/plain\n\none\n`, `--${boundary}\n\ntwo\n`, `--${boundary}--\n`];
    return Buffer.concat([multipart, Buffer.from(parts.filter(() => random() < 0.7).join(""))]);
  },
  "other line ends": (raw, random) => {
    const ends = pick([["\n"], ["\r\n"], ["\r\n", "\n"]], random);
    const text = raw.toString("latin1").replace(/\r?\n/g, () => pick(ends, random));
    return Buffer.from(text, "latin1");
  },
};

function pick<T>(from: readonly T[], random: Random): T {
  return from[below(random, from.length)] as T;
}

function insert(raw: Buffer, at: number, bytes: Buffer): Buffer {
  return Buffer.concat([raw.subarray(0, at), bytes, raw.subarray(at)]);
}

function headerLength(raw: Buffer): number {
  const end = /\r?\n\r?\n/.exec(raw.toString("latin1"));
  return end === null ? raw.length : end.index;
}

function withLines(raw: Buffer, change: (lines: string[]) => unknown): Buffer {
  const end = headerLength(raw);
  const lines = raw.toString("latin1", 0, end).split(/\r?\n/);
  change(lines);
  return Buffer.concat([Buffer.from(lines.join("\n"), "latin1"), raw.subarray(end)]);
}

function typed(raw: Buffer, type: string | null, encoding: string | null): Buffer {
  return withLines(raw, (lines) => {
    const set = (name: string, value: string | null) => {
      if (value === null) return;
      const at = lines.findIndex((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`));
      if (at >= 0) lines.splice(at, 1);
      lines.push(`${name}: ${value}`);
    };
    set("Content-Type", type);
    set("Content-Transfer-Encoding", encoding);
  });
}
