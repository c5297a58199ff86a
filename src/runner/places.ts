/** What is done with a task. Neither may reject. */
export interface Stages<Task, Done> {
  /** Takes one of the places. */
  work(task: Task): Promise<Done>;
  /** Takes none: where it is slow, the places are not kept empty by it. */
  putAway(done: Done): Promise<void>;
}

/**
 * Works through tasks in their order, as many at once as there are places, and as many again that are put away. A task is
 * taken when a place is free, and nothing is kept of one that is finished: a long run has as many tasks in memory as are
 * under way. Many free places are filled one a turn of the loop, so that the first task is under way before the last is begun.
 * @param onPlaces calls back at once, and whenever the number of places changes
 */
export function inPlaces<Task, Done>(
  tasks: Iterable<Task>,
  onPlaces: (listener: (places: number) => void) => void,
  { work, putAway }: Stages<Task, Done>,
): Promise<void> {
  const waiting = tasks[Symbol.iterator]();
  let places = 0;
  let worked = 0;
  let putAways = 0;
  let isEmpty = false;
  let isFilling = false;
  return new Promise((resolve, reject) => {
    const hasRoom = () => worked < places && worked + putAways < 2 * places && !isEmpty;
    const carryOut = async (task: Task) => {
      worked++;
      const done = await work(task);
      worked--;
      putAways++;
      fill();
      await putAway(done);
      putAways--;
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
      if (isEmpty && worked + putAways === 0) resolve();
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
