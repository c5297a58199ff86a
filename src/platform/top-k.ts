/** Keeps the best elements of a stream in a binary heap whose root is the worst of them. */
export class TopK<T> {
  private readonly heap: T[] = [];

  /** @param isBefore a total order: whether `a` is better than `b` */
  constructor(
    private readonly most: number,
    private readonly isBefore: (a: T, b: T) => boolean,
  ) {}

  /** The element that a better one would replace, or null if there is room for more. */
  get worst(): T | null {
    return this.heap.length < this.most ? null : (this.heap[0] ?? null);
  }

  add(one: T): void {
    if (this.heap.length < this.most) this.rise(one);
    else if (this.most > 0 && this.isBefore(one, this.heap[0] as T)) this.sink(one);
  }

  /** In any order. Valid until the next `add`. */
  get all(): readonly T[] {
    return this.heap;
  }

  /** Best first. */
  sorted(): T[] {
    return [...this.heap].sort((a, b) => (this.isBefore(a, b) ? -1 : 1));
  }

  /** Adds an element at the end and moves the better ones above it down. */
  private rise(one: T): void {
    let at = this.heap.length;
    for (; at > 0; ) {
      const parent = (at - 1) >> 1;
      const above = this.heap[parent] as T;
      if (!this.isBefore(above, one)) break;
      this.heap[at] = above;
      at = parent;
    }
    this.heap[at] = one;
  }

  /** Replaces the root and moves the worse ones below it up. */
  private sink(one: T): void {
    const { heap } = this;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.isBefore(heap[child] as T, heap[child + 1] as T)) child++;
      const below = heap[child] as T;
      if (!this.isBefore(one, below)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = one;
  }
}
