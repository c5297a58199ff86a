/**
 * Two-sided exact p value of McNemar's test: how likely pairs that disagree would fall at least this unevenly, were both
 * sides equally good. `onlyFirst`, `onlySecond`: pairs right on that side alone. 1 where no pair disagrees.
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
