// `art-e questions make --kind actions`: makes tasks that ask for actions in a mailbox, with the state that they must
// leave behind. Everything follows from the mail by rules, so no model is needed and every goal is exact.
import { type AppContext, Interrupted } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { NamedCounts } from "../statistics/intervals.js";
import { seededRandom } from "../statistics/seeded-random.js";
import { type Db, withStore } from "../store/open-store.js";
import type { Question } from "../tasks/question.js";
import { count } from "../text/format.js";
import {
  ACTION_KINDS,
  type ActionKind,
  type ActionKindName,
  type DatedEmail,
  type Fact,
} from "./make-actions/action-kinds.js";
import { draftsOfPatterns } from "./make-questions/draft-questions.js";
import { checkTaskOutput, type MakeTasksOptions, writeTasks } from "./make-questions/task-files.js";
import { chooseInboxes, type QuestionMailbox, questionMailboxes, readMailboxes } from "./make-questions/usable-mail.js";
import { verifyDraft } from "./make-questions/verify-draft.js";
import { PATTERNS_MODEL } from "./question-models.js";

export interface MakeActionsOptions extends MakeTasksOptions {
  readonly minChars: number;
}

export interface MadeActions {
  readonly output: string;
  readonly tasks: number;
  readonly byKind: Readonly<Record<string, number>>;
  readonly mailboxes: number;
  /** Whether the mail gave fewer tasks than requested. */
  readonly isShort: boolean;
}

const KINDS = Object.keys(ACTION_KINDS) as ActionKindName[];

/** Attempts in a row without a new task, per mailbox and kind, after which no more are expected. */
const FRUITLESS_ROUNDS = 20;

/** Writes the dataset. Throws a UserError if the mail gives no task at all. */
export function makeActions(options: MakeActionsOptions, context: AppContext): Promise<MadeActions> {
  const { output, number } = options;
  const { settings, signal, progress } = context;
  checkTaskOutput(options, settings);
  return withStore(settings, async (db) => {
    const inboxes = chooseInboxes(db, options.inbox);
    const makers = openMakers(db, inboxes, options, signal);
    const tasks: Omit<Question, "id">[] = [];
    const byKind = new NamedCounts();
    const bar = progress("Tasks");
    let fruitless = 0;
    try {
      for (let i = 0; tasks.length < number && fruitless < FRUITLESS_ROUNDS * KINDS.length * makers.length; i++) {
        if (signal.aborted) throw new Interrupted("interrupted. Nothing was written.");
        const maker = makers[i % makers.length];
        const kind = KINDS[Math.floor(i / makers.length) % KINDS.length] as ActionKindName;
        const task = (await maker?.make(kind)) ?? null;
        fruitless = task === null ? fruitless + 1 : 0;
        if (task === null) continue;
        tasks.push(task);
        byKind.add(kind);
        bar.update(tasks.length, number, `${count(tasks.length)} of ${count(number)}`);
      }
    } finally {
      bar.stop();
    }
    if (tasks.length === 0) {
      throw new UserError(
        "actions_not_made",
        "Cannot make tasks from the mail. Nothing was written.",
        "Import more mail.",
        1,
      );
    }
    await writeTasks(tasks, inboxes, options);
    const isShort = tasks.length < number;
    return { output, tasks: tasks.length, byKind: byKind.sorted(), mailboxes: inboxes.length, isShort };
  });
}

function openMakers(db: Db, inboxes: readonly string[], options: MakeActionsOptions, signal: AbortSignal) {
  const open = questionMailboxes(db);
  return inboxes.map((inbox, i) => {
    const mailbox = open(inbox);
    return new MailboxActions(mailbox, factsOf(mailbox, options, signal), seededRandom(options.seed + i));
  });
}

type QueuedFact = Fact & { readonly day: string };

/** Makes tasks from one mailbox, no two of which are alike. */
class MailboxActions {
  private readonly made = new Set<string>();
  private emails: readonly DatedEmail[] | null = null;

  constructor(
    private readonly mailbox: QuestionMailbox,
    private readonly facts: AsyncGenerator<QueuedFact>,
    private readonly random: (below: number) => number,
  ) {}

  /** Returns a new task of a kind, or null if this attempt gave none. */
  async make(kind: ActionKindName): Promise<Omit<Question, "id"> | null> {
    this.emails ??= datedEmails(this.mailbox);
    const { emails, random, mailbox } = this;
    if (emails.length === 0) return null;
    const fact = kind.endsWith("-fact") ? ((await this.facts.next()).value as QueuedFact | undefined) : undefined;
    // Later emails would change the goal, so a task is set on a day and looks at the emails until then.
    const half = Math.floor(emails.length / 2);
    const day = fact?.day ?? (emails[half + random(emails.length - half)] as DatedEmail).date.slice(0, 10);
    const visible = emails.filter(({ date }) => date.slice(0, 10) <= day);
    const owner = mailbox.address;
    const makeKind: ActionKind = ACTION_KINDS[kind];
    const made = makeKind({ owner, emails: visible, random, fact: fact ?? null });
    if (made === null || this.made.has(made.instruction)) return null;
    this.made.add(made.instruction);
    const { instruction, goal, drafts } = made;
    return {
      question: instruction,
      answer: "",
      message_ids: [],
      how_realistic: 1,
      inbox_address: owner,
      query_date: day,
      goal,
      ...(drafts === undefined ? {} : { drafts }),
    };
  }
}

function datedEmails(mailbox: QuestionMailbox): readonly DatedEmail[] {
  const emails = mailbox.mails().flatMap((email) => (email.date === null ? [] : [{ ...email, date: email.date }]));
  return emails.sort((a, b) => (a.date === b.date ? 0 : a.date < b.date ? -1 : 1));
}

/** Yields questions that exactly one email of the mailbox answers, each with the day on which it is asked. */
async function* factsOf(
  mailbox: QuestionMailbox,
  { number, seed, minChars }: MakeActionsOptions,
  signal: AbortSignal,
): AsyncGenerator<QueuedFact> {
  const { mailboxes } = readMailboxes([mailbox], minChars);
  const settings = { madeBy: PATTERNS_MODEL, checker: null, seed };
  for (const drafts of draftsOfPatterns(mailboxes, { number, seed }, new NamedCounts())) {
    for (const draft of drafts) {
      const verified = await verifyDraft(draft, mailbox, settings, signal);
      if (!("question" in verified)) continue;
      const { question, answer, message_ids, query_date } = verified.question.question;
      const [messageId, other] = message_ids;
      if (messageId !== undefined && other === undefined) yield { question, answer, messageId, day: query_date };
    }
  }
}
