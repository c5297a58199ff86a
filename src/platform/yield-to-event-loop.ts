import { setImmediate } from "node:timers/promises";

/** Gives the loop back after each piece: what they take together would keep everybody else from it. */
export async function* yieldBetween<T>(pieces: Iterable<T>): AsyncGenerator<T, void, undefined> {
  for (const piece of pieces) {
    yield piece;
    await setImmediate();
  }
}
