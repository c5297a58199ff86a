import { UserError } from "../../../domain/errors.js";
import type { Split } from "../../../domain/tasks/question.js";
import type { TableFormat } from "../../../exports/tables/encode-table.js";
import { shuffled } from "../../../questions/shuffle.js";
import { count } from "../../../reports/text/format-number.js";
import { NamedCounts } from "../../../statistics/named-counts.js";
import { checkOutputs } from "../../output-files/check-outputs.js";
import type { AppContext, AppSettings } from "../../use-case-context.js";
import { withStore } from "../../with-store.js";
import { type Collected, collectQuestions } from "./collect-questions.js";
import { type MakeOptions, PATTERNS_MODEL } from "./make-options.js";
import { ModelSpending } from "./model-spending.js";
import { openModels } from "./open-models.js";
import { questionMailboxes } from "./question-mailbox.js";
import { chooseInboxes, type MailCounts, readMailboxes } from "./usable-mailboxes.js";
import type { VerifiedQuestion } from "./verify-draft.js";
import { formatOfDataset, provenancePath, writeQuestions } from "./write-questions.js";

/** What `questions make` did. */
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
  readonly costUsd: number;
  readonly calls: number;
  readonly cachedReplies: number;
  /** Why there are fewer than asked for; null: there are as many. */
  readonly shortfall: string | null;
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
    const read = readMailboxes([...mailboxes.values()]);
    const refusals = new NamedCounts();
    const made = await collectQuestions(options, { mailboxes, usable: read.mailboxes, models, refusals }, context);
    if (made.questions.length === 0) throw noQuestions(made, read.mails, refusals);
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
      costUsd: spending.limit.spentUsd,
      calls: spending.limit.calls,
      cachedReplies: spending.cachedReplies,
      shortfall: made.questions.length < options.number ? made.stopped : null,
    };
  });
}

/** The format of the dataset. Throws where it, or the file beside it, cannot be written. */
export function checkQuestionOutputs({ output, overwrite }: MakeOptions, { db }: AppSettings): TableFormat {
  const format = formatOfDataset("--output", output);
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

/** An empty dataset is of no use, and would take the place of one that is. */
function noQuestions(
  { stopped, advice }: Collected,
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
      advice || "Import more mail.",
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
