import { wilson } from "../statistics/wilson.js";
import type { Figure, Figures, ScoreMeaning } from "./page/data.js";

/** Two-sided 95 % of the normal distribution. */
const Z = 1.959963984540054;

/** Sums of every score over some tasks; a task that a score does not apply to is not among those it is taken over. */
export class ScoreTally {
  tasks = 0;
  private readonly sums = new Map<string, { n: number; sum: number; squares: number }>();

  constructor(private readonly meanings: readonly ScoreMeaning[]) {}

  add(scores: Readonly<Record<string, number | null>>): void {
    this.tasks++;
    for (const { name } of this.meanings) {
      const value = scores[name] ?? null;
      if (value === null) continue;
      const { n, sum, squares } = this.sums.get(name) ?? { n: 0, sum: 0, squares: 0 };
      this.sums.set(name, { n: n + 1, sum: sum + value, squares: squares + value * value });
    }
  }

  figures(): Figures {
    return Object.fromEntries(this.meanings.map((meaning) => [meaning.name, this.figure(meaning)]));
  }

  private figure({ name, kind }: ScoreMeaning): Figure {
    const { n, sum, squares } = this.sums.get(name) ?? { n: 0, sum: 0, squares: 0 };
    if (n === 0) return { value: null, n, low: null, high: null };
    const interval = kind === "rate" ? wilson(sum, n) : ofMean(n, sum, squares);
    return { value: sum / n, n, ...interval };
  }
}

/** Mean ± 1.96 standard errors; one task alone says nothing of its error. */
function ofMean(n: number, sum: number, squares: number): { low: number | null; high: number | null } {
  if (n < 2) return { low: null, high: null };
  const mean = sum / n;
  const variance = Math.max(0, (squares - n * mean * mean) / (n - 1));
  const half = Z * Math.sqrt(variance / n);
  return { low: mean - half, high: mean + half };
}
