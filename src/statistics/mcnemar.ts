/**
 * Two-sided exact p value of McNemar's test: the probability that discordant pairs split at least this unevenly if both
 * sides are equally good. `onlyFirst`, `onlySecond`: pairs right on that side only. 1 without discordant pairs.
 */
export function mcnemar(onlyFirst: number, onlySecond: number): number {
  const n = onlyFirst + onlySecond;
  const fewer = Math.min(onlyFirst, onlySecond);
  let log = -n * Math.LN2;
  let tail = Math.exp(log);
  for (let i = 1; i <= fewer; i++) {
    log += Math.log((n - i + 1) / i);
    tail += Math.exp(log);
  }
  return Math.min(1, 2 * tail);
}
