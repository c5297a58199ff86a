// Quantiles and tails of the normal and Student's t distribution.
import { bisect, errorFunction, gammaln } from "simple-statistics";

const LARGEST = 1e8;

const cache = new Map<number, number>();

/**
 * Returns the 97.5% quantile of Student's t with `degrees` of freedom, or a huge constant if `degrees` is far below 1.
 */
export function t975(degrees: number): number {
  if (degrees > 1e7) return Z_975;
  if (degrees < 0.2) return LARGEST;
  let point = cache.get(degrees);
  if (point === undefined) {
    point = bisect((t) => belowT(t, degrees) - 0.975, 1.9, LARGEST, 200, 1e-12);
    cache.set(degrees, point);
  }
  return point;
}

/** Cumulative distribution function of Student's t. */
export function belowT(t: number, degrees: number): number {
  const tail = incompleteBeta(degrees / (degrees + t * t), degrees / 2, 0.5) / 2;
  return t > 0 ? 1 - tail : tail;
}

/**
 * The regularized incomplete beta function I_x(a, b) as a continued fraction (https://dlmf.nist.gov/8.17#E22),
 * evaluated with the modified Lentz method.
 */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(gammaln(a + b) - gammaln(a) - gammaln(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  let c = 1;
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m <= 10_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let change = 1;
    for (const step of [even, odd]) {
      d = 1 / nonZero(1 + step * d);
      c = nonZero(1 + step / c);
      change = c * d;
      fraction *= change;
    }
    if (Math.abs(change - 1) < 1e-15) break;
  }
  return front * fraction;
}

function nonZero(value: number): number {
  return Math.abs(value) < 1e-300 ? 1e-300 : value;
}

/** The 97.5% quantile of the standard normal distribution, for 95% intervals. */
export const Z_975 = 1.959963984540054;

/** The 80% quantile of the standard normal distribution, for a power of 80%. */
export const Z_80 = 0.8416212335729143;

/** Cumulative distribution function of the standard normal distribution. */
export function belowNormal(z: number): number {
  return (1 + errorFunction(z / Math.SQRT2)) / 2;
}
