import { UserError } from "../../../domain/errors.js";
import type { Split } from "../../../domain/tasks/question.js";
import { usableMails } from "../../../questions/generation/usable-mail.js";
import { shuffled } from "../../../questions/shuffle.js";
import { NamedCounts } from "../../../statistics/named-counts.js";
import type { Db } from "../../../store/connection/open-store.js";
import { listImportedInboxes } from "../../../store/import/owners.js";
import { checkOutputs } from "../../output-files/check-outputs.js";
import type { AppContext } from "../../use-case-context.js";
import { withStore } from "../../with-store.js";
import { collectQuestions } from "./collect-questions.js";
import type { UsableMailbox } from "./draft-questions.js";
import { type MakeOptions, PATTERNS_MODEL } from "./make-options.js";
import { openModels } from "./open-models.js";
import { type QuestionMailbox, questionMailboxes, requireInboxes } from "./question-mailbox.js";
import { Spending } from "./spending-limit.js";
import type { VerifiedQuestion } from "./verify-draft.js";
import { provenancePath, requireJsonLines, writeQuestions } from "./write-questions.js";

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
  readonly mails: { readonly all: number; readonly usable: number; readonly leftOut: Readonly<Record<string, number>> };
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
  requireJsonLines("--output", options.output);
  checkOutputs(
    [
      { flag: "--output", path: options.output, kind: "questions" },
      { flag: "--output", path: provenancePath(options.output), kind: "provenance" },
    ],
    [],
    { db: settings.db, overwrite: options.overwrite },
  );
  return withStore(settings, async (db) => {
    const inboxes = chooseInboxes(db, options.inbox);
    const spending = new Spending(options.maxCost ?? null);
    const writer = options.model === PATTERNS_MODEL ? null : options.model;
    const models = await openModels({ ...options, writer }, spending, context);
    const open = questionMailboxes(db);
    const mailboxes = new Map(inboxes.map((inbox) => [inbox, open(inbox)]));
    const read = readMailboxes([...mailboxes.values()]);
    const refusals = new NamedCounts();
    const made = await collectQuestions(options, { mailboxes, usable: read.mailboxes, models, refusals }, context);
    const split = splitOf(inboxes, options);
    await writeQuestions(
      options.output,
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
      costUsd: spending.costUsd,
      calls: spending.calls,
      cachedReplies: spending.cached,
      shortfall: made.questions.length < options.number ? made.stopped : null,
    };
  });
}

function chooseInboxes(db: Db, asked: readonly string[]): readonly string[] {
  const inboxes = [...new Set(asked.map((inbox) => inbox.trim().toLowerCase()))];
  requireInboxes(db, inboxes);
  const all = inboxes.length > 0 ? inboxes : [...listImportedInboxes(db)].sort();
  if (all.length > 0) return all;
  throw new UserError("corpus_empty", `There is no mailbox in ${db.name}.`, "Import one first: art-e import SOURCE.");
}

function readMailboxes(opened: readonly QuestionMailbox[]): {
  readonly mailboxes: readonly UsableMailbox[];
  readonly mails: MadeQuestions["mails"];
} {
  const leftOut = new NamedCounts();
  const mailboxes = opened.map((mailbox) => {
    const all = mailbox.mails();
    const { usable, leftOut: reasons } = usableMails(all);
    leftOut.addAll(reasons);
    return { address: mailbox.address, usable, all };
  });
  const sum = (of: (mailbox: UsableMailbox) => number) => mailboxes.reduce((total, one) => total + of(one), 0);
  return {
    mailboxes,
    mails: {
      all: sum(({ all }) => all.length),
      usable: sum(({ usable }) => usable.length),
      leftOut: leftOut.sorted(),
    },
  };
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
