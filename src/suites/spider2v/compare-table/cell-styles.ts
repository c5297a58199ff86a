import type { RawCell } from "../../formats/xlsx/cells.js";
import type { CellColor, CellFont, CellStyle } from "../../formats/xlsx/styles.js";

/** A cell as far as its style is compared. */
export interface StyledCell {
  /** Formulas count as a value. */
  readonly hasValue: boolean;
  readonly isNumber: boolean;
  readonly style: CellStyle;
}

export type StyleValue = string | number | boolean | null | CellColor;

const DEFAULT_STYLE: CellStyle = {
  font: null,
  fill: { type: "patternFill", background: "00000000", foreground: "00000000" },
  numberFormat: "General",
};

export const EMPTY_CELL: StyledCell = { hasValue: false, isNumber: false, style: DEFAULT_STYLE };

export function styleCell(
  cell: RawCell,
  styles: readonly CellStyle[],
  isDate: (format: string) => boolean,
): StyledCell {
  const style = styles[cell.style] ?? DEFAULT_STYLE;
  return {
    hasValue: cell.hasFormula || cell.value !== null || cell.inline !== null,
    isNumber: cell.type === "n" && !cell.hasFormula && !isDate(style.numberFormat ?? "General"),
    style,
  };
}

/** Of the cell, or of a conditional format that applies to it. Of an empty cell only the fill counts. */
export function readStyleProperty(name: string, cell: StyledCell, style: CellStyle = cell.style): StyleValue {
  if (name === "fill_type") return style.fill?.type ?? null;
  if (name === "bgcolor") return style.fill?.background ?? null;
  if (name === "fgcolor") return style.fill?.foreground ?? null;
  if (name === "hyperlink") throw new Error("hyperlinks are not compared");
  if (name === "number_format") return cell.hasValue && cell.isNumber ? style.numberFormat : null;
  const read = FONT[name];
  if (read === undefined) throw new Error(`style ${name} is not known`);
  if (!cell.hasValue) return null;
  if (style.font === null) throw new Error("a cell has no font");
  return read(style.font);
}

const FONT: Readonly<Record<string, (font: CellFont) => StyleValue>> = {
  font_name: (font) => font.name,
  font_family: (font) => font.family,
  font_bold: (font) => font.bold,
  font_italic: (font) => font.italic,
  font_underline: (font) => font.underline,
  font_size: (font) => font.size,
  font_color: (font) => {
    if (font.color === null) throw new Error("a font has no colour");
    return font.color;
  },
};
