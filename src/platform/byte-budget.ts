// A limit on the bytes that all requests of a server hold in memory at the same time.
import type { IncomingMessage } from "node:http";

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

/**
 * Reads the body of a request as text. Returns why not if it has more than `maxBytes`, or if the budget is used up.
 * Throws if the client disconnects before the end.
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  budget: ByteBudget,
): Promise<{ readonly text: string } | "too_large" | "no_room"> {
  const chunks: Buffer[] = [];
  const reservation = budget.hold();
  let bytes = 0;
  try {
    // Otherwise, leaving the loop early would destroy the connection before the error is sent.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return "too_large";
      if (!reservation.add(chunk.length)) return "no_room";
      chunks.push(chunk);
    }
    return { text: Buffer.concat(chunks).toString("utf8") };
  } finally {
    reservation.release();
  }
}
