import type { WordingJson } from "./review-types.js";

/** What is written about a question and not saved yet. */
export interface UnsavedEdits {
  readonly reason: string;
  /** Null: it is not being edited. */
  readonly edited: WordingJson | null;
}

const keyOf = (dataset: string, id: number) => `art-e-review ${dataset} ${id}`;

/** Kept until this tab is closed, so that a reload loses nothing. */
export function keepUnsaved(dataset: string, id: number, words: UnsavedEdits): void {
  const isEmpty = words.reason === "" && words.edited === null;
  if (isEmpty) forgetUnsaved(dataset, id);
  else sessionStorage.setItem(keyOf(dataset, id), JSON.stringify(words));
}

export function readUnsaved(dataset: string, id: number): UnsavedEdits | null {
  const written = sessionStorage.getItem(keyOf(dataset, id));
  return written === null ? null : (JSON.parse(written) as UnsavedEdits);
}

export function forgetUnsaved(dataset: string, id: number): void {
  sessionStorage.removeItem(keyOf(dataset, id));
}
