import { setImmediate as nextTurn } from "node:timers/promises";

/** The two steps of a task. Neither may reject. */
export interface Stages<Task, Answered> {
  /** Uses a slot. */
  answer(task: Task): Promise<Answered>;
  /** Saving uses no slot, so a slow disk does not idle the model. Runs after what other tasks wait for. */
  save(answered: Answered): Promise<void>;
}

/**
 * Works through tasks in their order: answers as many at once as there are places, and saves at most as many again. A
 * task is taken when a place is free, and nothing is kept of one that is saved: a long run has as many tasks in
 * memory as are under way. Many free places are filled one a turn of the loop, so that the first task is under way
 * before the last is begun.
 * @param onPlaces calls back at once, and whenever the number of places changes
 */
export function runConcurrently<Task, Answered>(
  tasks: Iterable<Task>,
  onPlaces: (listener: (places: number) => void) => void,
  { answer, save }: Stages<Task, Answered>,
): Promise<void> {
  const waiting = tasks[Symbol.iterator]();
  let places = 0;
  let answering = 0;
  let saving = 0;
  let isEmpty = false;
  let isFilling = false;
  return new Promise((resolve, reject) => {
    const hasRoom = () => answering < places && answering + saving < 2 * places && !isEmpty;
    const carryOut = async (task: Task) => {
      answering++;
      const answered = await answer(task);
      answering--;
      saving++;
      fill();
      await nextTurn();
      await save(answered);
      saving--;
      fill();
    };
    const fill = () => {
      if (hasRoom()) {
        const { done, value } = waiting.next();
        isEmpty = done === true;
        if (!done) carryOut(value).catch(reject);
      }
      if (hasRoom() && !isFilling) {
        isFilling = true;
        setImmediate(fillMore);
      }
      if (isEmpty && answering + saving === 0) resolve();
    };
    const fillMore = () => {
      isFilling = false;
      fill();
    };
    onPlaces((now) => {
      places = Math.max(1, now);
      fill();
    });
  });
}
