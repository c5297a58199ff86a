import type { FrameCell } from "./frame.js";

/**
 * Labels of the columns from the header: an empty one is named by its position, a repeated one gets `.1`, `.2`; named
 * columns keep their name before unnamed ones.
 */
export function nameColumns(header: readonly FrameCell[]): FrameCell[] {
  const unnamed = header.flatMap((name, i) => (name === "" ? [i] : []));
  const names = header.map((name, i) => (name === "" ? `Unnamed: ${i}` : name));
  const counts = new Map<FrameCell, number>();
  const order = [...names.keys()].filter((i) => !unnamed.includes(i)).concat(unnamed);
  for (const i of order) {
    const original = names[i] as FrameCell;
    let name = original;
    let count = counts.get(name) ?? 0;
    while (count > 0) {
      counts.set(original, count + 1);
      name = `${String(original)}.${count}`;
      count = names.includes(name) ? count + 1 : (counts.get(name) ?? 0);
    }
    names[i] = name;
    counts.set(name, count + 1);
  }
  return names;
}
