import type { SliceName } from "../../domain/runs/slice.js";
import type { Outcome, Stage } from "./report-data.js";

/** Display texts for values of the data. */
export const STAGE_WORDS: Readonly<Record<Stage, string>> = {
  read: "Read a gold mail",
  found: "Found one, did not read it",
  missed: "Never found one",
  none: "No gold mail to find",
  failed: "Failed",
};

/** Short forms for table cells. */
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

export const SLICE_WORDS: Readonly<Record<SliceName, string>> = {
  inbox: "Mailbox",
  realism: "Realism of the question",
  sources: "Gold mails",
  year: "Year of the question",
  tool: "Tool",
  difficulty: "Actions that a person takes",
  guidance: "Instruction",
  app: "Application",
  tag: "Tag",
};

/** `out_of_turns` as "out of turns". */
export function spaceWords(name: string): string {
  return name === "dont_know" ? "don't know" : name.replaceAll("_", " ");
}
