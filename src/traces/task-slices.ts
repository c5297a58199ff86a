// Without schemas: the pages take these names, and would take a schema with all of zod.

/** What questions can be divided by: the mailbox, how realistic they are, their number of gold mails, their year. */
export const QUESTION_SLICES = ["inbox", "realism", "sources", "year"] as const;

/** What tasks of suites can be divided by. `guidance`: abstract or verbose instructions. */
export const SUITE_SLICES = ["tool", "difficulty", "guidance", "app", "tag"] as const;

export const SLICES = [...QUESTION_SLICES, ...SUITE_SLICES] as const;

export type SliceName = (typeof SLICES)[number];
