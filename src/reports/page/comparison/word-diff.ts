import type * as DiffLibrary from "diff";
import { h, untrustedText } from "../shared/dom.js";

declare global {
  /** Loaded by the page before this script. */
  const Diff: Pick<typeof DiffLibrary, "diffWords">;
}

/** Words that may differ; texts that differ in more have little in common, and nothing is marked in them. */
const MAX_DIFFERENT_WORDS = 300;

/** A text with the words marked that the other text does not have. */
export function markDifferences(text: string, other: string): HTMLElement {
  const parts = Diff.diffWords(other, text, { maxEditLength: MAX_DIFFERENT_WORDS });
  const isAlike = parts?.some(({ added, removed, value }) => !added && !removed && value.trim() !== "") ?? false;
  if (parts === undefined || !isAlike) return untrustedText(text);
  const marked = untrustedText("");
  for (const { value, added, removed } of parts) {
    if (!removed) marked.append(added && value.trim() !== "" ? h("mark", {}, value) : h("span", {}, value));
  }
  return marked;
}
