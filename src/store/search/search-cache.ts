import { LRUCache } from "lru-cache";

/** Positions cached in all, 8 bytes each: those of some 5,000 words in mailboxes of hundreds of mails. */
const CACHED_POSITIONS = 500_000;

/** What searches read and no search changes: valid until the next import. */
export class SearchCache {
  /** By FTS5 expression. An empty list has a cost too. */
  readonly lists = new LRUCache<string, readonly number[]>({
    maxSize: CACHED_POSITIONS,
    sizeCalculation: (list) => list.length + 10,
  });
  /** Mails by inbox id. */
  readonly mailboxSizes = new Map<number, number>();
  /**
   * By position; 0: not read yet. At four bytes a mail it halves the pages a search reads: each mail is on another.
   */
  readonly mailIds: Uint32Array;

  constructor(
    /** Of the imported mail. */
    readonly fingerprint: unknown,
    /** In the whole file. */
    readonly mails: number,
  ) {
    this.mailIds = new Uint32Array(mails + 1);
  }
}
