// Parses YAML that contains only plain data, with the line of each fault.
import { isAlias, isMap, isNode, LineCounter, parseDocument, visit } from "yaml";

/** A YAML document that contains only plain data. */
export interface YamlDocument {
  readonly value: unknown;
  /**
   * Returns the line (from 1) of the value at `path`, or of the nearest node that contains it. With `key`, the line of
   * this key in the mapping at `path`. Undefined for an empty document.
   */
  lineOf(path: readonly PropertyKey[], key?: string): number | undefined;
}

/** A fault in a YAML document. `line` is undefined if it concerns the entire document. */
export class YamlError extends Error {
  constructor(
    message: string,
    readonly line?: number | undefined,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** Parses one YAML document. Throws a YamlError for bad syntax, a duplicate key, anchors and aliases. */
export function readYamlDocument(text: string): YamlDocument {
  const lines = new LineCounter();
  const lineAt = (offset: number | undefined) => (offset === undefined ? undefined : lines.linePos(offset).line);
  let document: ReturnType<typeof parseDocument>;
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, merge: false });
  } catch (cause) {
    const why = cause instanceof RangeError ? "is nested too deeply" : (cause as Error).message;
    throw new YamlError(why, undefined, { cause });
  }
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong !== undefined) {
    throw new YamlError(wrong.message.replace(/\s+/g, " ").replace(/\.$/, ""), lineAt(wrong.pos[0]));
  }
  visit(document, {
    Node(_, node) {
      if (isAlias(node) || ("anchor" in node && node.anchor !== undefined)) {
        throw new YamlError("has an anchor or an alias, which are not supported", lineAt(node.range?.[0]));
      }
    },
  });
  return {
    value: document.toJS({ maxAliasCount: 0 }),
    lineOf(path, key) {
      for (let depth = path.length; depth >= 0; depth--) {
        const node = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
        if (!isNode(node)) continue;
        const pair = isMap(node) ? node.items.find((item) => String(item.key) === key) : undefined;
        return lineAt(isNode(pair?.key) ? pair.key.range?.[0] : node.range?.[0]);
      }
      return undefined;
    },
  };
}
