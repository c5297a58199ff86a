import { addressParser } from "postal-mime";
import { trimEndOf } from "../../domain/trim-end.js";
import { replaceControls } from "./mail-text.js";

/** A bare address with nothing around it; dots may stand anywhere (`k..allen@enron.com`). */
const BARE_ADDRESS = /^[^\s\0@<>,;:"'()\\][^\s\0@<>,;:"\\]*@[^\s\0@<>,;:"'()[\]\\]+$/;

/** In a longer field that is no plain list, what looks like an address is taken for one: the parser takes seconds over it. */
const MAX_PARSED_CHARS = 200_000;
const ANY_ADDRESS = /(?<![^\s<>"',;:()[\]\\@])[^\s<>"',;:()[\]\\@]+@[^\s<>"',;:()[\]\\@]+/g;

/**
 * The addresses of a From, To, Cc or Bcc field, in order: lower case, each once, display names dropped, groups
 * (RFC 5322 3.4) put in the place of their names, a quoted local part without its quotes. Entries without an `@` are kept, as their text,
 * only where the field holds no address at all.
 */
export function parseAddresses(field: string): string[] {
  return [...new Set(parseAllAddresses(field))];
}

/** The same, each as often as it stands there. */
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

/** Quotes and brackets left at the ends (`'pat@example.com'`, `a@example.com>`) are no part of an address. */
function normalizeAddress(text: string): string {
  const plain = text
    .replace(/\s+/g, " ")
    .replace(/ ?@ ?/g, "@")
    .replaceAll('"', "")
    .replace(/^[<' ]+/, "");
  return trimEndOf(plain, ">' ").trim().toLowerCase();
}
