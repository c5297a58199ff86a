/**
 * What a run's tasks can be divided by: the mailbox, how realistic the question is, its number of gold mails, its
 * year.
 */
export const SLICES = ["inbox", "realism", "sources", "year"] as const;

export type SliceName = (typeof SLICES)[number];
