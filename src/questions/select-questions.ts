import { UserError } from "../domain/errors.js";
import type { Question } from "../domain/tasks/question.js";
import { shuffled } from "./shuffle.js";

/** Questions that ART excludes for a wrong gold answer; ids of `corbt/enron_emails_sample_questions` only. */
export const KNOWN_BAD_IDS: ReadonlySet<number> = new Set([49, 101, 129, 171, 208, 266, 327]);

export interface Selection {
  /** Minimum of `how_realistic`, 0 to 1. */
  readonly minRealism?: number | undefined;
  /** Maximum number of gold messages; ART uses 1. */
  readonly maxSources?: number | undefined;
  /** Only these, in the order of the dataset. */
  readonly ids?: readonly number[] | undefined;
  /** Only of this mailbox. */
  readonly inbox?: string | undefined;
  /** Excludes `KNOWN_BAD_IDS`; for the hub's dataset or a copy of it. */
  readonly excludeKnownBad?: boolean | undefined;
  /** Null or undefined: the order of the dataset. */
  readonly shuffleSeed?: number | null | undefined;
  /** 0 means all. */
  readonly limit: number;
}

/**
 * Filters, shuffles, then takes the first `limit`, so that with one seed a smaller limit gives a prefix of a larger
 * one.
 * @throws UserError where `ids` are not in the dataset
 */
export function selectQuestions(questions: readonly Question[], selection: Selection): Question[] {
  const { minRealism = 0, maxSources = Number.POSITIVE_INFINITY, excludeKnownBad = false, limit } = selection;
  const ids = selection.ids === undefined ? null : knownIds(questions, selection.ids);
  const inbox = selection.inbox?.trim().toLowerCase();
  const kept = questions.filter(
    (question) =>
      question.how_realistic >= minRealism &&
      question.message_ids.length <= maxSources &&
      (ids === null || ids.has(question.id)) &&
      (inbox === undefined || question.inbox_address === inbox) &&
      !(excludeKnownBad && KNOWN_BAD_IDS.has(question.id)),
  );
  const ordered = selection.shuffleSeed == null ? kept : shuffled(kept, selection.shuffleSeed);
  return limit === 0 ? ordered : ordered.slice(0, limit);
}

function knownIds(questions: readonly Question[], ids: readonly number[]): ReadonlySet<number> {
  const present = new Set(questions.map((question) => question.id));
  const unknown = [...new Set(ids)].filter((id) => !present.has(id));
  if (unknown.length === 0) return new Set(ids);
  throw new UserError(
    "question_ids_unknown",
    `the dataset has no question with id ${unknown.join(", ")}`,
    "Check the ids, and whether they are of the other split (--split).",
  );
}
