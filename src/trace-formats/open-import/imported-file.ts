// Reads the text and JSON documents of import files, plain or gzipped, without holding a large file in memory.
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { notUsable } from "../imported-trace.js";

interface FileDocument {
  /** A JSON object if it starts with a brace, otherwise a line that is not JSON. */
  readonly text: string;
  /** First line number of the document, from 1. */
  readonly line: number;
}

/** A property of a JSON object, or an item of the only array that is read item by item. */
interface JsonMember {
  readonly key: string;
  /** Unparsed JSON. */
  readonly text: string;
  readonly isItem: boolean;
}

/**
 * Maximum characters of a JSON document, a sample or another property. Typical traces are hundreds of times smaller.
 */
const MAX_LENGTH = 128_000_000;

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/** Returns the first bytes of a file, for format detection. */
export async function firstBytes(path: string, count: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * Reads a file's text in chunks, without a byte order mark. Decompresses gzip on the fly.
 * @throws UserError if the gzip data is damaged
 */
export async function* readChunks(path: string): AsyncGenerator<string> {
  const isGzip = (await firstBytes(path, 2)).equals(GZIP_MAGIC);
  const file = createReadStream(path);
  // `pipeline` destroys the file if the reader stops early or the data is damaged.
  const bytes = isGzip ? pipeline(file, createGunzip(), () => undefined) : file;
  bytes.setEncoding("utf8");
  let isFirst = true;
  try {
    for await (const chunk of bytes as AsyncIterable<string>) {
      yield isFirst && chunk.startsWith("\ufeff") ? chunk.slice(1) : chunk;
      isFirst = false;
    }
  } catch (cause) {
    if (!isZlibError(cause)) throw cause;
    throw notUsable(path, `cannot be unpacked with gzip: ${cause.message}`);
  } finally {
    file.destroy();
  }
}

function isZlibError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && String(error.code).startsWith("Z_");
}

/**
 * Reads JSON objects one at a time, whether each is on one line or spread over many. Text between them is returned line
 * by line, for the caller to reject.
 * @throws UserError if a document is longer than MAX_LENGTH
 */
export async function* readDocuments(path: string): AsyncGenerator<FileDocument> {
  const scanner = new DocumentScanner(path);
  for await (const chunk of readChunks(path)) yield* scanner.scan(chunk);
  yield* scanner.end();
}

class DocumentScanner {
  private state: "between" | "object" | "other" = "between";
  private depth = 0;
  private inString = false;
  /** Whether the previous chunk ended with a backslash that escapes the next character. */
  private isEscaped = false;
  private pieces: string[] = [];
  private length = 0;
  private line = 1;
  private startLine = 1;

  constructor(private readonly path: string) {}

  *scan(chunk: string): Generator<FileDocument> {
    let start = 0;
    let i = 0;
    while (i < chunk.length) {
      if (this.state === "between") {
        i = this.skipBlank(chunk, i);
        if (i === chunk.length) return;
        this.state = chunk.charCodeAt(i) === OPEN_BRACE ? "object" : "other";
        this.startLine = this.line;
        start = i;
      }
      const end = this.state === "object" ? this.endOfObject(chunk, i) : chunk.indexOf("\n", i);
      if (end === -1) break;
      this.take(chunk.slice(start, end));
      yield this.complete();
      i = end;
    }
    if (this.state !== "between") this.take(chunk.slice(start));
  }

  *end(): Generator<FileDocument> {
    if (this.state !== "between") yield this.complete();
  }

  private skipBlank(chunk: string, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const char = chunk.charCodeAt(i);
      if (char === LINE_FEED) this.line++;
      else if (char !== SPACE && char !== TAB && char !== CARRIAGE_RETURN) return i;
    }
    return chunk.length;
  }

  /** Returns the index after the closing brace, or -1 if the object continues in the next chunk. */
  private endOfObject(chunk: string, from: number): number {
    let i = from;
    while (i < chunk.length) {
      if (this.inString) {
        i = this.endOfString(chunk, i);
        continue;
      }
      const char = chunk.charCodeAt(i++);
      if (char === QUOTE) this.inString = true;
      else if (char === LINE_FEED) this.line++;
      else if (char === OPEN_BRACE || char === OPEN_BRACKET) this.depth++;
      else if ((char === CLOSE_BRACE || char === CLOSE_BRACKET) && --this.depth === 0) return i;
    }
    return -1;
  }

  /**
   * Most characters of a trace are in strings, so skip these with `indexOf`, which is 4 times as fast as a loop over
   * characters.
   */
  private endOfString(chunk: string, from: number): number {
    let i = from;
    if (this.isEscaped) {
      this.isEscaped = false;
      i++;
    }
    for (;;) {
      const quote = chunk.indexOf('"', i);
      const end = quote === -1 ? chunk.length : quote;
      let backslashes = 0;
      while (end - backslashes > i && chunk.charCodeAt(end - backslashes - 1) === BACKSLASH) backslashes++;
      const isEscaped = backslashes % 2 === 1;
      if (quote === -1) {
        this.isEscaped = isEscaped;
        return chunk.length;
      }
      i = quote + 1;
      if (isEscaped) continue;
      this.inString = false;
      return i;
    }
  }

  private take(text: string): void {
    this.pieces.push(text);
    this.length += text.length;
    if (this.length > MAX_LENGTH) throw notUsable(this.path, `line ${this.startLine} is too long`);
  }

  private complete(): FileDocument {
    const text = this.pieces.join("");
    [this.pieces, this.length, this.state, this.depth, this.inString] = [[], 0, "between", 0, false];
    return { text, line: this.startLine };
  }
}

/** Thrown for a document that is not a JSON object, is incomplete, or has a property that is too long. */
export class BrokenDocument extends Error {
  override readonly name = "BrokenDocument";
}

/** The property whose items are returned one at a time. */
const ITEMS_OF = "samples";

/**
 * Reads the properties of the first JSON object in a file one at a time, so that a large document is never completely
 * in memory. The caller parses each property.
 *
 * @throws BrokenDocument
 */
export async function* readMembers(path: string): AsyncGenerator<JsonMember> {
  const scanner = new MemberScanner();
  for await (const chunk of readChunks(path)) {
    yield* scanner.scan(chunk);
    if (scanner.hasEnded) return;
  }
  throw new BrokenDocument("ends in the middle of its JSON");
}

class MemberScanner {
  hasEnded = false;
  private depth = 0;
  private inString = false;
  private isEscaped = false;
  private inItems = false;
  private key: string | null = null;
  private pieces: string[] = [];
  private length = 0;

  *scan(chunk: string): Generator<JsonMember> {
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const char = chunk.charCodeAt(i);
      if (this.isEscaped) this.isEscaped = false;
      else if (this.inString) {
        if (char === BACKSLASH) this.isEscaped = true;
        else if (char === QUOTE) this.inString = false;
      } else if (STRUCTURAL.has(char)) {
        const ends = this.structural(char);
        if (ends === "within") continue;
        this.take(chunk.slice(start, i));
        start = i + 1;
        yield* this.complete(ends);
        if (this.hasEnded) return;
      } else if (this.depth === 0 && !BLANK.has(char)) throw new BrokenDocument("is not a JSON object");
    }
    this.take(chunk.slice(start));
  }

  /** Returns the kind of element that ends at this character. */
  private structural(char: number): "within" | "nothing" | "key" | "member" | "last member" | "items" {
    if (char === QUOTE) {
      this.inString = true;
      if (this.depth === 0) throw new BrokenDocument("is not a JSON object");
      return "within";
    }
    if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      if (this.depth++ === 0) {
        if (char === OPEN_BRACKET) throw new BrokenDocument("is a JSON list: write one object per line (jq -c '.[]')");
        return "nothing";
      }
      if (this.depth !== 2 || char !== OPEN_BRACKET || this.key !== ITEMS_OF || this.inItems) return "within";
      this.inItems = true;
      return "nothing";
    }
    if (char === COMMA) return this.depth === (this.inItems ? 2 : 1) ? "member" : "within";
    if (char === COLON) return this.depth === 1 && this.key === null ? "key" : "within";
    this.depth--;
    if (this.depth === 0) return "last member";
    return this.depth === 1 && this.inItems ? "items" : "within";
  }

  private take(text: string): void {
    this.pieces.push(text);
    this.length += text.length;
    if (this.length > MAX_LENGTH) throw new BrokenDocument(`has a property that is too long (${this.key})`);
  }

  private *complete(ended: "nothing" | "key" | "member" | "last member" | "items"): Generator<JsonMember> {
    const text = this.pieces.join("").trim();
    [this.pieces, this.length] = [[], 0];
    if (ended === "key") this.key = keyOf(text);
    else if (this.key !== null && text !== "") yield { key: this.key, text, isItem: this.inItems };
    if (ended === "items") this.inItems = false;
    else if (ended === "member" && !this.inItems) this.key = null;
    this.hasEnded = ended === "last member";
  }
}

function keyOf(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    throw new BrokenDocument("is not JSON");
  }
}

const STRUCTURAL: ReadonlySet<number> = new Set([...'"[]{},:'].map((char) => char.charCodeAt(0)));

const BLANK: ReadonlySet<number> = new Set([..." \t\r\n"].map((char) => char.charCodeAt(0)));

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
