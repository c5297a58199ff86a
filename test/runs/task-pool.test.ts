import { expect, it } from "vitest";
import { runConcurrently } from "../../src/runs/run-tasks.js";

/** Work that ends when it is told to. */
function workshop(count: number) {
  const taken: number[] = [];
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const saves = new Map<number, () => void>();
  let isSlow = false;
  let setPlaces: (places: number) => void = () => {};
  function* tasks() {
    for (let task = 1; task <= count; task++) {
      taken.push(task);
      yield task;
    }
  }
  const answer = (task: number) => {
    begun.push(task);
    return new Promise<number>((resolve) => ends.set(task, () => resolve(task)));
  };
  const save = (task: number) =>
    isSlow ? new Promise<void>((resolve) => saves.set(task, resolve)) : Promise.resolve();
  const run = (places: number) =>
    runConcurrently(
      tasks(),
      (listener) => {
        setPlaces = listener;
        listener(places);
      },
      { answer, save },
    );
  const end = async (...finished: number[]) => {
    for (const task of finished) {
      ends.get(task)?.();
      ends.delete(task);
    }
    await filled();
  };
  const underWay = () => [...ends.keys()];
  const saveSlowly = () => {
    isSlow = true;
  };
  const finishSaving = async (task: number) => {
    saves.get(task)?.();
    saves.delete(task);
    await filled();
  };
  return {
    taken,
    begun,
    run,
    end,
    underWay,
    setPlaces: (places: number) => setPlaces(places),
    saveSlowly,
    finishSaving,
  };
}

/** As many turns of the loop as there are tasks in a test, and more. */
async function filled(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
}

it("a task is taken when a place is free, and not before", async () => {
  const { taken, run, end, underWay } = workshop(5);
  const running = run(2);
  await filled();
  expect([taken, underWay()]).toEqual([
    [1, 2],
    [1, 2],
  ]);
  await end(2);
  expect([taken, underWay()]).toEqual([
    [1, 2, 3],
    [1, 3],
  ]);
  await end(1, 3);
  await end(4, 5);
  await running;
  expect(taken).toEqual([1, 2, 3, 4, 5]);
});

it("new places are filled one a turn of the loop; where there are fewer, those under way are finished first", async () => {
  const { begun, run, end, underWay, setPlaces } = workshop(10);
  const running = run(1);
  setPlaces(4);
  expect(underWay()).toEqual([1, 2]);
  await new Promise(setImmediate);
  expect(underWay()).toEqual([1, 2, 3]);
  await filled();
  expect(underWay()).toEqual([1, 2, 3, 4]);
  setPlaces(2);
  await end(1, 2);
  expect(underWay()).toEqual([3, 4]);
  await end(3);
  expect(underWay()).toEqual([4, 5]);
  setPlaces(0);
  await end(4, 5);
  expect(underWay()).toEqual([6]);
  setPlaces(100);
  await filled();
  await end(6, 7, 8, 9, 10);
  await running;
  expect(begun).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

it("of no tasks it is over at once, and a limit that changes later changes nothing", async () => {
  const { begun, run, setPlaces } = workshop(0);
  await run(3);
  setPlaces(9);
  expect(begun).toEqual([]);
});

it("what is saved keeps no place, until there is as much of it as there are places; and it is waited for", async () => {
  const { run, end, underWay, saveSlowly, finishSaving } = workshop(7);
  saveSlowly();
  let isOver = false;
  const running = run(2).then(() => {
    isOver = true;
  });
  await filled();
  await end(1);
  expect(underWay()).toEqual([2, 3]);
  await end(2);
  expect(underWay()).toEqual([3, 4]);
  await end(3);
  expect(underWay()).toEqual([4]);
  await finishSaving(2);
  expect(underWay()).toEqual([4, 5]);
  for (const task of [1, 3]) await finishSaving(task);
  await end(4, 5);
  for (const task of [4, 5]) await finishSaving(task);
  await end(6, 7);
  expect(underWay()).toEqual([]);
  await finishSaving(6);
  expect(isOver).toBe(false);
  await finishSaving(7);
  await running;
});

it("the next task is begun before the last is saved, and what comes in at that moment is dealt with before it", async () => {
  const happened: string[] = [];
  await runConcurrently([1, 2], (listener) => listener(1), {
    async answer(task) {
      happened.push(`begun ${task}`);
      await new Promise(setImmediate);
      setImmediate(() => happened.push(`reply after ${task}`));
      return task;
    },
    async save(task) {
      happened.push(`saved ${task}`);
    },
  });
  expect(happened).toEqual(["begun 1", "begun 2", "reply after 1", "saved 1", "reply after 2", "saved 2"]);
});
