const WINDOW_MS = 30_000;

/** How many were added in the last half minute, and in all. */
export class RecentRate {
  total = 0;
  private readonly startedAt = performance.now();
  /** Counts by second, the oldest first. */
  private readonly seconds: { readonly at: number; count: number }[] = [];

  add(): void {
    this.total++;
    const at = Math.floor(performance.now() / 1_000);
    const last = this.seconds.at(-1);
    if (last?.at === at) last.count++;
    else this.seconds.push({ at, count: 1 });
    this.forget();
  }

  perSecond(): number {
    this.forget();
    const count = this.seconds.reduce((sum, second) => sum + second.count, 0);
    const ms = Math.max(1_000, Math.min(WINDOW_MS, performance.now() - this.startedAt));
    return (count * 1_000) / ms;
  }

  private forget(): void {
    const oldest = (performance.now() - WINDOW_MS) / 1_000;
    while (this.seconds[0] !== undefined && this.seconds[0].at < oldest) this.seconds.shift();
  }
}
