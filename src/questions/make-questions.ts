// `art-e questions make`: drafts questions, checks them, and writes the dataset with its provenance file.
import { extname } from "node:path";
import pLimit from "p-limit";
import { CostLimitReached } from "../models/call-budget.js";
import { ModelError } from "../models/model.js";
import { type AppContext, type AppSettings, Interrupted } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { writeFileAtomically } from "../platform/files.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import { JUDGE_CONCURRENCY } from "../scoring/judge-settings.js";
import { NamedCounts } from "../statistics/intervals.js";
import { withStore } from "../store/open-store.js";
import type { Question, Split } from "../tasks/question.js";
import { count, counted } from "../text/format.js";
import { checkOutputs } from "../trace-formats/output-files.js";
import { encodeTable, questionsTable, TABLE_FORMATS, type TableFormat } from "../trace-formats/tables.js";
import { UNREADABLE_REPLY } from "./check-questions/check-by-model.js";
import { shuffled } from "./dataset.js";
import type { QuestionDraft } from "./make-questions/draft-by-model.js";
import {
  callOrFailure,
  draftsOfModel,
  draftsOfPatterns,
  FailureStreak,
  UnusableModel,
} from "./make-questions/draft-questions.js";
import {
  chooseInboxes,
  isEnglish,
  type MailCounts,
  NearDuplicates,
  type QuestionMailbox,
  questionMailboxes,
  readMailboxes,
  type UsableMailbox,
} from "./make-questions/usable-mail.js";
import { type VerifiedQuestion, verifyDraft } from "./make-questions/verify-draft.js";
import type { QuestionProvenance } from "./provenance.js";
import { type MakeOptions, ModelSpending, type OpenedModels, openModels, PATTERNS_MODEL } from "./question-models.js";

export interface MadeQuestions {
  readonly output: string;
  readonly provenance: string;
  readonly model: string;
  readonly checker: string | null;
  readonly questions: number;
  readonly unanswerable: number;
  readonly easy: number;
  readonly byKind: Readonly<Record<string, number>>;
  readonly mailboxes: number;
  readonly mails: MailCounts;
  readonly refused: Readonly<Record<string, number>>;
  /** US dollars, or null if a model's price is unknown. */
  readonly costUsd: number | null;
  readonly calls: number;
  readonly cachedReplies: number;
  /** Why there are fewer questions than requested, or null if there are enough. */
  readonly shortfall: string | null;
  /** How to get more questions, or null if unknown. */
  readonly hint: string | null;
}

interface CollectRequest {
  readonly mailboxOf: (address: string) => QuestionMailbox;
  readonly usable: readonly UsableMailbox[];
  readonly models: OpenedModels;
  readonly refusals: NamedCounts;
}

interface CollectedQuestions {
  readonly questions: readonly VerifiedQuestion[];
  /** Why no more questions were made, as a sentence without its full stop. */
  readonly stopped: string;
  /** A remedy for the user, or an empty string. */
  readonly advice: string;
}

/** A draft that passed, the reason why it was rejected, or the cost limit because of which it was not checked. */
type Verified =
  | { readonly question: VerifiedQuestion }
  | { readonly refused: string; readonly fault: string | null }
  | CostLimitReached;

interface Tally {
  answerable: number;
  unanswerable: number;
}

interface TakenDraft {
  /** The draft to check, possibly with an earlier date. */
  readonly draft: QuestionDraft;
  /** The original draft. */
  readonly drafted: QuestionDraft;
}

/** Makes questions from mailboxes, checks each, and writes the dataset and a provenance file next to it. */
export function makeQuestions(options: MakeOptions, context: AppContext): Promise<MadeQuestions> {
  const { settings } = context;
  const format = checkQuestionOutputs(options, settings);
  return withStore(settings, async (db) => {
    const inboxes = chooseInboxes(db, options.inbox);
    const spending = new ModelSpending(options.maxCost);
    const writer = options.model === PATTERNS_MODEL ? null : options.model;
    const models = await openModels({ ...options, writer }, spending, context);
    const mailboxOf = questionMailboxes(db);
    const read = readMailboxes(inboxes.map(mailboxOf), options.minChars);
    const refusals = new NamedCounts();
    const collection = await collectQuestions(
      options,
      { mailboxOf, usable: read.mailboxes, models, refusals },
      context,
    );
    const isShort = collection.questions.length < options.number;
    const language = isShort && writer === null ? languageHint(read.mailboxes) : null;
    const hint = language ?? (collection.advice || shorterMailHint(options, read.mails));
    if (collection.questions.length === 0) throw noQuestions(collection.stopped, hint, read.mails, refusals);
    const split = splitOf(inboxes, options);
    await writeQuestions(
      options.output,
      format,
      collection.questions.map(({ question }, i) => ({
        id: i + 1,
        ...question,
        split: split(question.inbox_address),
      })),
      collection.questions.map(({ provenance }, i) => ({ id: i + 1, ...provenance })),
    );
    return {
      output: options.output,
      provenance: provenancePath(options.output),
      model: options.model,
      checker: models.checker?.id ?? null,
      ...countsOf(collection.questions),
      mailboxes: inboxes.length,
      mails: read.mails,
      refused: refusals.sorted(),
      costUsd: spending.limit.costUsd,
      calls: spending.limit.calls,
      cachedReplies: spending.cachedReplies,
      shortfall: isShort ? collection.stopped : null,
      hint: isShort ? hint : null,
    };
  });
}

/** Returns the dataset format. Throws if the dataset or its provenance file cannot be written. */
export function checkQuestionOutputs({ output, overwrite }: MakeOptions, { db }: AppSettings): TableFormat {
  const format = formatOfDataset(output);
  checkOutputs(
    [
      { flag: "--output", path: output, kind: "questions" },
      { flag: "--output", path: provenancePath(output), kind: "provenance" },
    ],
    [],
    { db, overwrite },
  );
  return format;
}

/** Returns the hint that the patterns are for English, or null if at least half of the usable mail is English. */
function languageHint(mailboxes: readonly UsableMailbox[]): string | null {
  const usable = mailboxes.flatMap((mailbox) => mailbox.read(mailbox.usable.slice(0, MAX_JUDGED_MAILS)));
  const english = usable.filter(({ body }) => isEnglish(body)).length;
  if (usable.length === 0 || english * 2 >= usable.length) return null;
  const some = english === 0 ? "none" : `only ${count(english)}`;
  return `${PATTERNS_MODEL} finds values in English, and ${some} of ${count(usable.length)} emails ${english === 1 ? "is" : "are"} in English. Pass --model PROVIDER/MODEL, which makes questions in the language of the mail.`;
}

/** Number of emails per mailbox whose language is checked. */
const MAX_JUDGED_MAILS = 200;

/** Returns the hint about emails that are too short, or null if only a few emails are shorter than `--min-chars`. */
function shorterMailHint({ minChars }: MakeOptions, { all, leftOut }: MailCounts): string | null {
  const short = leftOut["too short"] ?? 0;
  if (minChars === 1 || short * 10 < all) return null;
  return `Pass --min-chars ${Math.floor(minChars / 2)} to include shorter emails: ${counted(short, "email")} ${short === 1 ? "is" : "are"} too short.`;
}

/** Returns the error if not a single question was made. Without it, an empty dataset would replace an existing one. */
function noQuestions(
  stopped: string,
  hint: string | null,
  { usable, leftOut }: MailCounts,
  refusals: NamedCounts,
): UserError {
  const listed = (title: string, counts: Readonly<Record<string, number>>) => {
    const reasons = Object.entries(counts).map(([reason, number]) => `${reason} ${count(number)}`);
    return reasons.length === 0 ? [] : [`${title}: ${reasons.join(", ")}.`];
  };
  return new UserError(
    "questions_not_made",
    `Cannot make questions from ${count(usable)} usable emails: ${stopped}. Nothing was written.`,
    [
      ...(usable === 0 ? listed("Left out", leftOut) : []),
      ...listed("Rejected", refusals.sorted()),
      hint ?? "Import more mail.",
    ].join(" "),
    1,
  );
}

/** Assigns splits by mailbox: all questions about a mailbox are either for training or for testing. */
export function splitOf(
  inboxes: readonly string[],
  { train, seed }: Pick<MakeOptions, "train" | "seed">,
): (inbox: string) => Split {
  const training = new Set(shuffled(inboxes, seed).slice(0, Math.round(inboxes.length * train)));
  return (inbox) => (training.has(inbox) ? "train" : "test");
}

function countsOf(questions: readonly VerifiedQuestion[]) {
  const byKind = new NamedCounts();
  for (const { provenance } of questions) byKind.add(provenance.kind);
  return {
    questions: questions.length,
    unanswerable: questions.filter(({ provenance }) => provenance.unanswerable !== null).length,
    easy: questions.filter(({ provenance }) => provenance.easy).length,
    byKind: byKind.sorted(),
  };
}

/** `my.parquet` -> `my.provenance.jsonl` */
export function provenancePath(dataset: string): string {
  return sidecarPath(dataset, ".provenance.jsonl");
}

/** Writes the provenance first, so that a dataset never exists without it. */
async function writeQuestions(
  path: string,
  format: TableFormat,
  questions: readonly Question[],
  provenance: readonly QuestionProvenance[],
): Promise<void> {
  await writeFileAtomically(
    provenancePath(path),
    provenance.map((line) => `${toWellFormedJson(line)}\n`),
  );
  await writeFileAtomically(path, await encodeTable(format, questionsTable(format), questions));
}

function formatOfDataset(path: string): TableFormat {
  const extension = extname(path).toLowerCase();
  const format = TABLE_FORMATS.find((one) => extension === `.${one}`);
  if (format !== undefined) return format;
  throw new UserError(
    "output_format_unknown",
    `--output: expected a .jsonl, .csv or .parquet file, got ${path}.`,
    "The extension selects the output format.",
  );
}

/** Returns the path of a file next to a dataset: `my.jsonl` and `.review.jsonl` -> `my.review.jsonl`. */
export function sidecarPath(dataset: string, end: string): string {
  return `${dataset.slice(0, dataset.length - extname(dataset).length)}${end}`;
}

/** Drafts and checks questions until there are enough, or until the mail or the cost budget is used up. */
async function collectQuestions(
  options: MakeOptions,
  request: CollectRequest,
  { signal, progress }: AppContext,
): Promise<CollectedQuestions> {
  const quota = new QuestionQuota(options.number, options.unanswerable, request.refusals);
  const streak = new FailureStreak(request.models.checker?.id ?? "");
  const bar = progress("Questions");
  try {
    for await (const drafts of draftGroups(options, request, quota, signal)) {
      const queue = [...drafts];
      while (queue.length > 0 && quota.missing > 0) {
        signal.throwIfAborted();
        const drafts = quota.takeFrom(queue);
        const verified = await verifyAll(drafts, options, request, signal);
        for (const [i, one] of verified.entries()) {
          if ("question" in one) quota.keep(one.question, drafts[i] as TakenDraft);
        }
        bar.update(
          quota.questions.length,
          options.number,
          `${count(quota.questions.length)} of ${count(options.number)}`,
        );
        for (const one of verified) recordRefusal(one, request.refusals, streak);
        const limit = verified.find((one) => one instanceof CostLimitReached);
        if (limit !== undefined) throw limit;
      }
      if (quota.missing === 0) break;
    }
    return { questions: quota.questions, stopped: "no more questions can be made from the mail", advice: "" };
  } catch (error) {
    if (error instanceof CostLimitReached || error instanceof UnusableModel) {
      return { questions: quota.questions, stopped: error.message.replace(/\.$/, ""), advice: error.hint };
    }
    if (!signal.aborted) throw error;
    throw new Interrupted(
      `interrupted after ${counted(quota.questions.length, "question")}. Nothing was written. Run the same command again to continue. Paid replies are cached.`,
    );
  } finally {
    bar.stop();
  }
}

function draftGroups(
  options: MakeOptions,
  { usable, models: { writer }, refusals }: CollectRequest,
  quota: QuestionQuota,
  signal: AbortSignal,
): Iterable<QuestionDraft[]> | AsyncIterable<QuestionDraft[]> {
  return writer === null
    ? draftsOfPatterns(usable, options, refusals)
    : draftsOfModel(usable, writer, options, () => quota.missing, refusals, signal);
}

/** Checks drafts concurrently. The results are in the order of the drafts. */
function verifyAll(
  drafts: readonly TakenDraft[],
  { model, seed }: MakeOptions,
  { mailboxOf, models: { checker } }: CollectRequest,
  signal: AbortSignal,
): Promise<Verified[]> {
  const settings = { madeBy: model, checker, seed };
  return pLimit(JUDGE_CONCURRENCY).map(drafts, async ({ draft }): Promise<Verified> => {
    const verified = await callOrFailure(() => verifyDraft(draft, mailboxOf(draft.inbox), settings, signal));
    if (verified instanceof CostLimitReached || "question" in verified) return verified;
    if (verified instanceof ModelError) return { refused: "the checker call failed", fault: verified.message };
    const { refused } = verified;
    return { refused, fault: refused === UNREADABLE_REPLY ? refused : null };
  });
}

/** Counts a rejected draft. Throws if the checker returns nothing usable. */
function recordRefusal(verified: Verified, refusals: NamedCounts, streak: FailureStreak): void {
  if (verified instanceof CostLimitReached) return;
  const refusal = "question" in verified ? null : verified;
  if (refusal !== null) refusals.add(refusal.refused);
  streak.add(refusal?.fault ?? null);
}

/**
 * Chooses which drafts to check: as many as are still needed, with the requested fraction of unanswerable questions and
 * without near-duplicates.
 */
class QuestionQuota {
  readonly questions: VerifiedQuestion[] = [];
  private readonly earlierDrafts = new NearDuplicates();
  private readonly wanted: Tally;

  /** @param refusals counts the skipped drafts */
  constructor(
    private readonly number: number,
    share: number,
    private readonly refusals: NamedCounts,
  ) {
    const unanswerable = Math.round(number * share);
    this.wanted = { answerable: number - unanswerable, unanswerable };
  }

  get missing(): number {
    return this.number - this.questions.length;
  }

  keep(question: VerifiedQuestion, { drafted }: TakenDraft): void {
    this.questions.push(question);
    this.earlierDrafts.add(drafted);
  }

  /**
   * Takes the next drafts to check from the front of a queue, at most as many as are still needed. A near-duplicate of
   * a draft in the same batch stays in the queue until that draft is checked.
   */
  takeFrom(queue: QuestionDraft[]): TakenDraft[] {
    const counts = this.tally();
    const accepted: TakenDraft[] = [];
    const underCheck = new NearDuplicates();
    const waiting: QuestionDraft[] = [];
    for (let drafted = queue.shift(); drafted !== undefined; drafted = queue.shift()) {
      if (underCheck.has(drafted)) {
        waiting.push(drafted);
        continue;
      }
      const draft = this.choose(drafted, counts);
      if (draft === null) continue;
      counts[draft.unanswerable === null ? "answerable" : "unanswerable"]++;
      underCheck.add(drafted);
      accepted.push({ draft, drafted });
      if (accepted.length === this.missing) break;
    }
    queue.unshift(...waiting);
    return accepted;
  }

  private tally(): Tally {
    const unanswerable = this.questions.filter(({ provenance }) => provenance.unanswerable !== null).length;
    return { unanswerable, answerable: this.questions.length - unanswerable };
  }

  /** Returns the draft to check, or null after counting it as rejected. */
  private choose(draft: QuestionDraft, counts: Tally): QuestionDraft | null {
    const { wanted, number } = this;
    if (this.earlierDrafts.has(draft)) return this.refuse("it duplicates another question");
    if (draft.unanswerable !== null) {
      return counts.unanswerable < wanted.unanswerable ? draft : this.refuse("there are enough unanswerable questions");
    }
    const isFull = counts.answerable >= wanted.answerable;
    const next = counts.answerable + counts.unanswerable + 1;
    const isDue = isFull || counts.unanswerable < Math.floor((next * wanted.unanswerable) / number);
    const early = isDue ? asAskedTooEarly(draft) : null;
    if (early === null && isFull) return this.refuse("there are enough answerable questions");
    return early ?? draft;
  }

  private refuse(reason: string): null {
    this.refusals.add(reason);
    return null;
  }
}

/**
 * Returns the same question with a date before every answering email, or null if the question would be answerable on
 * that date.
 */
function asAskedTooEarly(draft: QuestionDraft): QuestionDraft | null {
  if (draft.askedTooEarly === null) return null;
  return { ...draft, question: draft.askedTooEarly, answer: "I don't know", unanswerable: "mail_later" };
}
