// Converts HTML and text/enriched bodies to the plain text that is searched and shown.
import {
  convert,
  type DomNode,
  type FormatCallback,
  type HtmlToTextOptions,
  type SelectorDefinition,
} from "html-to-text";

/** Temporary mark for the end of a table cell, because white space would be collapsed. */
const CELL_END = "\u0001";

/** Formats a table cell, and separates it from the next one in its row. */
const cell: FormatCallback = (element, walk, builder) => {
  walk(element.children, builder);
  builder.addInline(CELL_END, { noWordTransform: true });
};

/** Formats a table row on one line. */
const row: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 1 });
  walk(element.children, builder);
  builder.closeBlock({ trailingLineBreaks: 1 });
};

const alternativeText: FormatCallback = (element, _walk, builder) => {
  const text = element.attribs?.alt?.trim() ?? "";
  if (text !== "") builder.addInline(text);
};

/** Deeper quotations do not get more marks, because the text would grow by two characters per line and level. */
const MAX_QUOTE_DEPTH = 20;

/** Formats a quotation with a mark on each line. */
const quotation: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  walk(element.children, builder);
  const isMarked = quotationsAround(element) < MAX_QUOTE_DEPTH;
  builder.closeBlock({
    trailingLineBreaks: 2,
    ...(isMarked
      ? { blockTransform: (text: string) => `> ${text.replace(/^\n+|\n+$/g, "").replaceAll("\n", "\n> ")}` }
      : {}),
  });
};

/** Returns the number of enclosing quotations, up to `MAX_QUOTE_DEPTH`. */
function quotationsAround({ parent }: DomNode): number {
  let count = 0;
  for (let node = parent; node && count < MAX_QUOTE_DEPTH; node = node.parent) {
    if (node.name === "blockquote") count++;
  }
  return count;
}

/** Soft hyphens, which would split words in the search, and the cell mark. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the mark of a cell is one.
const INVISIBLE = /[\u0001\u00ad]|&shy;|&#173;/g;

const block = { leadingLineBreaks: 1, trailingLineBreaks: 1 };
const paragraph = { leadingLineBreaks: 2, trailingLineBreaks: 2 };
const heading = { ...paragraph, uppercase: false };

const LINK_OPTIONS = {
  linkBrackets: ["(", ")"] as [string, string],
  hideLinkHrefIfSameAsText: true,
  noAnchorUrl: true,
  // A data: link contains a file, not an address.
  pathRewrite: (path: string) => (/^\s*data:/i.test(path) ? "" : path),
};

const SELECTORS: SelectorDefinition[] = [
  { selector: "a", options: LINK_OPTIONS },
  { selector: "blockquote", format: "quotation" },
  { selector: "img", format: "alternativeText" },
  { selector: "table", format: "block", options: paragraph },
  { selector: "tr", format: "row" },
  { selector: "td", format: "cell" },
  { selector: "th", format: "cell" },
  ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: heading })),
  ...["ul", "ol"].map((selector) => ({ selector, options: { ...paragraph, itemPrefix: " * " } })),
  ...["dt", "dd", "caption", "center", "address", "fieldset", "option"].map((selector) => ({
    selector,
    format: "block",
    options: block,
  })),
  ...["head", "title", "script", "style", "template"].map((selector) => ({ selector, format: "skip" })),
];

const OPTIONS: HtmlToTextOptions = {
  wordwrap: false,
  selectors: SELECTORS,
  formatters: { cell, row, alternativeText, quotation },
  limits: { maxInputLength: Number.POSITIVE_INFINITY },
};

// `Pat <pat@plains.example>` and `<https://...>`, left unescaped in HTML by a mail program.
const BARE_ADDRESS_OR_LINK = /<((?:mailto:)?[^\s<>"'=/@]{1,64}@[^\s<>"'=/@]{1,255}|https?:\/\/[^\s<>"']{1,2000})>/g;

/**
 * Converts HTML to plain text. Inline elements do not add white space, blocks start a new line, tabs separate the cells
 * of a table row, and quoted mail gets `> `. Scripts, style sheets and the head are omitted.
 */
export function htmlToText(html: string): string {
  const escaped = html.replace(INVISIBLE, "").replace(BARE_ADDRESS_OR_LINK, "&lt;$1&gt;");
  try {
    return withCells(convert(escaped, OPTIONS));
  } catch (error) {
    // Thousands of nested elements overflow the stack.
    if (error instanceof RangeError) return withoutTags(escaped);
    throw error;
  }
}

function withCells(text: string): string {
  if (!text.includes(CELL_END)) return text;
  return text
    .split("\n")
    .map((line) =>
      line
        .split(CELL_END)
        .map((content, i) => (i === 0 ? content.trimEnd() : content.trim()))
        .join("\t")
        .replace(/^((?:> ?)*)\t+/, "$1")
        .trimEnd(),
    )
    .join("\n")
    .replace(/\n{3,}/g, "\n\n");
}

function withoutTags(html: string): string {
  return html.replace(/<[a-z/!][^<>]*>/gi, " ");
}

/** Converts text/enriched (RFC 1896) to plain text. `<<` becomes `<`, and parameters are omitted. */
export function enrichedToText(enriched: string): string {
  return enriched
    .replaceAll("<<", CELL_END)
    .replace(/<param>[^<]*<\/param>/gi, "")
    .replace(/<\/?[a-z][\w-]{0,60}>/gi, "")
    .replaceAll(CELL_END, "<");
}
