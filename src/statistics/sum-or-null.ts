/** Returns the sum, or null if a number is null. */
export function sumOrNull(numbers: readonly (number | null)[]): number | null {
  return numbers.reduce((sum, number) => (sum === null || number === null ? null : sum + number), 0);
}
