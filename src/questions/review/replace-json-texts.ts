/**
 * A line of JSON, an object, with other texts for some of its members; everything else stays byte for byte. Of a
 * member that stands there twice the last is replaced, which is the one that counts.
 */
export function replaceJsonTexts(line: string, texts: Readonly<Record<string, string>>): string {
  const replaced = [...topLevelValues(line)]
    .filter(({ key }) => Object.hasOwn(texts, key))
    .reduce((last, value) => last.set(value.key, value), new Map<string, MemberValue>());
  let result = line;
  for (const { key, start, end } of [...replaced.values()].sort((a, b) => b.start - a.start)) {
    result = result.slice(0, start) + JSON.stringify(texts[key]) + result.slice(end);
  }
  return result;
}

interface MemberValue {
  readonly key: string;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** Strings, brackets and separators: between them stands nothing that is needed here. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/** The values that are strings, of the outermost object. */
function* topLevelValues(line: string): Generator<MemberValue> {
  let depth = 0;
  let previous = "";
  let key = "";
  for (const { 0: token, index } of line.matchAll(TOKEN)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth === 1 && token.startsWith('"')) {
      if (previous === ":") yield { key, start: index, end: index + token.length };
      else key = String(JSON.parse(token));
    }
    previous = token;
  }
}
