/**
 * Spider2-V's conjunction, which evaluates no more than it must: `and` is 0 at the first zero and else the mean, `or`
 * is 1 at the first 1 and else the largest.
 */
export async function combineMetrics(
  conjunction: "and" | "or",
  metrics: readonly (() => Promise<number>)[],
): Promise<number> {
  const scores: number[] = [];
  for (const evaluate of metrics) {
    const score = await evaluate();
    if (conjunction === "and" && score === 0) return 0;
    if (conjunction === "or" && score === 1) return 1;
    scores.push(score);
  }
  return conjunction === "and" ? scores.reduce((a, b) => a + b, 0) / scores.length : Math.max(...scores);
}
