/** What imported traces lack that this program's own have, with how many lack it. */
export class LackingCounts {
  readonly counts: Record<string, number> = {};

  add(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}
