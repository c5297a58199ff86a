// Display names: the names of people next to their addresses in an email header.
import { namesBeyondAddresses, searchWords, unshared } from "../../text/searchable-names.js";
import type { HeaderNames } from "../email.js";

/** Maximum number of names kept per email. Longer lists belong to announcements to everybody. */
const MAX_NAMES = 100;

/** Longer texts are not names. */
const MAX_NAME_CHARS = 200;

/**
 * Returns an email's names that add something to its addresses. They are sorted, so that the order of the email's
 * copies does not matter.
 */
export function displayNames({ names: rawNames, lists }: HeaderNames, addresses: readonly string[]): string[] {
  const all = [...rawNames, ...lists.flatMap(namesInList)].slice(0, MAX_NAMES);
  // Tidy the names last, because most names only repeat an address.
  const names = namesBeyondAddresses(all, addresses);
  return names.length === 0 ? names : namesBeyondAddresses(names.map(tidyName), addresses).sort();
}

/** A name next to an address that adds something to it. The name is folded like the words of a search. */
export interface NamedAddress {
  readonly address: string;
  readonly name: string;
}

/** Returns the named addresses of a header, except those for which `isKnown` was called before. */
export function namedAddresses(
  { names, addresses, senderName }: HeaderNames,
  sender: string,
  isKnown: (key: string) => boolean,
): readonly NamedAddress[] {
  const named: NamedAddress[] = [];
  const add = (address: string, name: string) => {
    for (const each of namesBeyondAddresses([tidyName(name)], [address])) {
      named.push({ address, name: searchWords(each).join(" ") });
    }
  };
  for (let i = 0; i < names.length && i < MAX_NAMES; i++) {
    const address = addresses[i] as string;
    if (address !== "" && !isKnown(`${address}\0${names[i]}`)) add(address, names[i] as string);
  }
  if (senderName !== "" && sender !== "" && !isKnown(`${sender}\0${senderName}`)) {
    add(sender, namesInList(senderName)[0] ?? "");
  }
  return named.length === 0 ? NO_NAMES : named;
}

export const NO_NAMES: readonly never[] = [];

export function mergeNames(names: readonly string[], more: readonly string[]): string[] {
  return [...new Set([...names, ...more])].sort().slice(0, MAX_NAMES);
}

/** Removes quotes and addresses: `'abenton@utilicorp.com'` is not a name. */
function tidyName(rawName: string): string {
  const name = rawName.slice(0, MAX_NAME_CHARS).replace(/[\s\p{Cc}]+/gu, " ");
  const text = name.includes("@") ? name.replace(/\S*@\S*/g, "") : name;
  return text.replace(/^[ '",;]+|[ '",;]+$/g, "");
}

/** Longer lists name thousands of people. */
const MAX_LIST_CHARS = 20_000;

/** Maximum length of a name with its Notes domain. */
const MAX_ENTRY_CHARS = 400;

/**
 * Returns the names in a list such as `Kitchen, Louise </O=ENRON/CN=LKITCHEN>, "Bo Kim" <bo@plains.example>` or `Jeff
 * Dasovich, Tim Belden/HOU/ECT@ECT`. Without brackets, commas separate the names.
 */
function namesInList(list: string): readonly string[] {
  if (list.length > MAX_CACHED_CHARS) return splitList(list);
  let names = listCache.get(list);
  if (names === undefined) {
    const key = unshared(list);
    names = splitList(key);
    if (listCache.size === MAX_CACHED_LISTS) listCache.clear();
    listCache.set(key, names);
  }
  return names;
}

/** Most lists contain one name, and most names occur again. */
const listCache = new Map<string, readonly string[]>();
const MAX_CACHED_LISTS = 10_000;
const MAX_CACHED_CHARS = 100;

function splitList(list: string): string[] {
  const text = list.slice(0, MAX_LIST_CHARS);
  const names = text.includes("<") ? text.split(/<[^<>]*>(?:@\w+)?/) : text.split(",");
  return names.map(withoutNotesPath).filter((name) => name.trim() !== "");
}

/** Removes the domain that Lotus Notes writes after a name: `Tim Belden/HOU/ECT@ECT`. */
function withoutNotesPath(name: string): string {
  return name.includes("/") ? name.slice(0, MAX_ENTRY_CHARS).replace(/\/[\w/ ]*@\S*/, "") : name;
}
