/** The sum; null where a part is not known. */
export function sumOrNull(numbers: readonly (number | null)[]): number | null {
  return numbers.reduce((sum, number) => (sum === null || number === null ? null : sum + number), 0);
}
