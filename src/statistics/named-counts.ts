/** Counts by name, such as drafts by the reason they were refused for. */
export class NamedCounts {
  private readonly byName = new Map<string, number>();

  add(name: string, count = 1): void {
    if (count > 0) this.byName.set(name, (this.byName.get(name) ?? 0) + count);
  }

  addAll(counts: Readonly<Record<string, number>>): void {
    for (const [name, count] of Object.entries(counts)) this.add(name, count);
  }

  /** In the order in which they were first counted. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.byName);
  }

  /** Most first. */
  sorted(): Record<string, number> {
    return Object.fromEntries([...this.byName].sort(([, a], [, b]) => b - a));
  }
}
