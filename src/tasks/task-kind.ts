// Apart from the schemas in question.ts, because the pages in a browser also use it.

/** The split of suite tasks, which do not have dataset splits. */
export const SUITE_SPLIT = "suite";

/** Returns the kind of all tasks in a set, or of a run over it. */
export function taskKindOf({ split }: { readonly split: string }): "question" | "suite" {
  return split === SUITE_SPLIT ? "suite" : "question";
}
