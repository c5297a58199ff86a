// `art-e questions make --kind needs-reply|waiting-for`: makes tasks whose gold is the mailbox's own future.
// A task is set on a day. The emails that somebody answers later are right, and the agent never sees the answers.
import { endOfDay } from "../mail/date-range.js";
import { firstReadable, type MailboxEmail, readMailboxHistory } from "../mail/mailbox-history.js";
import { MAX_OPEN, OpenEmails, SELECTION_PERIODS, type TaskDay } from "../mail/open-emails.js";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { definedProperties } from "../platform/optional-values.js";
import { NamedCounts } from "../statistics/intervals.js";
import { type Db, withStore } from "../store/open-store.js";
import type { SelectionTask } from "../tasks/question.js";
import type { MadeKind } from "../tasks/selection.js";
import { count } from "../text/format.js";
import { addDays } from "../text/utc-day.js";
import { inTurn, shuffled } from "./dataset.js";
import { checkTaskOutput, type MakeTasksOptions, writeTasks } from "./make-questions/task-files.js";
import { chooseInboxes } from "./make-questions/usable-mail.js";

interface MakeSelectionsOptions extends MakeTasksOptions {
  /** Maximum fraction of tasks for which no email is right. */
  readonly unanswerable: number;
  /** Days before and after the date of a task. The kind decides if undefined. */
  readonly windowDays?: number | undefined;
  readonly replyDays?: number | undefined;
  /** Earliest date of a task, inclusive. */
  readonly after?: string | undefined;
  /** Latest date of a task, exclusive. */
  readonly before?: string | undefined;
}

export interface MadeSelections {
  readonly output: string;
  readonly kind: MadeKind;
  readonly tasks: number;
  /** Tasks for which no email is right. */
  readonly empty: number;
  readonly mailboxes: number;
  /** Mailboxes with at least one task. */
  readonly usedMailboxes: number;
  /** Different right emails over all tasks. */
  readonly rightEmails: number;
  /** Number of days left out because an agent could have read the later email. */
  readonly leaks: number;
  readonly isShort: boolean;
}

type MadeTask = Omit<SelectionTask, "id">;

/** Writes the dataset. Throws a UserError if the mail gives no task with a right email. */
export function makeSelections(
  kind: MadeKind,
  options: MakeSelectionsOptions,
  context: AppContext,
): Promise<MadeSelections> {
  const { output, number } = options;
  checkTaskOutput(options, context.settings);
  return withStore(context.settings, async (db) => {
    const inboxes = chooseInboxes(db, options.inbox);
    const { byInbox, leaks } = readTasks(db, kind, inboxes, options, context);
    const tasks = chooseTasks(byInbox, options);
    const empty = tasks.filter(({ select }) => select.emails.length === 0).length;
    if (tasks.length === empty) throw noTasks(kind, byInbox);
    await writeTasks(tasks, inboxes, options);
    const right = new Set(tasks.flatMap(({ select }) => select.emails.flatMap(({ message_ids: [id] }) => id ?? [])));
    return {
      output,
      kind,
      tasks: tasks.length,
      empty,
      mailboxes: inboxes.length,
      usedMailboxes: new Set(tasks.map(({ inbox_address }) => inbox_address)).size,
      rightEmails: right.size,
      leaks,
      isShort: tasks.length < number,
    };
  });
}

function noTasks(kind: MadeKind, byInbox: readonly (readonly MadeTask[])[]): UserError {
  const days = byInbox.flat().length;
  return new UserError(
    "selections_not_made",
    `Cannot make ${kind} tasks from the mail: no later email decides any of ${count(days)} days. Nothing was written.`,
    "Import mailboxes with their sent mail.",
    1,
  );
}

function readTasks(
  db: Db,
  kind: MadeKind,
  inboxes: readonly string[],
  options: MakeSelectionsOptions,
  { signal, progress }: AppContext,
) {
  const bar = progress("Mailboxes");
  let leaks = 0;
  try {
    const byInbox = inboxes.map((inbox, i) => {
      if (signal.aborted) throw new Interrupted("interrupted. Nothing was written.");
      bar.update(i, inboxes.length, `${count(i)} of ${count(inboxes.length)}`);
      const made = tasksOf(kind, inbox, readMailboxHistory(db, inbox), options);
      leaks += made.leaks;
      return made.tasks;
    });
    return { byInbox, leaks };
  } finally {
    bar.stop();
  }
}

/** Returns one task per day of a mailbox, without days on which nothing differs from an earlier one. */
export function tasksOf(
  kind: MadeKind,
  owner: string,
  emails: readonly MailboxEmail[],
  { after, before, ...periods }: Pick<MakeSelectionsOptions, "windowDays" | "replyDays" | "after" | "before">,
): { readonly tasks: readonly MadeTask[]; readonly leaks: number } {
  const { windowDays, replyDays } = { ...SELECTION_PERIODS[kind], ...definedProperties(periods) };
  const openEmails = new OpenEmails(owner, emails);
  const readableFrom = firstReadable(emails);
  const tasks = new Map<string, MadeTask>();
  let leaks = 0;
  for (const day of coveredDays(kind, owner, emails, { windowDays, replyDays })) {
    if ((after ?? day) > day || (before ?? "9999") <= day) continue;
    const open = openEmails.open(kind, { day, windowDays, replyDays });
    if (open.length === 0 || open.length > MAX_OPEN) continue;
    const right = open.flatMap(({ email, answer }) => (answer === null ? [] : [{ email, answer }]));
    if (right.some(({ answer }) => readableFrom(answer) < endOfDay(day))) {
      leaks++;
      continue;
    }
    const key = JSON.stringify([open, right].map((list) => list.map(({ email }) => email.ids)));
    if (tasks.has(key)) continue;
    const from = addDays(day, 1 - windowDays);
    const gold = right.map(({ email, answer }) => ({ message_ids: [...email.ids], evidence: answer.ids.slice(0, 1) }));
    tasks.set(key, {
      question: `${QUESTIONS[kind](from, addDays(day, replyDays))} ${FORM}`,
      answer: "",
      message_ids: [],
      how_realistic: 1,
      inbox_address: owner,
      query_date: day,
      select: { kind, from, reply_days: replyDays, emails: gold },
    });
  }
  return { tasks: [...tasks.values()], leaks };
}

const QUESTIONS: Readonly<Record<MadeKind, (from: string, until: string) => string>> = {
  "needs-reply": (from, until) =>
    `Which emails that I received since ${from} and have not answered yet will I answer by ${until}?`,
  "waiting-for": (from, until) =>
    `Which of my own emails since ${from} ask for something, have no answer yet, and will get one by ${until}?`,
};

const FORM = "Return their Message-IDs as sources, the most certain first, or no sources if there are none.";

/**
 * Yields the days on which a missing answer proves something, because the mailbox contains the mail among which it
 * would be: own emails, or as many received emails as own ones, both in the window and in the period after it.
 * Otherwise, the owner was away, or sent or received mail was not kept.
 */
function* coveredDays(
  kind: MadeKind,
  owner: string,
  emails: readonly MailboxEmail[],
  { windowDays, replyDays }: Pick<TaskDay, "windowDays" | "replyDays">,
): Generator<string> {
  const perDay = { own: new NamedCounts(), received: new NamedCounts() };
  for (const { date, sender } of emails) perDay[sender === owner ? "own" : "received"].add(date.slice(0, 10));
  const [own, received] = [perDay.own.counts, perDay.received.counts];
  const isCovered = (first: string, days: number) => {
    const period = Array.from({ length: days }, (_, i) => addDays(first, i));
    const countIn = (counts: typeof own) => period.reduce((sum, day) => sum + (counts[day] ?? 0), 0);
    return kind === "needs-reply" ? countIn(own) > 0 : countIn(received) >= countIn(own);
  };
  let next = "";
  for (const ownDay of Object.keys(own)) {
    // The days whose window contains an email of this day.
    for (let i = 0; i < windowDays; i++) {
      const day = addDays(ownDay, i);
      if (day <= next) continue;
      next = day;
      if (isCovered(addDays(day, 1 - windowDays), windowDays) && isCovered(addDays(day, 1), replyDays)) yield day;
    }
  }
}

/** Chooses tasks from the mailboxes in turn. A shuffle by seed decides the order within a mailbox. */
function chooseTasks(
  byInbox: readonly (readonly MadeTask[])[],
  { number, seed, unanswerable }: MakeSelectionsOptions,
): readonly MadeTask[] {
  const tasksInTurn = (isEmpty: boolean) => {
    const wanted = byInbox.map((tasks) => tasks.filter(({ select }) => (select.emails.length === 0) === isEmpty));
    return inTurn(wanted.map((tasks, i) => shuffled(tasks, seed + i)));
  };
  const decided = tasksInTurn(false);
  const undecided = tasksInTurn(true);
  // If the mail has too few right emails, there are fewer tasks, and not more empty ones.
  const right = decided.slice(0, number - Math.min(undecided.length, Math.round(number * unanswerable)));
  const mostEmpty = unanswerable === 1 ? number : Math.floor((right.length * unanswerable) / (1 - unanswerable));
  const empty = undecided.slice(0, Math.min(mostEmpty, number - right.length));
  return shuffled([...right, ...empty], seed);
}
