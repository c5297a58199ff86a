/** Longer sequences would take too long to compare. */
const MAX_LINES = 20_000;

/** From this length on, difflib leaves out what occurs in more than 1 % of the lines, to be faster. */
const AUTOJUNK_LENGTH = 200;

interface Range {
  readonly aStart: number;
  readonly aEnd: number;
  readonly bStart: number;
  readonly bEnd: number;
}

/** `difflib.SequenceMatcher(a=a, b=b).ratio()`: twice the matching lines over all lines. */
export function matchingRatio(a: readonly string[], b: readonly string[]): number {
  if (a.length + b.length === 0) return 1;
  if (a.length > MAX_LINES || b.length > MAX_LINES) throw new Error(`more than ${MAX_LINES} lines are not compared`);
  const positions = indexLines(b);
  const ranges: Range[] = [{ aStart: 0, aEnd: a.length, bStart: 0, bEnd: b.length }];
  let matches = 0;
  for (let range = ranges.pop(); range !== undefined; range = ranges.pop()) {
    const match = findLongestMatch(a, b, positions, range);
    if (match.size === 0) continue;
    matches += match.size;
    ranges.push({ ...range, aEnd: match.a, bEnd: match.b });
    ranges.push({ ...range, aStart: match.a + match.size, bStart: match.b + match.size });
  }
  return (2 * matches) / (a.length + b.length);
}

function indexLines(b: readonly string[]): Map<string, number[]> {
  const positions = new Map<string, number[]>();
  b.forEach((line, j) => {
    const list = positions.get(line);
    if (list === undefined) positions.set(line, [j]);
    else list.push(j);
  });
  if (b.length >= AUTOJUNK_LENGTH) {
    const limit = Math.floor(b.length / 100) + 1;
    for (const [line, list] of positions) if (list.length > limit) positions.delete(line);
  }
  return positions;
}

/** The first longest run of equal lines; popular lines do not start one, but extend it. */
function findLongestMatch(a: readonly string[], b: readonly string[], positions: Map<string, number[]>, range: Range) {
  let best = { a: range.aStart, b: range.bStart, size: 0 };
  let lengths = new Map<number, number>();
  for (let i = range.aStart; i < range.aEnd; i++) {
    const next = new Map<number, number>();
    for (const j of positions.get(a[i] ?? "") ?? []) {
      if (j < range.bStart) continue;
      if (j >= range.bEnd) break;
      const size = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, size);
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
    }
    lengths = next;
  }
  while (best.a > range.aStart && best.b > range.bStart && a[best.a - 1] === b[best.b - 1]) {
    best = { a: best.a - 1, b: best.b - 1, size: best.size + 1 };
  }
  while (
    best.a + best.size < range.aEnd &&
    best.b + best.size < range.bEnd &&
    a[best.a + best.size] === b[best.b + best.size]
  ) {
    best = { ...best, size: best.size + 1 };
  }
  return best;
}
