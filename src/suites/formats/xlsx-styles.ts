// Styles of xlsx cells: fonts, fills and number formats, read like openpyxl.
import { builtinFormat, childValue, findChild, findChildren, toBoolean, type XmlNode } from "./xlsx-cells.js";

/** An aRGB value, or `unset` for other notations (theme, index). openpyxl always returns the same value for these. */
export type CellColor = string | { readonly unset: true };

export interface CellFont {
  readonly name: string | null;
  readonly family: number | null;
  readonly size: number | null;
  readonly bold: boolean;
  readonly italic: boolean;
  readonly underline: string | null;
  /** Color, or null if the font does not specify one. */
  readonly color: CellColor | null;
}

interface CellFill {
  readonly type: "patternFill" | "gradientFill";
  /** Background color, or null for gradients. */
  readonly background: CellColor | null;
  readonly foreground: CellColor | null;
}

export interface CellStyle {
  readonly font: CellFont | null;
  readonly fill: CellFill | null;
  readonly numberFormat: string | null;
}

export interface Stylesheet {
  readonly cells: readonly CellStyle[];
  /** Styles of conditional formats. */
  readonly differential: readonly CellStyle[];
}

const UNSET: CellColor = { unset: true };
const NO_COLOR = "00000000";

const DEFAULT_FILL: CellFill = { type: "patternFill", background: NO_COLOR, foreground: NO_COLOR };

/** Reads the cell styles like openpyxl. */
export function readStyles(root: XmlNode | undefined): Stylesheet {
  const fonts = findChildren(findChild(root, "fonts"), "font").map(readFont);
  const fills = findChildren(findChild(root, "fills"), "fill").map(readFill);
  const custom = new Map(
    findChildren(findChild(root, "numFmts"), "numFmt").map(({ attributes }) => [
      Number(attributes.numFmtId),
      attributes.formatCode ?? "",
    ]),
  );
  const cells = findChildren(findChild(root, "cellXfs"), "xf").map(({ attributes }) => {
    const format = Number(attributes.numFmtId ?? 0);
    return {
      font: fonts[Number(attributes.fontId ?? 0)] ?? null,
      fill: fills[Number(attributes.fillId ?? 0)] ?? null,
      numberFormat: custom.get(format) ?? builtinFormat(format),
    };
  });
  return { cells, differential: findChildren(findChild(root, "dxfs"), "dxf").map(readDifferential) };
}

function readDifferential(node: XmlNode): CellStyle {
  const [font, fill] = [findChild(node, "font"), findChild(node, "fill")];
  return {
    font: font === undefined ? null : readFont(font),
    fill: fill === undefined ? null : readFill(fill),
    numberFormat: findChild(node, "numFmt")?.attributes.formatCode ?? null,
  };
}

function readFont(node: XmlNode): CellFont {
  const flag = (name: string) => {
    const child = findChild(node, name);
    return child !== undefined && toBoolean(child.attributes.val ?? "1");
  };
  const number = (name: string) => {
    const value = childValue(node, name);
    return value === undefined ? null : Number(value);
  };
  const underline = findChild(node, "u");
  const color = findChild(node, "color");
  return {
    name: childValue(node, "name") ?? null,
    family: number("family"),
    size: number("sz"),
    bold: flag("b"),
    italic: flag("i"),
    underline: underline === undefined ? null : (underline.attributes.val ?? "single"),
    color: color === undefined ? null : readColor(color),
  };
}

function readFill(node: XmlNode): CellFill {
  const pattern = findChild(node, "patternFill");
  if (pattern === undefined) {
    if (findChild(node, "gradientFill") === undefined) return DEFAULT_FILL;
    return { type: "gradientFill", background: null, foreground: null };
  }
  const colorOf = (name: string) => {
    const color = findChild(pattern, name);
    return color === undefined ? NO_COLOR : readColor(color);
  };
  return { type: "patternFill", background: colorOf("bgColor"), foreground: colorOf("fgColor") };
}

function readColor({ attributes }: XmlNode): CellColor {
  const isOther = ["indexed", "theme", "auto"].some((name) => name in attributes);
  if (isOther) return UNSET;
  const rgb = attributes.rgb ?? NO_COLOR;
  return rgb.length === 6 ? `00${rgb}` : rgb;
}
