/** UTF-16 units of a text, the end exclusive. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Below, a passage stands in any text by chance. Characters. */
const MIN_PASSAGE = 4;

/**
 * Where a passage stands in a text, word for word but for case, white space and the marks of quotations; null: nowhere.
 */
export function locatePassage(text: string, passage: string): TextSpan | null {
  const wanted = withoutSpace(passage);
  if (wanted.text.length < MIN_PASSAGE) return null;
  const dense = withoutSpace(text);
  const at = dense.text.indexOf(wanted.text);
  if (at === -1) return null;
  const start = dense.positions[at] ?? 0;
  return { start, end: (dense.positions[at + wanted.text.length - 1] ?? start) + 1 };
}

/** A text in lower case without what may differ, and the position of each unit that is left. */
function withoutSpace(text: string): { readonly text: string; readonly positions: readonly number[] } {
  const positions: number[] = [];
  let dense = "";
  for (let i = 0; i < text.length; i++) {
    const unit = text.charAt(i);
    if (/[>\s]/.test(unit)) continue;
    const lower = unit.toLowerCase();
    // A few letters become two in lower case, which would move all positions after them.
    dense += lower.length === 1 ? lower : unit;
    positions.push(i);
  }
  return { text: dense, positions };
}
