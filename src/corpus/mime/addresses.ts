import { addressParser } from "postal-mime";
import { trimEndOf } from "../../domain/trim-end.js";
import { withoutControls } from "./mail-text.js";

/** A bare address with nothing around it; dots may stand anywhere (`k..allen@enron.com`). */
const BARE = /^[^\s\0@<>,;:"'()\\][^\s\0@<>,;:"\\]*@[^\s\0@<>,;:"'()[\]\\]+$/;

/** In a longer field that is no plain list, what looks like an address is taken for one: the parser takes seconds over it. */
const LONGEST_PARSED = 200_000;
const ANY_ADDRESS = /(?<![^\s<>"',;:()[\]\\@])[^\s<>"',;:()[\]\\@]+@[^\s<>"',;:()[\]\\@]+/g;

/**
 * The addresses of a From, To, Cc or Bcc field, in order: lower case, each once, display names dropped, groups
 * (RFC 5322 3.4) put in the place of their names, a quoted local part without its quotes. Entries without an `@` are kept, as their text,
 * only where the field holds no address at all.
 */
export function parseAddresses(field: string): string[] {
  return [...new Set(everyAddress(field))];
}

/** The same, each as often as it stands there. */
export function everyAddress(field: string): string[] {
  if (field === "") return [];
  const entries = field.split(",").map((entry) => entry.trim());
  if (entries.every((entry) => entry === "" || BARE.test(entry))) {
    return entries.filter((entry) => entry !== "").map((entry) => entry.toLowerCase());
  }
  if (field.length > LONGEST_PARSED) return field.toLowerCase().match(ANY_ADDRESS) ?? [];
  const texts = addressParser(withoutControls(field), { flatten: true })
    .flatMap(({ address, name }) => apart(address || name))
    .map(tidy);
  const addresses = texts.filter((text) => text.includes("@"));
  return (addresses.length > 0 ? addresses : texts).filter((text) => text !== "");
}

/** Addresses that one pair of brackets runs together (`<a@example.com, b@example.com>`). */
function apart(text: string): string[] {
  return text.split("@").length > 2 ? text.split(/[\s,;]+/) : [text];
}

/** Quotes and brackets left at the ends (`'pat@example.com'`, `a@example.com>`) are no part of an address. */
function tidy(text: string): string {
  const plain = text
    .replace(/\s+/g, " ")
    .replace(/ ?@ ?/g, "@")
    .replaceAll('"', "")
    .replace(/^[<' ]+/, "");
  return trimEndOf(plain, ">' ").trim().toLowerCase();
}
