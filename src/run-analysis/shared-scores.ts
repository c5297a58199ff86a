/** By scorer, how many tasks have a value. */
export type ScoredTasks = Readonly<Record<string, { readonly n: number }>>;

/** What two runs both have a value of, with how many tasks the lesser has it for. */
export function sharedScores(a: ScoredTasks, b: ScoredTasks): ScoredTasks {
  const shared = Object.entries(a).flatMap(([name, { n }]) => {
    const other = b[name]?.n ?? 0;
    return n > 0 && other > 0 ? [[name, { n: Math.min(n, other) }] as const] : [];
  });
  return Object.fromEntries(shared);
}

/** All metrics of shared scores: accuracy first, where questions have one. */
export function sharedMetrics(shared: ScoredTasks): string[] {
  const all = Object.keys(shared);
  return all.includes("exactMatch") || all.includes("judgeCorrect") ? ["accuracy", ...all] : all;
}
