/** What can be told of an eval's code without running it. */
export interface PythonDescription {
  /** The first line of the function's docstring; null: it has none. */
  readonly criterion: string | null;
  /** The code names its second parameter, so it may read gold or scores. */
  readonly usesMetadata: boolean;
}

const PARAMETER = String.raw`\s{0,99}(\w{1,99})(?:\s{0,9}:[^,()=[]{0,99}(?:\[[^\]]{0,99}\])?[^,()=[]{0,99})?(?:\s{0,9}=[^,()]{0,99})?\s{0,99}`;
const SIGNATURE = new RegExp(
  String.raw`^def eval_function\(${Array.from({ length: 4 }, () => PARAMETER).join(",")},?\s*\)[^:\n]*:`,
  "m",
);
const DOCSTRING = /^\s*(?:r|R)?("""|''')\s*([^\n]*?\S)\s*(?:\n|\1)/;

/** Null where the code defines no `eval_function` with four parameters. */
export function describePython(code: string): PythonDescription | null {
  const match = SIGNATURE.exec(code);
  if (match === null) return null;
  const [signature, , metadata = ""] = match;
  const body = code.slice(match.index + signature.length);
  const criterion = DOCSTRING.exec(body)?.[2]?.slice(0, 1_000) ?? null;
  return { criterion, usesMetadata: new RegExp(String.raw`\b${metadata}\b`).test(withoutDocstring(body)) };
}

/** A docstring that tells what the parameters are reads none of them. */
function withoutDocstring(body: string): string {
  return body.replace(/^\s*(?:r|R)?("""|''')[\s\S]*?\1/, "");
}
