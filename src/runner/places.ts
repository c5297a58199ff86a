/**
 * Works through tasks in their order, as many at once as there are places. A task is taken when a place is free, and
 * nothing is kept of one that is finished: a long run has as many tasks in memory as are under way. Many free places are
 * filled one a turn of the loop, so that the first task is under way before the last is begun.
 * @param onPlaces calls back at once, and whenever the number of places changes
 * @param work must not reject
 */
export function inPlaces<T>(
  tasks: Iterable<T>,
  onPlaces: (listener: (places: number) => void) => void,
  work: (task: T) => Promise<void>,
): Promise<void> {
  const waiting = tasks[Symbol.iterator]();
  let places = 0;
  let taken = 0;
  let isEmpty = false;
  let isFilling = false;
  return new Promise((resolve, reject) => {
    const hasRoom = () => taken < places && !isEmpty;
    const fill = () => {
      if (hasRoom()) {
        const { done, value } = waiting.next();
        isEmpty = done === true;
        if (!done) {
          taken++;
          work(value).then(free).catch(reject);
        }
      }
      if (hasRoom() && !isFilling) {
        isFilling = true;
        setImmediate(fillMore);
      }
      if (isEmpty && taken === 0) resolve();
    };
    const fillMore = () => {
      isFilling = false;
      fill();
    };
    const free = () => {
      taken--;
      fill();
    };
    onPlaces((now) => {
      places = Math.max(1, now);
      fill();
    });
  });
}
