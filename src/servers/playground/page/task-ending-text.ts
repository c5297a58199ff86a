/** `out_of_turns` as `out of turns`. */
export function endingText(ending: string): string {
  return ending.replaceAll("_", " ");
}
