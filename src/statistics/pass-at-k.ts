/** pass@k: probability that at least one of k <= n tries is right (Chen et al. 2021, unbiased): 1 - C(n-c,k)/C(n,k). */
export function passAtK(n: number, right: number, k: number): number {
  return 1 - shareOfDraws(n, n - right, k);
}

/** pass^k of tau-bench: probability that all k <= n tries are right: C(c,k)/C(n,k). */
export function passHatK(n: number, right: number, k: number): number {
  return shareOfDraws(n, right, k);
}

/** C(marked, k) / C(n, k) as a product: the binomials themselves would overflow. */
function shareOfDraws(n: number, marked: number, k: number): number {
  let share = 1;
  for (let i = 0; i < k; i++) share *= Math.max(0, marked - i) / (n - i);
  return share;
}
