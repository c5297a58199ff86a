import { XMLParser, XMLValidator } from "fast-xml-parser";

/** An element, its name and those of its attributes without prefixes. */
export interface XmlNode {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlNode[];
  /** Its own text, before the first child too. */
  readonly text: string;
}

const ATTRIBUTES = ":@";
const TEXT = "#text";
const ENTITY = /&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|(lt|gt|amp|quot|apos));/g;
const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: "",
  removeNSPrefix: true,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  processEntities: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
});

type ParsedNode = Readonly<Record<string, unknown>>;

/** The root of an XML document. Documents with a type are refused, and so no entity is expanded but the five of XML. */
export function parseXml(bytes: Uint8Array): XmlNode {
  const text = new TextDecoder().decode(bytes);
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) throw new Error("XML with a document type is not read");
  const validity = XMLValidator.validate(text);
  if (validity !== true) throw new Error(`broken XML: ${validity.err.msg}`);
  const [root] = (parser.parse(text) as ParsedNode[]).flatMap(toNode);
  if (root === undefined) throw new Error("XML without an element");
  return root;
}

function toNode(parsed: ParsedNode): XmlNode[] {
  const name = Object.keys(parsed).find((key) => key !== ATTRIBUTES);
  if (name === undefined || name === TEXT) return [];
  const content = parsed[name] as readonly ParsedNode[];
  const attributes = Object.entries((parsed[ATTRIBUTES] ?? {}) as Record<string, string>);
  return [
    {
      name,
      attributes: Object.fromEntries(attributes.map(([key, value]) => [key, decodeEntities(String(value))])),
      children: content.flatMap(toNode),
      text: decodeEntities(content.map((child) => (TEXT in child ? String(child[TEXT]) : "")).join("")),
    },
  ];
}

function decodeEntities(text: string): string {
  return text.replace(ENTITY, (entity, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return NAMED[name] ?? entity;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : entity;
  });
}

/** The first child of a name, or of a path of names. */
export function findChild(node: XmlNode | undefined, ...path: readonly string[]): XmlNode | undefined {
  let current = node;
  for (const name of path) current = current?.children.find((child) => child.name === name);
  return current;
}

export function findChildren(node: XmlNode | undefined, name: string): readonly XmlNode[] {
  return node?.children.filter((child) => child.name === name) ?? [];
}

/** The attribute `val` of a child, in which most settings of the format lie. */
export function childValue(node: XmlNode | undefined, name: string): string | undefined {
  return findChild(node, name)?.attributes.val;
}

/** A boolean as openpyxl reads it: false, f and 0 are false, anything else is true. */
export function toBoolean(text: string): boolean {
  return text !== "false" && text !== "f" && text !== "0";
}
