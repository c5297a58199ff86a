/** Tags of a task's style of instruction: its goal only, or step by step. */
export const GUIDANCE_TAGS = ["abstract", "verbose"] as const;

export type Guidance = (typeof GUIDANCE_TAGS)[number];

/** Null where the tags name none, or both. */
export function guidanceOf(tags: readonly string[]): Guidance | null {
  const [first, second] = GUIDANCE_TAGS.filter((tag) => tags.includes(tag));
  return second === undefined ? (first ?? null) : null;
}
