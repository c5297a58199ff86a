import { expect, test } from "vitest";
import { timeSliced } from "../../src/platform/time-slice.js";

/** Longer than replies may hold a turn. */
function busy(): void {
  const until = performance.now() + 6;
  while (performance.now() < until);
}

test("the first of a turn is done at once", async () => {
  let done = false;
  timeSliced(() => {
    done = true;
  });
  expect(done).toBe(true);
  await new Promise(setImmediate);
});

test("where a turn grows long the rest waits for later ones, in order, and what was to follow the turn is done before", async () => {
  const happened: string[] = [];
  const finished = new Promise<void>((resolve) => {
    for (const name of ["a", "b", "c"]) {
      timeSliced(() => {
        happened.push(name);
        busy();
        setImmediate(() => {
          happened.push(`after ${name}`);
          if (name === "c") resolve();
        });
      });
    }
  });
  expect(happened).toEqual(["a"]);
  await finished;
  expect(happened).toEqual(["a", "after a", "b", "after b", "c", "after c"]);
});
