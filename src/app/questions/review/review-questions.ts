import pLimit from "p-limit";
import { UserError } from "../../../domain/errors.js";
import type { Question } from "../../../domain/tasks/question.js";
import type { QuestionCheck, QuestionProvenance } from "../../../domain/tasks/question-provenance.js";
import type { QuestionReview, QuestionWording, ReviewDecision } from "../../../domain/tasks/question-review.js";
import { type CheckerAgreement, checkerAgreement } from "../../../questions/review/checker-agreement.js";
import type { Db } from "../../../store/connection/open-store.js";
import { type MailLookup, openMailLookup } from "../../../store/search/mail-lookup.js";
import { checkOutputs } from "../../output-files/check-outputs.js";
import { checkQuestion } from "../making/check-question.js";
import { type QuestionMailbox, questionMailboxes } from "../making/question-mailbox.js";
import { provenancePath } from "../making/write-questions.js";
import { isUnchanged, openDataset, type ReviewedFile } from "./open-dataset.js";
import { type EvidenceMail, evidenceOf } from "./question-evidence.js";
import { isAbout, readProvenance, readReviews, reviewedPath, reviewPath, writeReviews } from "./review-files.js";

export interface ReviewSummary {
  readonly counts: Readonly<Record<ReviewDecision | "waiting", number>>;
  readonly agreement: CheckerAgreement;
}

export interface QuestionDetails {
  readonly question: Question;
  /** Undefined: it is not known how it was made. */
  readonly provenance: QuestionProvenance | undefined;
  readonly checks: readonly QuestionCheck[];
  readonly mails: readonly EvidenceMail[];
  readonly review: QuestionReview | null;
}

export interface Decided {
  /** Null: an earlier decision is taken back. */
  readonly decision: ReviewDecision | null;
  /** With `edited` only. */
  readonly edited: QuestionWording | null;
  readonly reason: string | null;
  /** When the decision that the reviewer saw was made; null: he saw none. */
  readonly seen: string | null;
}

/** A person's review of a dataset. What is decided stands in files alone, so that several may look at it. */
export class DatasetReview {
  readonly path: string;
  readonly reviewedPath: string;
  private readonly byId: ReadonlyMap<number, Question>;
  private readonly mails: MailLookup;
  private readonly mailboxOf: (address: string) => QuestionMailbox;
  private readonly ruleChecks = new Map<number, readonly QuestionCheck[]>();
  private readonly oneAtATime = pLimit(1);

  private constructor(
    private readonly file: ReviewedFile,
    private readonly provenance: ReadonlyMap<number, QuestionProvenance>,
    db: Db,
  ) {
    this.path = file.path;
    this.reviewedPath = reviewedPath(file.path);
    this.byId = new Map(file.questions.map((question) => [question.id, question]));
    this.mails = openMailLookup(db);
    this.mailboxOf = questionMailboxes(db);
  }

  /** Throws a UserError for a file that cannot be used, and where decisions cannot be written beside it. */
  static async open(path: string, db: Db): Promise<DatasetReview> {
    const file = await openDataset(path);
    const outputs = [reviewPath(path), reviewedPath(path)].map(
      (output) => ({ flag: "FILE", path: output, kind: "questions" }) as const,
    );
    checkOutputs(outputs, [{ name: "the dataset", path }], { db: db.name, overwrite: true });
    const isFirst = readReviews(reviewPath(path)).size === 0;
    if (isFirst) checkOutputs(outputs.slice(1), [], { db: db.name, overwrite: false });
    return new DatasetReview(file, readProvenance(provenancePath(path)), db);
  }

  list(): readonly { readonly question: Question; readonly review: QuestionReview | null }[] {
    const reviews = readReviews(reviewPath(this.path));
    return this.file.questions.map((question) => ({ question, review: reviewOf(question, reviews) }));
  }

  async details(id: number): Promise<QuestionDetails> {
    const question = this.require(id);
    const provenance = this.provenance.get(id);
    return {
      question,
      provenance,
      checks: await this.checksOf(question),
      mails: evidenceOf(question, provenance, this.mails),
      review: reviewOf(question, readReviews(reviewPath(this.path))),
    };
  }

  /** Saves a decision at once. Throws where another was made since the reviewer looked. */
  decide(id: number, decided: Decided): Promise<QuestionReview | null> {
    return this.oneAtATime(async () => {
      const { question, answer } = this.require(id);
      const { decision, edited, reason, seen } = decided;
      if (!(await isUnchanged(this.file))) throw changedDataset(this.path);
      const reviews = new Map(readReviews(reviewPath(this.path)));
      const last = reviewOf({ question, answer, id }, reviews);
      if ((last?.decided_at ?? null) !== seen) throw decidedElsewhere(id, last);
      reviews.delete(id);
      const review =
        decision === null
          ? null
          : { id, decision, question, answer, edited, reason, decided_at: new Date().toISOString() };
      if (review !== null) reviews.set(id, review);
      await writeReviews(this.file, reviews);
      return review;
    });
  }

  async summary(): Promise<ReviewSummary> {
    const counts = { accepted: 0, edited: 0, rejected: 0, waiting: 0 };
    const reviewed = [];
    for (const { question, review } of this.list()) {
      counts[review?.decision ?? "waiting"]++;
      if (review !== null) reviewed.push({ decision: review.decision, checks: await this.checksOf(question) });
    }
    return { counts, agreement: checkerAgreement(reviewed) };
  }

  /** Those recorded when it was made, else what rules say. */
  private async checksOf(question: Question): Promise<readonly QuestionCheck[]> {
    const recorded = this.provenance.get(question.id)?.checks ?? this.ruleChecks.get(question.id);
    if (recorded !== undefined) return recorded;
    const { checks } = await checkQuestion(
      question,
      this.mailboxOf(question.inbox_address),
      null,
      new AbortController().signal,
    );
    this.ruleChecks.set(question.id, checks);
    return checks;
  }

  private require(id: number): Question {
    const question = this.byId.get(id);
    if (question !== undefined) return question;
    throw new UserError("question_unknown", `There is no question ${id} in ${this.path}.`, "Choose another.");
  }
}

function reviewOf(
  question: Pick<Question, "id" | "question" | "answer">,
  reviews: ReadonlyMap<number, QuestionReview>,
): QuestionReview | null {
  const review = reviews.get(question.id);
  return review !== undefined && isAbout(review, question) ? review : null;
}

function decidedElsewhere(id: number, last: QuestionReview | null): UserError {
  const now = last === null ? "taken back" : `${last.decision} at ${last.decided_at}`;
  return new UserError(
    "review_conflict",
    `Question ${id} was ${now} elsewhere since it was shown here. Nothing was saved.`,
    "Look at it again, and decide.",
  );
}

function changedDataset(path: string): UserError {
  return new UserError("review_conflict", `${path} has changed since the review was started.`, "Start it again.");
}
