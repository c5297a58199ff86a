/** A lone surrogate as JSON.stringify escapes it, behind an even number of backslashes. */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** JSON that every reader takes: most refuse half a surrogate pair, which a text cut in its middle leaves. */
export function toWellFormedJson(value: unknown): string {
  const json = JSON.stringify(value);
  return json.includes("\\ud") ? json.replace(LONE_SURROGATE, "$1\ufffd") : json;
}
