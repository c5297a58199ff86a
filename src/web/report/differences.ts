// Marks the words and lines in which two texts differ.
import type * as DiffLibrary from "diff";
import { type Child, h, untrustedText } from "../dom.js";

declare global {
  /** The page loads this library before it compares texts. */
  const Diff: Pick<typeof DiffLibrary, "diffWords" | "structuredPatch">;
}

/** Maximum number of different words. Texts with more differences have little in common. */
const MAX_DIFFERENT_WORDS = 300;

/**
 * Shows a text and marks the words that the other text does not contain. Returns null if the texts have nothing in
 * common.
 */
export function markDifferences(text: string, other: string, tag: "div" | "span" = "div"): HTMLElement | null {
  const parts = Diff.diffWords(other, text, { maxEditLength: MAX_DIFFERENT_WORDS });
  const isAlike = parts?.some(({ added, removed, value }) => !added && !removed && value.trim() !== "") ?? false;
  if (parts === undefined || !isAlike) return null;
  const marked = untrustedText("", "text", tag);
  for (const { value, added, removed } of parts) {
    if (!removed) marked.append(added && value.trim() !== "" ? h("mark", value) : h("span", value));
  }
  return marked;
}

/** Unchanged lines before and after each change. */
const CONTEXT = 3;

/** Shows the removed and added lines with their changed words marked, or returns null if the texts are equal. */
export function lineDifferences(before: string, after: string): HTMLElement | null {
  const { hunks } = Diff.structuredPatch("", "", before, after, "", "", { context: CONTEXT });
  if (hunks.length === 0) return null;
  const lines = hunks.flatMap(({ lines: changed }, i): Child[] => [
    i === 0 ? null : h("span.hint", "⋯"),
    ...hunkLines(changed),
  ]);
  return h("pre.line-differences", ...lines);
}

/** Each line starts with `-`, `+` or a space. */
function hunkLines(lines: readonly string[]): HTMLElement[] {
  const counterparts = new Map<number, number>();
  const signs = lines.map((line) => line.charAt(0)).join("");
  for (const { 1: removed = "", 2: added = "", index } of signs.matchAll(/(-+)(\++)/g)) {
    if (removed.length !== added.length) continue;
    for (let i = index; i < index + removed.length; i++) {
      counterparts.set(i, i + removed.length).set(i + removed.length, i);
    }
  }
  return lines.map((line, i) => {
    const other = lines[counterparts.get(i) ?? -1];
    const text = line.slice(1);
    const marked = other === undefined ? null : markDifferences(text, other.slice(1), "span");
    const shown = marked ?? untrustedText(text, "text", "span");
    const tag = line.startsWith("-") ? "del" : line.startsWith("+") ? "ins" : "span";
    return h(tag, {}, h("span.sign", line.charAt(0)), shown);
  });
}
