import { seededRandom } from "../seeded-random.js";

/** Random variates of a seed, the same on every machine. */
export class RandomVariates {
  private readonly random: (limit: number) => number;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** Returns a number in (0, 1). */
  uniform(): number {
    return (this.random(2 ** 32) + 0.5) / 2 ** 32;
  }

  /** Standard normal (Box and Muller 1958). */
  private normal(): number {
    return Math.sqrt(-2 * Math.log(this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  /** Marsaglia and Tsang (2000), "A simple method for generating gamma variables", ACM TOMS 26(3). Scale 1. */
  gamma(shape: number): number {
    if (shape < 1) return this.gamma(shape + 1) * this.uniform() ** (1 / shape);
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      const x = this.normal();
      const v = (1 + c * x) ** 3;
      if (v > 0 && Math.log(this.uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
    }
  }

  beta(a: number, b: number): number {
    const x = this.gamma(a);
    return x / (x + this.gamma(b));
  }
}
