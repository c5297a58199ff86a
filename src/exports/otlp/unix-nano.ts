const NANO_PER_MS = 1_000_000;

/** In the year 2262: backends keep these numbers with a sign. */
const LATEST = 2n ** 63n - 1n;

/** An ISO 8601 time, and milliseconds after it, as nanoseconds since 1970; 0 for a text that is no time. */
export function unixNano(iso: string, afterMs = 0): string {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return "0";
  const after = Math.min(Math.round(afterMs * NANO_PER_MS), Number.MAX_SAFE_INTEGER);
  const nano = BigInt(ms) * BigInt(NANO_PER_MS) + BigInt(after);
  if (nano < 0n) return "0";
  return String(nano > LATEST ? LATEST : nano);
}

export function laterOf(a: string, b: string): string {
  return BigInt(a) > BigInt(b) ? a : b;
}
