// This file contains no schemas, because the pages import these names and would otherwise include all of zod.

/** Properties by which questions are grouped: the mailbox, the realism, the number of gold emails and the year. */
export const QUESTION_SLICES = ["inbox", "realism", "sources", "year"] as const;

/** Properties by which suite tasks are grouped. `guidance` is the instruction style, abstract or verbose. */
export const SUITE_SLICES = ["tool", "difficulty", "guidance", "app", "tag"] as const;

export const SLICES = [...QUESTION_SLICES, ...SUITE_SLICES] as const;

export type SliceName = (typeof SLICES)[number];
