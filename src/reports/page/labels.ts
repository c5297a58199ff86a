import type { Outcome, Slicing, Stage } from "./data.js";

/** The page's words for what the data names. */
export const STAGE_WORDS: Readonly<Record<Stage, string>> = {
  read: "Read a gold mail",
  found: "Found one, did not read it",
  missed: "Never found one",
  none: "No gold mail to find",
  failed: "Failed",
};

/** As a cell of the table has room for. */
export const STAGE_SHORT: Readonly<Record<Stage, string>> = {
  read: "read",
  found: "found",
  missed: "missed",
  none: "none",
  failed: "–",
};

export const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  high: "High, above 0.8",
  medium: "Medium, 0.5 to 0.8",
  low: "Low, below 0.5",
  unscored: "Not scored",
  failed: "Failed",
};

export const SLICING_WORDS: Readonly<Record<Slicing, string>> = {
  inbox: "Mailbox",
  realism: "Realism of the question",
  sources: "Gold mails",
  year: "Year of the question",
};

/** `out_of_turns` as people write it. */
export function spaced(name: string): string {
  return name === "dont_know" ? "don't know" : name.replaceAll("_", " ");
}
