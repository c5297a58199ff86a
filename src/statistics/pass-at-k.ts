/**
 * pass@k: the probability that at least one of k <= n attempts is right, 1 - C(n-c,k)/C(n,k). Unbiased estimator by
 * Chen et al. 2021, https://arxiv.org/abs/2107.03374.
 */
export function passAtK(n: number, right: number, k: number): number {
  return 1 - shareOfDraws(n, n - right, k);
}

/**
 * pass^k: the probability that all k <= n attempts are right, C(c,k)/C(n,k). From tau-bench (Yao et al. 2024),
 * https://arxiv.org/abs/2406.12045.
 */
export function passHatK(n: number, right: number, k: number): number {
  return shareOfDraws(n, right, k);
}

/** C(marked, k) / C(n, k), computed as a product because the binomials would overflow. */
function shareOfDraws(n: number, marked: number, k: number): number {
  let share = 1;
  for (let i = 0; i < k; i++) share *= Math.max(0, marked - i) / (n - i);
  return share;
}
