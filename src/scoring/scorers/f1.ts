/** Returns the F1 of `found` things against `wanted` ones, of which `shared` are the same. 1 if both are none. */
export function f1(shared: number, found: number, wanted: number): number {
  return found + wanted === 0 ? 1 : (2 * shared) / (found + wanted);
}
