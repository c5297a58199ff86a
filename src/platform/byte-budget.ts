/** What one holder has of a budget. */
export interface HeldBytes {
  /** False: there is no room for so many more. */
  add(bytes: number): boolean;
  release(): void;
}

/**
 * Bytes that all holders together may have at once. The first `free` of each are not counted, so that small ones get through
 * where large ones do not.
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
