import { extname } from "node:path";
import pLimit from "p-limit";
import { CostLimitReached } from "../models/call-budget.js";
import { ModelError } from "../models/model.js";
import { type AppContext, type AppSettings, Interrupted } from "../platform/app-context.js";
import { sha256Of } from "../platform/download.js";
import { UserError } from "../platform/errors.js";
import { writeFileAtomically } from "../platform/files.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import { JUDGE_CONCURRENCY } from "../scoring/judge-settings.js";
import { NamedCounts, seededRandom } from "../statistics/intervals.js";
import { withStore } from "../store/open-store.js";
import type { Question, Split } from "../tasks/question.js";
import { count } from "../text/format.js";
import { checkOutputs } from "../trace-formats/output-files.js";
import { encodeTable, questionsTable, TABLE_FORMATS, type TableFormat } from "../trace-formats/tables.js";
import { UNREADABLE_REPLY } from "./check-by-model.js";
import type { Checker } from "./check-by-rules.js";
import { checkQuestion, isEasy } from "./check-questions.js";
import { shuffled } from "./dataset.js";
import { type QuestionDraft, queryDate, queryDateBefore } from "./draft-by-model.js";
import { callOrFailure, draftsOfModel, draftsOfPatterns, FailureStreak, UnusableModel } from "./draft-questions.js";
import type { QuestionProvenance } from "./provenance.js";
import { type MakeOptions, ModelSpending, type OpenedModels, openModels, PATTERNS_MODEL } from "./question-models.js";
import {
  chooseInboxes,
  type MailCounts,
  NearDuplicates,
  type QuestionMailbox,
  questionMailboxes,
  readMailboxes,
  type UsableMailbox,
} from "./usable-mail.js";

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
  /** Null: no price is known for a model. */
  readonly costUsd: number | null;
  readonly calls: number;
  readonly cachedReplies: number;
  /** Why there are fewer than asked for; null: there are as many. */
  readonly shortfall: string | null;
  /** What makes more of them; null: nothing known does. */
  readonly hint: string | null;
}

/** Makes questions from mailboxes, checks each, and writes the dataset and how each was made beside it. */
export function makeQuestions(options: MakeOptions, context: AppContext): Promise<MadeQuestions> {
  const { settings } = context;
  const format = checkQuestionOutputs(options, settings);
  return withStore(settings, async (db) => {
    const inboxes = chooseInboxes(db, options.inbox);
    const spending = new ModelSpending(options.maxCost);
    const writer = options.model === PATTERNS_MODEL ? null : options.model;
    const models = await openModels({ ...options, writer }, spending, context);
    const open = questionMailboxes(db);
    const mailboxes = new Map(inboxes.map((inbox) => [inbox, open(inbox)]));
    const read = readMailboxes([...mailboxes.values()], options.minChars);
    const refusals = new NamedCounts();
    const made = await collectQuestions(options, { mailboxes, usable: read.mailboxes, models, refusals }, context);
    const hint = made.advice || shorterMailHint(options, read.mails);
    if (made.questions.length === 0) throw noQuestions(made.stopped, hint, read.mails, refusals);
    const split = splitOf(inboxes, options);
    await writeQuestions(
      options.output,
      format,
      made.questions.map(({ question, provenance }, i) => ({
        question: { id: i + 1, ...question, split: split(question.inbox_address) },
        provenance: { id: i + 1, ...provenance },
      })),
    );
    return {
      output: options.output,
      provenance: provenancePath(options.output),
      model: options.model,
      checker: models.checker?.id ?? null,
      ...countsOf(made.questions),
      mailboxes: inboxes.length,
      mails: read.mails,
      refused: refusals.sorted(),
      costUsd: spending.limit.costUsd,
      calls: spending.limit.calls,
      cachedReplies: spending.cachedReplies,
      shortfall: made.questions.length < options.number ? made.stopped : null,
      hint: made.questions.length < options.number ? hint : null,
    };
  });
}

/** The format of the dataset. Throws where it, or the file beside it, cannot be written. */
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

/** Null if few emails are shorter than `--min-chars`. */
function shorterMailHint({ minChars }: MakeOptions, { all, leftOut }: MailCounts): string | null {
  const short = leftOut["too short"] ?? 0;
  if (minChars === 1 || short * 10 < all) return null;
  return `Pass --min-chars ${Math.floor(minChars / 2)} to include more of the ${count(short)} emails that are too short.`;
}

/** An empty dataset is of no use, and would take the place of one that is. */
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
    "no_questions",
    `No question was made of ${count(usable)} usable mails, and nothing is written: ${stopped}.`,
    [
      ...(usable === 0 ? listed("Left out", leftOut) : []),
      ...listed("Refused", refusals.sorted()),
      hint ?? "Import more mail.",
    ].join(" "),
    1,
  );
}

/** A mailbox is wholly for training or wholly for testing. */
function splitOf(inboxes: readonly string[], { train, seed }: MakeOptions): (inbox: string) => Split {
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

interface MadeQuestion {
  readonly question: Question;
  readonly provenance: QuestionProvenance;
}

/** `my.parquet` -> `my.provenance.jsonl` */
export function provenancePath(dataset: string): string {
  return sidecarPath(dataset, ".provenance.jsonl");
}

/** The provenance first: a dataset is never there without it. */
async function writeQuestions(path: string, format: TableFormat, made: readonly MadeQuestion[]): Promise<void> {
  await writeFileAtomically(
    provenancePath(path),
    made.map(({ provenance }) => `${toWellFormedJson(provenance)}\n`),
  );
  const questions = made.map(({ question }) => question);
  await writeFileAtomically(path, await encodeTable(format, questionsTable(format), questions));
}

function formatOfDataset(path: string): TableFormat {
  const extension = extname(path).toLowerCase();
  const format = TABLE_FORMATS.find((one) => extension === `.${one}`);
  if (format !== undefined) return format;
  throw new UserError(
    "output_format",
    `--output: ${path} is not a .jsonl, .csv or .parquet file.`,
    "The extension is the format that the questions are written in.",
  );
}

/** The file with another end beside a dataset: `my.jsonl`, `.review.jsonl` -> `my.review.jsonl`. */
export function sidecarPath(dataset: string, end: string): string {
  return `${dataset.slice(0, dataset.length - extname(dataset).length)}${end}`;
}

interface CollectRequest {
  readonly mailboxes: ReadonlyMap<string, QuestionMailbox>;
  readonly usable: readonly UsableMailbox[];
  readonly models: OpenedModels;
  readonly refusals: NamedCounts;
}

interface CollectedQuestions {
  readonly questions: readonly VerifiedQuestion[];
  /** Why no more were made; a sentence without its full stop. */
  readonly stopped: string;
  /** What to do about it; empty: nothing. */
  readonly advice: string;
}

/** Drafts and checks until there are as many questions as wanted, the mail is used up, or the money is. */
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
          if ("kept" in one) quota.keep(one.kept, drafts[i] as TakenDraft);
        }
        bar.update(quota.kept.length, options.number, `${count(quota.kept.length)} of ${count(options.number)}`);
        for (const one of verified) recordRefusal(one, request.refusals, streak);
        const limit = verified.find((one) => one instanceof CostLimitReached);
        if (limit !== undefined) throw limit;
      }
      if (quota.missing === 0) break;
    }
    return { questions: quota.kept, stopped: "the mail gives no more", advice: "" };
  } catch (error) {
    if (error instanceof CostLimitReached || error instanceof UnusableModel) {
      return { questions: quota.kept, stopped: error.message.replace(/\.$/, ""), advice: error.hint };
    }
    if (!signal.aborted) throw error;
    throw new Interrupted(
      `stopped after ${count(quota.kept.length)} questions; nothing is written. The same command goes on: replies that are paid for are in the cache.`,
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

/** A draft that passed, why it did not, or the limit of cost that left it unchecked. */
type Verified =
  | { readonly kept: VerifiedQuestion }
  | { readonly refused: string; readonly fault: string | null }
  | CostLimitReached;

/** In the drafts' order. */
function verifyAll(
  drafts: readonly TakenDraft[],
  { model, seed }: MakeOptions,
  { mailboxes, models: { writer, checker } }: CollectRequest,
  signal: AbortSignal,
): Promise<Verified[]> {
  const settings = { madeBy: model, synthetic: writer === null, checker, seed };
  return pLimit(JUDGE_CONCURRENCY).map(drafts, async ({ draft }): Promise<Verified> => {
    const mailbox = mailboxes.get(draft.inbox);
    if (mailbox === undefined) throw new Error(`No mailbox ${draft.inbox} is open.`);
    const verified = await callOrFailure(() => verifyDraft(draft, mailbox, settings, signal));
    if (verified instanceof CostLimitReached || "kept" in verified) return verified;
    if (verified instanceof ModelError) return { refused: "the checker's call failed", fault: verified.message };
    const { refused } = verified;
    return { refused, fault: refused === UNREADABLE_REPLY ? refused : null };
  });
}

/** Throws where the checker gives nothing usable. */
function recordRefusal(verified: Verified, refusals: NamedCounts, streak: FailureStreak): void {
  if (verified instanceof CostLimitReached) return;
  const refused = "kept" in verified ? null : verified;
  if (refused !== null) refusals.add(refused.refused);
  streak.add(refused?.fault ?? null);
}

interface Tally {
  answerable: number;
  unanswerable: number;
}

interface TakenDraft {
  /** As it is to be checked. */
  readonly draft: QuestionDraft;
  /** As it was drafted. */
  readonly drafted: QuestionDraft;
}

/** Which drafts are checked: as many as are missing, no near-duplicates, and the share that cannot be answered. */
class QuestionQuota {
  readonly kept: VerifiedQuestion[] = [];
  private readonly asked = new NearDuplicates();
  private readonly wanted: Tally;

  /** @param refusals counts the drafts that are passed over */
  constructor(
    private readonly number: number,
    share: number,
    private readonly refusals: NamedCounts,
  ) {
    const unanswerable = Math.round(number * share);
    this.wanted = { answerable: number - unanswerable, unanswerable };
  }

  get missing(): number {
    return this.number - this.kept.length;
  }

  keep(question: VerifiedQuestion, { drafted }: TakenDraft): void {
    this.kept.push(question);
    this.asked.add(drafted);
  }

  /**
   * Takes the next drafts to check from the front of a queue, no more than are missing. One that asks the same as
   * another that is to be checked waits for its verdict in the queue.
   */
  takeFrom(queue: QuestionDraft[]): TakenDraft[] {
    const planned = this.tally();
    const taken: TakenDraft[] = [];
    const underCheck = new NearDuplicates();
    const waiting: QuestionDraft[] = [];
    for (let drafted = queue.shift(); drafted !== undefined; drafted = queue.shift()) {
      if (underCheck.has(drafted)) {
        waiting.push(drafted);
        continue;
      }
      const draft = this.choose(drafted, planned);
      if (draft === null) continue;
      planned[draft.unanswerable === null ? "answerable" : "unanswerable"]++;
      underCheck.add(drafted);
      taken.push({ draft, drafted });
      if (taken.length === this.missing) break;
    }
    queue.unshift(...waiting);
    return taken;
  }

  private tally(): Tally {
    const unanswerable = this.kept.filter(({ provenance }) => provenance.unanswerable !== null).length;
    return { unanswerable, answerable: this.kept.length - unanswerable };
  }

  /** The draft as it is to be checked; null: it is counted as refused. */
  private choose(draft: QuestionDraft, planned: Tally): QuestionDraft | null {
    const { wanted, number } = this;
    if (this.asked.has(draft)) return this.refuse("it asks the same as another");
    if (draft.unanswerable !== null) {
      return planned.unanswerable < wanted.unanswerable
        ? draft
        : this.refuse("there are enough that cannot be answered");
    }
    const isFull = planned.answerable >= wanted.answerable;
    const next = planned.answerable + planned.unanswerable + 1;
    const isDue = isFull || planned.unanswerable < Math.floor((next * wanted.unanswerable) / number);
    const early = isDue ? asAskedTooEarly(draft) : null;
    if (early === null && isFull) return this.refuse("there are enough that can be answered");
    return early ?? draft;
  }

  private refuse(reason: string): null {
    this.refusals.add(reason);
    return null;
  }
}

/** The same asked before any mail that answers it; null: it would be answered then. */
function asAskedTooEarly(draft: QuestionDraft): QuestionDraft | null {
  if (draft.askedTooEarly === null) return null;
  return { ...draft, question: draft.askedTooEarly, answer: "I don't know", unanswerable: "mail_later" };
}

interface VerifiedQuestion {
  readonly question: Omit<Question, "id">;
  readonly provenance: Omit<QuestionProvenance, "id">;
}

interface VerifySettings {
  readonly madeBy: string;
  readonly synthetic: boolean;
  /** Null: rules alone check. */
  readonly checker: Checker | null;
  readonly seed: number;
}

/** Checks a draft by rules, then by the checker; refused with the reason of the first check that fails. */
async function verifyDraft(
  draft: QuestionDraft,
  mailbox: QuestionMailbox,
  settings: VerifySettings,
  signal: AbortSignal,
): Promise<{ readonly kept: VerifiedQuestion } | { readonly refused: string }> {
  const { madeBy, synthetic, checker, seed } = settings;
  const isTooEarly = draft.unanswerable === "mail_later";
  const day = dayOf(draft, seed);
  // A mail that quotes the source may come after the question.
  const cited = isTooEarly ? [] : draft.sources.filter(({ date }) => date.slice(0, 10) < day);
  const question: Question = {
    id: 0,
    question: draft.question,
    answer: draft.answer,
    message_ids: cited.map(({ messageId }) => messageId),
    how_realistic: draft.howRealistic,
    inbox_address: mailbox.address,
    query_date: day,
  };
  const { checks, equivalent } = await checkQuestion(
    question,
    mailbox,
    checker,
    signal,
    draft.kind === "change" && !isTooEarly,
  );
  const failed = checks.find(({ passed }) => !passed);
  if (failed !== undefined) return { refused: failed.reason };
  const found = equivalent.map((messageId) => ({ messageId, date: mailbox.get(messageId)?.mail.date ?? "" }));
  // One of the day itself is a source too: the question is asked later, and checked again.
  const sameDay = found.filter(({ date }) => date.startsWith(day));
  if (sameDay.length > 0) {
    return verifyDraft({ ...draft, sources: [...draft.sources, ...sameDay] }, mailbox, settings, signal);
  }
  const { id: _, ...rest } = question;
  return {
    kept: {
      question: { ...rest, message_ids: [...rest.message_ids, ...equivalent] },
      provenance: {
        made_by: madeBy,
        kind: draft.kind,
        synthetic,
        unanswerable: draft.unanswerable,
        easy: isEasy(question, mailbox),
        passages: [...draft.passages],
        checks: [...checks],
      },
    },
  };
}

/** Drawn by the question itself: a draft that another run did not have moves no date, and so changes no cached call. */
function dayOf({ question, sources, askableFrom, unanswerable }: QuestionDraft, seed: number): string {
  const random = seededRandom(seed + Number.parseInt(sha256Of(question).slice(0, 8), 16));
  const dates = sources.map(({ date }) => date).sort();
  return unanswerable === "mail_later"
    ? queryDateBefore(dates[0] ?? askableFrom, random)
    : queryDate(askableFrom, dates, random);
}
