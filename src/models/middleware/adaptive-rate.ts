/** Successes are remembered so long: servers count requests by the minute. */
const WINDOW_MS = 60_000;

/** Fewer successes say nothing about a rate: then a refusal is waited out and no more. */
const EVIDENCE = 20;

/**
 * A learned rate grows by this share after every so many ms without a refusal, to find out whether more is allowed by
 * now, and by twice as much each further time.
 */
const PROBE = 0.02;
const LARGEST_PROBE = 0.16;
const PROBE_EVERY_MS = 10_000;

/** What is begun at once after a pause, in ms of the rate. */
const BURST_MS = 500;

/** How many requests a server takes in a time: as told, or as learned from its refusals. Requests a ms; times in ms. */
export class AdaptiveRate {
  private perMs: number | null;
  private credit = 1;
  private at = Number.NEGATIVE_INFINITY;
  private changedAt = Number.NEGATIVE_INFINITY;
  private readonly successes: number[] = [];
  private firstAt: number | null = null;
  private step = PROBE;

  /** `cap` null: none is known. */
  constructor(private readonly cap: number | null) {
    this.perMs = cap;
  }

  waitMs(now: number): number {
    if (this.perMs === null) return 0;
    this.probe(now);
    const burst = Math.max(1, this.perMs * BURST_MS);
    this.credit =
      this.at === Number.NEGATIVE_INFINITY ? 1 : Math.min(burst, this.credit + (now - this.at) * this.perMs);
    this.at = now;
    return this.credit >= 1 ? 0 : (1 - this.credit) / this.perMs;
  }

  /** A request begins. */
  take(now: number): void {
    this.firstAt ??= now;
    if (this.perMs !== null) this.credit -= 1;
  }

  succeeded(now: number): void {
    this.successes.push(now);
    this.forget(now);
  }

  /**
   * Refused, and asked to wait: what passed since the window began must last until the wait is over. Where that
   * says more than the rate already in force, the rate was a little too high. Requests that began before the last
   * change say nothing new.
   */
  refused(now: number, startedAt: number, retryAfterMs: number): void {
    if (startedAt < this.changedAt) return;
    this.forget(now);
    if (this.successes.length < EVIDENCE) return;
    const since = Math.max(now - WINDOW_MS, this.firstAt ?? now);
    const seen = this.successes.length / Math.max(now - since + retryAfterMs, 1_000);
    const learned = this.perMs === null ? seen : Math.min(this.perMs * 0.98, Math.max(seen, this.perMs * 0.7));
    this.perMs = Math.max(Math.min(learned, this.cap ?? Number.POSITIVE_INFINITY), 1 / WINDOW_MS);
    this.credit = Math.min(this.credit, 0);
    this.step = PROBE;
    this.changedAt = now;
  }

  private probe(now: number): void {
    if (this.perMs === null || now - this.changedAt < PROBE_EVERY_MS) return;
    this.perMs = Math.min(this.perMs * (1 + this.step), this.cap ?? Number.POSITIVE_INFINITY);
    this.step = Math.min(this.step * 2, LARGEST_PROBE);
    this.changedAt = now;
  }

  private forget(now: number): void {
    let old = 0;
    while (old < this.successes.length && (this.successes[old] ?? now) < now - WINDOW_MS) old++;
    if (old > 0) this.successes.splice(0, old);
  }
}
