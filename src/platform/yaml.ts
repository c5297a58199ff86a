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

/** Tags of plain data. Others make objects whose content would be lost, such as sets and dates. */
const PLAIN_TAGS = /^(?:!|tag:yaml\.org,2002:(?:bool|float|int|map|null|seq|str))$/;

/** Returns the parser's message as the end of a sentence. */
function parserReason({ message }: Error): string {
  if (/call stack/.test(message)) return "is nested too deeply";
  if (/multiple documents/.test(message)) return "contains several documents, expected one";
  return message.replace(/\s+/g, " ").replace(/\.$/, "");
}

/** Parses one YAML document. Throws a YamlError for bad syntax, a duplicate key, anchors and aliases. */
export function readYamlDocument(text: string): YamlDocument {
  const lines = new LineCounter();
  const lineAt = (offset: number | undefined) => (offset === undefined ? undefined : lines.linePos(offset).line);
  let document: ReturnType<typeof parseDocument>;
  try {
    // Its own check for unique keys takes quadratic time.
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, merge: false });
  } catch (cause) {
    throw new YamlError(parserReason(cause as Error), undefined, { cause });
  }
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong !== undefined) throw new YamlError(parserReason(wrong), lineAt(wrong.pos[0]));
  visit(document, {
    Node(_, node) {
      const line = lineAt(node.range?.[0]);
      if (isAlias(node) || ("anchor" in node && node.anchor !== undefined)) {
        throw new YamlError("has an anchor or an alias, which are not supported", line);
      }
      if (node.tag !== undefined && !PLAIN_TAGS.test(node.tag)) {
        throw new YamlError(`has the tag ${node.tag}, which is not supported`, line);
      }
      if (!isMap(node)) return;
      const keys = new Set<string>();
      for (const { key } of node.items) {
        const name = String(key);
        const at = isNode(key) ? lineAt(key.range?.[0]) : line;
        if (keys.has(name)) throw new YamlError(`has the key ${name.slice(0, 100)} twice`, at);
        // Schemas ignore it, because it is not a usual property of an object.
        if (name === "__proto__") throw new YamlError("has the key __proto__, which is not supported", at);
        keys.add(name);
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
