// Processes tasks in order with a number of slots that can change.
import { setImmediate as nextTurn } from "node:timers/promises";

/** The steps of a task. Neither promise may reject. */
interface Stages<Task, Answered> {
  /** Returns the next task, or null if there is none. Called again after a change. */
  next(): Task | null;
  /** Whether one more task can start in addition to the running ones. Called again whenever one of them is answered. */
  hasRoom(): boolean;
  /** While true, no task starts, and the tasks do not end. */
  isPaused(): boolean;
  /** Calls the listener when `isPaused` changes or when there are more tasks. */
  onChange(listener: () => void): void;
  answer(task: Task): Promise<Answered>;
  /**
   * Saving does not occupy a slot, so a slow disk does not idle the model. Runs after the work that other tasks wait
   * for.
   */
  save(answer: Answered): Promise<void>;
}

/**
 * Processes tasks in order. Answers as many tasks concurrently as there are slots, and saves at most as many at the
 * same time. A task is taken when a slot is free, and nothing of it is kept after saving, so a long run has only its
 * running tasks in memory. Free slots are filled one per turn of the event loop, so the first task is running before
 * the last one starts.
 * @param onPlaces calls back immediately, and again whenever the number of slots changes
 */
export function runConcurrently<Task, Answered>(
  onPlaces: (listener: (places: number) => void) => void,
  { next, answer, save, hasRoom: hasBudget, isPaused, onChange }: Stages<Task, Answered>,
): Promise<void> {
  let places = 0;
  let answering = 0;
  let saving = 0;
  let isEmpty = false;
  let isFilling = false;
  let isOver = false;
  return new Promise((resolve, reject) => {
    const hasRoom = () =>
      answering < places &&
      answering + saving < 2 * places &&
      !isEmpty &&
      !isPaused() &&
      (answering === 0 || hasBudget());
    const carryOut = async (task: Task) => {
      answering++;
      const result = await answer(task);
      answering--;
      saving++;
      fill();
      await nextTurn();
      await save(result);
      saving--;
      fill();
    };
    const fill = () => {
      if (hasRoom()) {
        const task = next();
        isEmpty = task === null;
        if (task !== null) carryOut(task).catch(reject);
      }
      if (hasRoom() && !isFilling) {
        isFilling = true;
        setImmediate(fillMore);
      }
      if (isEmpty && answering + saving === 0) {
        isOver = true;
        resolve();
      }
    };
    const fillMore = () => {
      isFilling = false;
      fill();
    };
    onPlaces((now) => {
      places = Math.max(1, now);
      fill();
    });
    onChange(() => {
      if (isOver) return;
      isEmpty = false;
      fill();
    });
  });
}
