/** A member of a JSON object, or an item of the one array that is read item by item. */
export interface JsonMember {
  readonly key: string;
  /** Its JSON, as it stands there. */
  readonly text: string;
}

/** A document that is no JSON object, ends early or has a member that is too long. */
export class BrokenDocument extends Error {
  override readonly name = "BrokenDocument";
}

interface Limits {
  /** The member that is an array whose items are given one at a time. */
  readonly itemsOf: string;
  /** Characters of a member or an item. */
  readonly maxLength: number;
}

/**
 * The members of the JSON object that a text begins with, one at a time, so that a large document is never in memory
 * whole. Throws `BrokenDocument`. That each member is JSON is left to who parses it.
 */
export async function* readMembers(chunks: AsyncIterable<string>, limits: Limits): AsyncGenerator<JsonMember> {
  const scanner = new MemberScanner(limits);
  for await (const chunk of chunks) {
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

  constructor(private readonly limits: Limits) {}

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
      } else if (this.depth === 0 && !BLANK.has(char)) throw new BrokenDocument("is no JSON object");
    }
    this.take(chunk.slice(start));
  }

  /** What a character ends, if it stands between members. */
  private structural(char: number): "within" | "nothing" | "key" | "member" | "last member" | "items" {
    if (char === QUOTE) {
      this.inString = true;
      if (this.depth === 0) throw new BrokenDocument("is no JSON object");
      return "within";
    }
    if (char === BRACE || char === BRACKET) {
      if (this.depth++ === 0) {
        if (char === BRACKET) throw new BrokenDocument("is no JSON object");
        return "nothing";
      }
      if (this.depth !== 2 || char !== BRACKET || this.key !== this.limits.itemsOf || this.inItems) return "within";
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
    if (this.length > this.limits.maxLength) throw new BrokenDocument(`has a member that is too long (${this.key})`);
  }

  private *complete(ended: "nothing" | "key" | "member" | "last member" | "items"): Generator<JsonMember> {
    const text = this.pieces.join("").trim();
    [this.pieces, this.length] = [[], 0];
    if (ended === "key") this.key = keyOf(text);
    else if (this.key !== null && text !== "") yield { key: this.key, text };
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

const [QUOTE, BACKSLASH, BRACKET, BRACE, COMMA, COLON] = ['"', "\\", "[", "{", ",", ":"].map((char) =>
  char.charCodeAt(0),
) as [number, number, number, number, number, number];

const STRUCTURAL: ReadonlySet<number> = new Set([...'"[]{},:'].map((char) => char.charCodeAt(0)));

const BLANK: ReadonlySet<number> = new Set([..." \t\r\n\ufeff"].map((char) => char.charCodeAt(0)));
