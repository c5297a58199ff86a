import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";

/** Yields the pieces and lets the event loop run after each, so that a long sequence does not block it. */
export async function* yieldBetween<T>(pieces: Iterable<T>): AsyncGenerator<T, void, undefined> {
  for (const piece of pieces) {
    yield piece;
    await setImmediate();
  }
}

/** Inserts into a sorted list, after equal elements, and drops the last element beyond `most`. */
export function insertTopK<T>(list: T[], one: T, most: number, isBefore: (a: T, b: T) => boolean): void {
  let at = list.length;
  while (at > 0 && isBefore(one, list[at - 1] as T)) at--;
  list.splice(at, 0, one);
  if (list.length > most) list.pop();
}

export function* chunk<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** Returns whether a process exists on this machine, for any user. A zombie still counts. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that it runs as another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Percentage by which V8 lets a heap grow over its live size before it collects garbage. The default grows it up to
 * fourfold: a run with 60 MB live then uses 370 to 650 MB. With 100 it uses 280 MB for 1% more CPU time, with 50 it
 * uses 270 MB for 4% more.
 */
const GROWTH_PERCENT = 100;

/**
 * Limits heap growth in commands that run for hours. V8 reads this flag at each collection, so it takes effect
 * immediately, in all threads. Initial heap sizes can no longer be set afterwards.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

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
 * Combines calls that arrive while another is running into one call of `run`, for work that costs about the same for
 * many items as for one. `run` returns a result for each item, in order.
 */
export function batchCalls<T, R>(run: (items: readonly T[]) => Promise<readonly R[]>): (item: T) => Promise<R> {
  let waiting: { readonly items: T[]; readonly results: Promise<readonly R[]> } | null = null;
  let underWay: Promise<unknown> = Promise.resolve();
  return async (item) => {
    if (waiting === null) {
      const items: T[] = [];
      const results = underWay.then(() => {
        waiting = null;
        return run(items);
      });
      underWay = results.catch(() => undefined);
      waiting = { items, results };
    }
    const { items, results } = waiting;
    const index = items.push(item) - 1;
    return (await results)[index] as R;
  };
}
