/** Elements whose contents are no text, and those that begin a line. */
const SILENT: ReadonlySet<string> = new Set(["script", "style", "noscript", "template", "svg"]);
const BREAKING =
  /^\/?(?:p|div|br|li|ul|ol|tr|table|h[1-6]|pre|section|article|header|footer|nav|dt|dd|blockquote|hr|main|aside)$/;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** The text between tags, in one pass. Not for showing as markup again. */
export function textOfHtml(html: string): string {
  const text = contentOf(html).replace(/&(#x?[0-9a-f]{1,6}|[a-z]{2,6});/gi, (whole, name: string) => {
    return characterOf(whole, name);
  });
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line, i, lines) => line !== "" || (i > 0 && lines[i - 1] !== ""))
    .join("\n");
}

function contentOf(html: string): string {
  const parts: string[] = [];
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf("<", at);
    parts.push(html.slice(at, open === -1 ? html.length : open));
    if (open === -1) break;
    const isComment = html.startsWith("<!--", open);
    const close = html.indexOf(isComment ? "-->" : ">", open);
    if (close === -1) break;
    at = close + (isComment ? 3 : 1);
    const name = isComment ? "" : nameOf(html.slice(open + 1, Math.min(close, open + 40)));
    if (BREAKING.test(name)) parts.push("\n");
    if (SILENT.has(name)) at = endOfElement(html, name, at);
  }
  return parts.join("");
}

/** Where its end tag begins: what is in it may hold signs that look like tags. */
function endOfElement(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}`, "gi");
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
}

function nameOf(tag: string): string {
  return /^\/?[a-z][a-z0-9]*/i.exec(tag)?.[0].toLowerCase() ?? "";
}

function characterOf(whole: string, name: string): string {
  if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? whole;
  const isHex = /^#x/i.test(name);
  const code = Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
}
