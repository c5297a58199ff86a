/** Positions that are kept in all, 8 bytes each: those of some 5,000 words in mailboxes of hundreds of mails. */
const MOST_KEPT = 500_000;

/** Lists of positions by name; when they become too many, those that were asked for longest ago are dropped. */
export class PostingListCache {
  private readonly lists = new Map<string, readonly number[]>();
  private kept = 0;

  get(name: string): readonly number[] | undefined {
    const list = this.lists.get(name);
    if (list === undefined) return undefined;
    // A map keeps the order in which its keys came.
    this.lists.delete(name);
    this.lists.set(name, list);
    return list;
  }

  /** @param name must be new */
  add(name: string, list: readonly number[]): void {
    this.lists.set(name, list);
    this.kept += costOf(list);
    for (const [oldest, dropped] of this.lists) {
      if (this.kept <= MOST_KEPT) return;
      this.lists.delete(oldest);
      this.kept -= costOf(dropped);
    }
  }
}

/** An empty list takes room too. */
function costOf(list: readonly number[]): number {
  return list.length + 10;
}
