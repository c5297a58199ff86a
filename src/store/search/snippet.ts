import type { TermMatch } from "./term-matches.js";

const WIDTH = 240;

/** ASCII: U+2026 would make V8 store every string it becomes part of, up to the trace, with two bytes a character. */
const ELLIPSIS = "...";

/** White space other than a single space. */
const WHITE_SPACE = /\s{2,}|[^\S ]/g;

/** Halves of surrogate pairs at the ends of a cut text. */
const HALF_PAIRS = /^[\udc00-\udfff]|[\ud800-\udbff]$/g;

/**
 * The window of `body` (about 240 characters, white space collapsed) with the most distinct terms; its start if there
 * is no match. Made for hits only: FTS5's snippet() costs more than the search.
 */
export function snippet(body: string, words: readonly TermMatch[]): string {
  const window = bestWindow(words);
  return window === null
    ? excerpt(body, 0)
    : excerpt(body, Math.max(0, window.start - Math.max(20, (WIDTH - window.length) / 2)));
}

function bestWindow(occurrences: readonly TermMatch[]): { start: number; length: number } | null {
  let best: { start: number; length: number; terms: number } | null = null;
  const counts = new Map<number, number>();
  let first = 0;
  for (const last of occurrences) {
    counts.set(last.term, (counts.get(last.term) ?? 0) + 1);
    for (
      let head = occurrences[first];
      head !== undefined && last.end - head.start > WIDTH;
      head = occurrences[++first]
    ) {
      const left = (counts.get(head.term) ?? 0) - 1;
      if (left === 0) counts.delete(head.term);
      else counts.set(head.term, left);
    }
    const start = occurrences[first]?.start ?? last.start;
    if (best === null || counts.size > best.terms) best = { start, length: last.end - start, terms: counts.size };
  }
  return best;
}

function excerpt(body: string, from: number): string {
  // Begin at a word, end at a word, never inside a surrogate pair.
  const start = from === 0 ? 0 : from + Math.max(0, body.slice(from, from + 30).search(/\s/) + 1);
  const text = body
    .slice(start, start + WIDTH * 2)
    .replace(WHITE_SPACE, " ")
    .trim();
  const space = text.lastIndexOf(" ", WIDTH);
  // Matches begin in the first half, so only a space after it may end the excerpt.
  const end = text.length <= WIDTH ? text.length : space > WIDTH / 2 ? space : WIDTH;
  const more = end < text.length || start + WIDTH * 2 < body.length;
  return `${start > 0 ? `${ELLIPSIS} ` : ""}${text.slice(0, end).replace(HALF_PAIRS, "")}${more ? ` ${ELLIPSIS}` : ""}`;
}
