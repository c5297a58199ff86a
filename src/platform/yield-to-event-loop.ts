import { setImmediate } from "node:timers/promises";

/** Lets the event loop run after each piece, so that a long sequence does not block it. */
export async function* yieldBetween<T>(pieces: Iterable<T>): AsyncGenerator<T, void, undefined> {
  for (const piece of pieces) {
    yield piece;
    await setImmediate();
  }
}
