import { MAX_JSON_DEPTH } from "../../../domain/json-depth.js";
import type { PythonValue } from "./values.js";

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
const BLANK = /[ \t\n\r]*/y;
const CONSTANTS: readonly (readonly [string, PythonValue])[] = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
];

/**
 * `json.loads`. Unlike JSON.parse it keeps the order of keys and whole numbers of any size, and reads NaN and
 * Infinity. The last of equal keys wins.
 */
export function parsePythonJson(text: string): PythonValue {
  return new PythonJsonReader(text).readDocument();
}

class PythonJsonReader {
  #at = 0;

  constructor(private readonly text: string) {}

  readDocument(): PythonValue {
    const value = this.#readValue(0);
    this.#skipBlanks();
    if (this.#at < this.text.length) throw this.#failure();
    return value;
  }

  #readValue(depth: number): PythonValue {
    if (depth > MAX_JSON_DEPTH) throw new Error(`not read: JSON nested more than ${MAX_JSON_DEPTH} levels deep`);
    this.#skipBlanks();
    const next = this.text[this.#at];
    if (next === '"') return this.#readString();
    if (next === "{") return this.#readObject(depth);
    if (next === "[") return this.#readArray(depth);
    const constant = CONSTANTS.find(([word]) => this.text.startsWith(word, this.#at));
    if (constant !== undefined) {
      this.#at += constant[0].length;
      return constant[1];
    }
    NUMBER.lastIndex = this.#at;
    const number = NUMBER.exec(this.text);
    if (number === null) throw this.#failure();
    this.#at = NUMBER.lastIndex;
    return number[1] === undefined && number[2] === undefined ? BigInt(number[0]) : Number(number[0]);
  }

  #readString(): string {
    if (this.text[this.#at] !== '"') throw this.#failure();
    let end = this.#at + 1;
    while (this.text[end] !== '"') {
      if (end >= this.text.length) throw this.#failure();
      end += this.text[end] === "\\" ? 2 : 1;
    }
    const string: string = JSON.parse(this.text.slice(this.#at, end + 1));
    this.#at = end + 1;
    return string;
  }

  #readObject(depth: number): PythonValue {
    const entries = new Map<PythonValue, PythonValue>();
    this.#at++;
    if (this.#skipMark("}")) return entries;
    do {
      this.#skipBlanks();
      const key = this.#readString();
      if (!this.#skipMark(":")) throw this.#failure();
      entries.set(key, this.#readValue(depth + 1));
    } while (this.#skipMark(","));
    if (!this.#skipMark("}")) throw this.#failure();
    return entries;
  }

  #readArray(depth: number): PythonValue {
    const items: PythonValue[] = [];
    this.#at++;
    if (this.#skipMark("]")) return items;
    do items.push(this.#readValue(depth + 1));
    while (this.#skipMark(","));
    if (!this.#skipMark("]")) throw this.#failure();
    return items;
  }

  #skipMark(mark: string): boolean {
    this.#skipBlanks();
    if (this.text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  #skipBlanks(): void {
    BLANK.lastIndex = this.#at;
    BLANK.test(this.text);
    this.#at = BLANK.lastIndex;
  }

  #failure(): Error {
    return new Error(`not JSON, from character ${this.#at} on`);
  }
}
