import { addressParser } from "postal-mime";
import { trimEndOf } from "../../domain/trim-end.js";
import { replaceControls } from "./mail-text.js";

/** A bare address; dots may be anywhere (`k..allen@enron.com`). */
const BARE_ADDRESS = /^[^\s\0@<>,;:"'()\\][^\s\0@<>,;:"\\]*@[^\s\0@<>,;:"'()[\]\\]+$/;

/** The parser takes seconds for longer fields; a pattern extracts their addresses. */
const MAX_PARSED_CHARS = 200_000;
const ANY_ADDRESS = /(?<![^\s<>"',;:()[\]\\@])[^\s<>"',;:()[\]\\@]+@[^\s<>"',;:()[\]\\@]+/g;

/**
 * The distinct addresses of a From, To, Cc or Bcc field, in order and lower case, without display names and quotes;
 * groups (RFC 5322 3.4) are expanded. If no entry has an `@`, their texts.
 */
export function parseAddresses(field: string): string[] {
  return [...new Set(parseAllAddresses(field))];
}

/** The same with repeated addresses. */
export function parseAllAddresses(field: string): string[] {
  if (field === "") return [];
  const entries = field.split(",").map((entry) => entry.trim());
  if (entries.every((entry) => entry === "" || BARE_ADDRESS.test(entry))) {
    return entries.filter((entry) => entry !== "").map((entry) => entry.toLowerCase());
  }
  if (field.length > MAX_PARSED_CHARS) return field.toLowerCase().match(ANY_ADDRESS) ?? [];
  const texts = addressParser(replaceControls(field), { flatten: true })
    .flatMap(({ address, name }) => splitJoined(address || name))
    .map(normalizeAddress);
  const addresses = texts.filter((text) => text.includes("@"));
  return (addresses.length > 0 ? addresses : texts).filter((text) => text !== "");
}

/** Addresses that one pair of brackets runs together (`<a@example.com, b@example.com>`). */
function splitJoined(text: string): string[] {
  return text.split("@").length > 2 ? text.split(/[\s,;]+/) : [text];
}

/** Removes quotes and stray brackets (`'pat@example.com'`, `a@example.com>`). */
function normalizeAddress(text: string): string {
  const plain = text
    .replace(/\s+/g, " ")
    .replace(/ ?@ ?/g, "@")
    .replaceAll('"', "")
    .replace(/^[<' ]+/, "");
  return trimEndOf(plain, ">' ").trim().toLowerCase();
}
