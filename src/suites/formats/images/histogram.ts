const BINS = 256;

/** `calcHist` with 256 bins, scaled to 0..1 by `normalize(..., NORM_MINMAX)`, in single precision. */
export function normalizedHistogram(channel: Uint8Array): Float32Array {
  const counts = new Float32Array(BINS);
  for (const value of channel) counts[value] = (counts[value] ?? 0) + 1;
  const least = counts.reduce((a, b) => Math.min(a, b));
  const range = counts.reduce((a, b) => Math.max(a, b)) - least;
  const scale = range > 0 ? 1 / range : 0;
  return counts.map((count) => (count - least) * scale);
}

/** `compareHist(a, b, HISTCMP_CORREL)`: 1 for equal histograms, also for constant ones. */
export function correlate(a: Float32Array, b: Float32Array): number {
  let [sumA, sumB, squaresA, squaresB, products] = [0, 0, 0, 0, 0];
  a.forEach((x, i) => {
    const y = b[i] ?? 0;
    sumA += x;
    sumB += y;
    squaresA += x * x;
    squaresB += y * y;
    products += x * y;
  });
  const covariance = products - (sumA * sumB) / BINS;
  const variances = (squaresA - (sumA * sumA) / BINS) * (squaresB - (sumB * sumB) / BINS);
  return Math.abs(variances) > Number.EPSILON ? covariance / Math.sqrt(variances) : 1;
}
