// A person's review of a dataset. The decisions are stored in a file next to it.
import { existsSync } from "node:fs";
import pLimit from "p-limit";
import type { z } from "zod";
import { type MailLookup, openMailLookup } from "../mail/mail-lookup.js";
import { NEVER } from "../platform/deadline.js";
import { reasonOf, UserError } from "../platform/errors.js";
import { readNamedText, writeFileAtomically } from "../platform/files.js";
import { firstIssue } from "../platform/json.js";
import { sha256Of } from "../platform/sha256.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import type { Db } from "../store/open-store.js";
import type { Question } from "../tasks/question.js";
import { checkOutputs } from "../trace-formats/output-files.js";
import { encodeTable, questionsTable } from "../trace-formats/tables.js";
import { checkQuestion } from "./check-questions.js";
import { checkRows, checkUniqueIds, jsonLinesRows, readQuestionFile, readRows } from "./dataset/dataset-files.js";
import { requireAnswers } from "./dataset.js";
import {
  type CheckerAgreement,
  checkerAgreement,
  type EvidenceMail,
  evidenceOf,
  replaceJsonTexts,
} from "./make-questions/evidence.js";
import { type QuestionMailbox, questionMailboxes } from "./make-questions/usable-mail.js";
import { provenancePath, sidecarPath } from "./make-questions.js";
import {
  type QuestionCheck,
  type QuestionProvenance,
  type QuestionReview,
  type QuestionWording,
  questionProvenanceSchema,
  questionReviewSchema,
  type ReviewDecision,
} from "./provenance.js";

export interface ReviewSummary {
  readonly counts: Readonly<Record<ReviewDecision | "waiting", number>>;
  readonly agreement: CheckerAgreement;
}

export interface QuestionDetails {
  readonly question: Question;
  /** Undefined if the question's origin is unknown. */
  readonly provenance: QuestionProvenance | undefined;
  readonly checks: readonly QuestionCheck[];
  readonly mails: readonly EvidenceMail[];
  readonly review: QuestionReview | null;
}

interface Decided {
  /** Null withdraws an earlier decision. */
  readonly decision: ReviewDecision | null;
  /** Only present for the decision `edited`. */
  readonly edited: QuestionWording | null;
  readonly reason: string | null;
  /** Time of the decision that the reviewer saw, or null without an earlier decision. */
  readonly seen: string | null;
}

interface ReviewedFile {
  readonly path: string;
  readonly sha256: string;
  readonly questions: readonly Question[];
  /** The line of each question in a JSON Lines file, or null for other formats. */
  readonly lines: readonly string[] | null;
}

/**
 * A person's review of a dataset. Decisions are stored only in files, so several people can review it at the same time.
 */
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

  /** Opens a review. Throws a UserError if the file is unusable or the decisions cannot be written next to it. */
  static async open(path: string, db: Db, signal: AbortSignal): Promise<DatasetReview> {
    const file = await openDataset(path, signal);
    requireAnswers(file.questions, "art-e questions review");
    const outputs = [reviewPath(path), reviewedPath(path)].map(
      (output) => ({ flag: "FILE", path: output, kind: "questions" }) as const,
    );
    checkOutputs(outputs, [{ name: "the dataset", path }], { db: db.name, overwrite: true });
    const isFirst = readReviews(path).size === 0;
    if (isFirst) checkOutputs(outputs.slice(1), [], { db: db.name, overwrite: false });
    return new DatasetReview(file, readProvenance(provenancePath(path)), db);
  }

  list(): readonly { readonly question: Question; readonly review: QuestionReview | null }[] {
    const reviews = readReviews(this.path);
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
      review: reviewOf(question, readReviews(this.path)),
    };
  }

  /** Saves a decision immediately. Throws if someone else has decided since the reviewer loaded the question. */
  decide(id: number, decided: Decided): Promise<QuestionReview | null> {
    return this.oneAtATime(async () => {
      const { question, answer } = this.require(id);
      const { decision, edited, reason, seen } = decided;
      if (!(await isUnchanged(this.file))) throw changedDataset(this.path);
      const reviews = new Map(readReviews(this.path));
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

  /** Returns the checks recorded in the provenance file, otherwise runs the rule checks. */
  private async checksOf(question: Question): Promise<readonly QuestionCheck[]> {
    const recorded = this.provenance.get(question.id)?.checks ?? this.ruleChecks.get(question.id);
    if (recorded !== undefined) return recorded;
    const { checks } = await checkQuestion(question, this.mailboxOf(question.inbox_address), null, NEVER);
    this.ruleChecks.set(question.id, checks);
    return checks;
  }

  private require(id: number): Question {
    const question = this.byId.get(id);
    if (question !== undefined) return question;
    throw new UserError("question_unknown", `Unknown question ${id} in ${this.path}.`, "Choose another question.");
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
  const now = last === null ? "withdrawn" : `${last.decision} at ${last.decided_at}`;
  return new UserError(
    "review_conflict",
    `Cannot save the decision: question ${id} was ${now} in another window.`,
    "Reload the question and decide again.",
  );
}

function changedDataset(path: string): UserError {
  return new UserError(
    "review_conflict",
    `Cannot save the decision: ${path} changed after the review started.`,
    "Start the review again.",
  );
}

/** Path of the decisions: `my.jsonl` -> `my.review.jsonl`. */
function reviewPath(dataset: string): string {
  return sidecarPath(dataset, ".review.jsonl");
}

/** Path of the accepted and edited questions: `my.jsonl` -> `my.reviewed.jsonl`. */
function reviewedPath(dataset: string): string {
  return sidecarPath(dataset, ".reviewed.jsonl");
}

/** Returns the provenance records by question id. Empty if the provenance file is missing. */
function readProvenance(path: string): ReadonlyMap<number, QuestionProvenance> {
  return new Map(readLines(path, questionProvenanceSchema).map((line) => [line.id, line]));
}

/** Returns the decisions about a dataset by question id. */
function readReviews(dataset: string): ReadonlyMap<number, QuestionReview> {
  return new Map(readLines(reviewPath(dataset), questionReviewSchema).map((line) => [line.id, line]));
}

/** Writes the decisions first, because the reviewed dataset can be rebuilt from them. */
async function writeReviews(file: ReviewedFile, reviews: ReadonlyMap<number, QuestionReview>): Promise<void> {
  const lines = [...reviews.values()].sort((a, b) => a.id - b.id).map((review) => `${toWellFormedJson(review)}\n`);
  await writeFileAtomically(reviewPath(file.path), lines);
  await writeReviewed(file, reviews);
}

/** Writes the reviewed dataset. Except for edited text, JSON Lines stay the same, byte for byte. */
async function writeReviewed(
  { path, questions, lines }: ReviewedFile,
  reviews: ReadonlyMap<number, QuestionReview>,
): Promise<void> {
  const accepted = questions.flatMap((question, i) => {
    const review = reviews.get(question.id);
    return review === undefined || review.decision === "rejected" || !isAbout(review, question)
      ? []
      : [{ question, line: lines?.[i], edited: review.edited ?? {} }];
  });
  const pieces =
    lines === null
      ? await encodeTable(
          "jsonl",
          questionsTable("jsonl"),
          accepted.map(({ question, edited }) => ({ ...question, ...edited })),
        )
      : accepted.map(({ line = "", edited }) => `${replaceJsonTexts(line, edited)}\n`);
  await writeFileAtomically(reviewedPath(path), pieces);
}

/**
 * Whether the decision applies to this text. A dataset can be regenerated with the same ids but different questions.
 */
function isAbout(review: QuestionReview, { question, answer }: { question: string; answer: string }): boolean {
  return review.question === question && review.answer === answer;
}

function readLines<T extends z.ZodType>(path: string, schema: T): z.output<T>[] {
  if (!existsSync(path)) return [];
  try {
    return jsonLinesRows(readNamedText(path)).map(({ where, value }) => {
      const read = schema.safeParse(value);
      if (read.success) return read.data;
      throw new Error(`${where}: ${firstIssue(read.error, "it")}`);
    });
  } catch (cause) {
    throw new UserError(
      "review_unreadable",
      `Cannot read ${path}: ${reasonOf(cause)}`,
      "Fix the line, or move the file away. It belongs to the dataset next to it.",
      2,
      { cause },
    );
  }
}

/** Opens a dataset. Throws a UserError that names the file and the first bad row. */
async function openDataset(path: string, signal: AbortSignal): Promise<ReviewedFile> {
  const bytes = await readQuestionFile(path);
  const { rows, lines } = await readRows(path, bytes);
  const questions = await checkRows(rows, { name: path }, signal);
  checkUniqueIds(questions, path);
  return { path, sha256: sha256Of(bytes), questions, lines };
}

/** Whether the file's content is the same as when it was opened. */
async function isUnchanged({ path, sha256 }: ReviewedFile): Promise<boolean> {
  return sha256Of(await readQuestionFile(path)) === sha256;
}
