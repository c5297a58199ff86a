/** A subject without its Re:, Fw: and Fwd:. */
export function plainSubject(subject: string): string {
  return subject.replace(/^(\s*(re|fwd?)\s*:)+/i, "").trim();
}
