/** Inserts into a sorted list, after equal elements, and drops the last element beyond `most`. */
export function insertTopK<T>(list: T[], one: T, most: number, isBefore: (a: T, b: T) => boolean): void {
  let at = list.length;
  while (at > 0 && isBefore(one, list[at - 1] as T)) at--;
  list.splice(at, 0, one);
  if (list.length > most) list.pop();
}
