/** Counts by name, such as drafts by the reason they were refused for. */
export class NamedCounts {
  private readonly counts = new Map<string, number>();

  add(name: string, count = 1): void {
    if (count > 0) this.counts.set(name, (this.counts.get(name) ?? 0) + count);
  }

  /** Most first. */
  sorted(): Record<string, number> {
    return Object.fromEntries([...this.counts].sort(([, a], [, b]) => b - a));
  }
}
