/**
 * Returns p values adjusted for all of them being read: the family-wise error at 0.05 is at most 5% (Holm 1979, "A
 * simple sequentially rejective multiple test procedure"). Keeps the order of its input.
 */
export function holm(pValues: readonly number[]): number[] {
  const adjusted = [...pValues];
  const ascending = pValues.map((p, i) => ({ p, i })).toSorted((a, b) => a.p - b.p);
  let largest = 0;
  ascending.forEach(({ p, i }, rank) => {
    largest = Math.max(largest, Math.min(1, (pValues.length - rank) * p));
    adjusted[i] = largest;
  });
  return adjusted;
}

/**
 * Returns which hypotheses are rejected if all e-values are read: at most 5% of the rejected ones are expected to be
 * true, for any dependence between the e-values (Wang and Ramdas 2022, "False discovery rate control with e-values",
 * JRSS B 84(3)).
 */
export function eBenjaminiHochberg(eValues: readonly number[], rate = 0.05): boolean[] {
  const descending = eValues.toSorted((a, b) => b - a);
  const last = descending.findLastIndex((e, i) => e * (i + 1) >= eValues.length / rate);
  const smallest = descending[last] ?? Number.POSITIVE_INFINITY;
  return eValues.map((e) => e >= smallest);
}
