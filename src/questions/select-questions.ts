import { UserError } from "../domain/errors.js";
import type { Question } from "../domain/tasks/question.js";
import { shuffled } from "./shuffle.js";

/**
 * Questions ART leaves out because their gold answer is wrong. The ids are those of
 * `corbt/enron_emails_sample_questions`; in any other file they mean other questions.
 */
export const KNOWN_BAD_IDS: ReadonlySet<number> = new Set([49, 101, 129, 171, 208, 266, 327]);

export interface Selection {
  /** At least so realistic, 0 to 1. */
  readonly minRealism?: number | undefined;
  /** At most so many gold messages; ART takes 1. */
  readonly maxSources?: number | undefined;
  /** Only these; the order is the dataset's. */
  readonly ids?: readonly number[] | undefined;
  /** Only of this mailbox address. */
  readonly inbox?: string | undefined;
  /** Leaves out `KNOWN_BAD_IDS`; for the hub's dataset, or a copy of it. */
  readonly excludeKnownBad?: boolean | undefined;
  /** Null or undefined keeps the order of the dataset. */
  readonly shuffleSeed?: number | null | undefined;
  /** 0 means all. */
  readonly limit: number;
}

/**
 * Filters, then shuffles, then takes the first `limit`: with one seed, a smaller limit gives the
 * beginning of what a larger one gives.
 * @throws UserError where `ids` names questions the dataset does not have
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
