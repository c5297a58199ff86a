import type { Estimate } from "../domain/scores/interval-estimate.js";
import { Z_975 } from "./normal.js";

/**
 * Cohen's kappa of two raters (Cohen 1960) from their table of counts, one rater in the rows, the other in the columns.
 * The interval uses the large-sample variance of Fleiss, Cohen and Everitt (1969). All null if both put everything into
 * one category: kappa is undefined.
 */
export function kappa(counts: readonly (readonly number[])[]): Estimate {
  const n = counts.flat().reduce((a, b) => a + b, 0);
  const none: Estimate = { value: null, n, low: null, high: null };
  if (n === 0) return none;
  const shares = counts.map((row) => row.map((cell) => cell / n));
  const rows = shares.map((row) => row.reduce((a, b) => a + b, 0));
  const columns = rows.map((_, j) => shares.reduce((sum, row) => sum + (row[j] ?? 0), 0));
  const at = (list: readonly number[], i: number) => list[i] ?? 0;
  const observed = shares.reduce((sum, row, i) => sum + at(row, i), 0);
  const expected = rows.reduce((sum, share, i) => sum + share * at(columns, i), 0);
  if (expected === 1) return none;
  const value = (observed - expected) / (1 - expected);
  let diagonal = 0;
  let offDiagonal = 0;
  for (const [i, row] of shares.entries()) {
    for (const [j, share] of row.entries()) {
      if (i === j) diagonal += share * (1 - (at(rows, i) + at(columns, i)) * (1 - value)) ** 2;
      else offDiagonal += share * (at(columns, i) + at(rows, j)) ** 2;
    }
  }
  const variance = diagonal + (1 - value) ** 2 * offDiagonal - (value - expected * (1 - value)) ** 2;
  const error = Math.sqrt(Math.max(0, variance) / n) / (1 - expected);
  return { value, n, low: Math.max(-1, value - Z_975 * error), high: Math.min(1, value + Z_975 * error) };
}
