// A limit on the bytes that all requests of a server hold in memory at the same time.
interface HeldBytes {
  /** Returns false if the bytes would exceed the budget. */
  add(bytes: number): boolean;
  release(): void;
}

/**
 * A limit on the bytes that all holders have at the same time. The first `free` bytes of each holder are not counted,
 * so that small requests pass while large ones are refused.
 */
export class ByteBudget {
  private held = 0;

  constructor(
    private readonly most: number,
    private readonly free: number,
  ) {}

  hold(): HeldBytes {
    let bytes = 0;
    let counted = 0;
    return {
      add: (more) => {
        const beyond = Math.max(0, bytes + more - this.free) - counted;
        if (this.held + beyond > this.most) return false;
        bytes += more;
        counted += beyond;
        this.held += beyond;
        return true;
      },
      release: () => {
        this.held -= counted;
        counted = 0;
      },
    };
  }
}
