import { quantile } from "../src/statistics/quantile.js";

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export function quantiles(values: readonly number[]): Quantiles {
  const at = (share: number) => quantile(values, share) ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

export function median(values: readonly number[]): number {
  return quantiles(values).p50;
}
