// Compares what changed in a mailbox with the goal of a task, change by change: a label, a folder, a mark, a draft, a
// sent email or a discarded draft. The scores and every page that shows actions use this comparison.
import {
  type EmailMarks,
  type Goal,
  isUnchanged,
  type MailboxChanges,
  type OutgoingEmail,
  type WantedEmail,
} from "../tasks/mailbox-changes.js";
import type { ChatTrace, QuestionTrace, SuiteTrace } from "../traces/trace.js";
import { statesFact } from "./scorers/value-scorers.js";

/**
 * One change. `done`: asked for and made. `missing`: asked for and not made. `collateral`: made and not asked for.
 * `made`: made in a chat, which has no goal.
 */
export interface MatchedChange {
  readonly state: "done" | "missing" | "collateral" | "made";
  /** In words, such as `label "Budget"` or `sent to ann@x.example`. */
  readonly change: string;
  /** The changed email, or the email that is replied to or forwarded. Null for a new email and for drafts. */
  readonly messageId: string | null;
}

/** Returns every change once, those asked for first. The Message-IDs of both sides must be the same for copies. */
function matchGoal(goal: Goal, changes: MailboxChanges): readonly MatchedChange[] {
  const wantedMarks = marksOf(goal.emails);
  const madeMarks = marksOf(
    changes.emails.map(({ message_id, ...marks }) => ({ message_ids: [message_id], ...marks })),
  );
  const discarded = (ids: readonly string[]) =>
    new Map(ids.map((id) => [id, { change: `discarded draft ${id}`, messageId: null }]));
  return [
    ...compareKeys(wantedMarks, madeMarks),
    ...compareKeys(discarded(goal.discarded), discarded(changes.discarded)),
    ...compareEmails("draft", goal.drafts, changes.drafts),
    ...compareEmails("sent", goal.sent, changes.sent),
  ].sort((a, b) => Number(a.state === "collateral") - Number(b.state === "collateral"));
}

/** Numbers of changes: asked for, those of them that were made, and others that were made. */
export interface ChangeCounts {
  readonly required: number;
  readonly reached: number;
  readonly others: number;
  /** In words, such as `1 of 2 changes, 0 not asked for`. */
  readonly explanation: string;
}

/** Counts the changes of a task that asks for actions. Returns null for any other task. */
export function countChanges({ task, actions }: Pick<QuestionTrace, "task" | "actions">): ChangeCounts | null {
  if (task.goal === undefined || actions === undefined) return null;
  const states = matchGoal(task.goal, actions).map(({ state }) => state);
  const countOf = (wanted: MatchedChange["state"]) => states.filter((state) => state === wanted).length;
  const [reached, missing, others] = [countOf("done"), countOf("missing"), countOf("collateral")];
  const required = reached + missing;
  const explanation = isUnchanged(actions)
    ? "nothing changed"
    : `${reached} of ${required} changes, ${others} not asked for`;
  return { required, reached, others, explanation };
}

/** Whether every change was made that the task asks for, and no other. */
export function isGoalReached({ required, reached, others }: ChangeCounts): boolean {
  return reached === required && others === 0;
}

type ActingTrace = Pick<QuestionTrace, "kind" | "task" | "actions"> | Pick<ChatTrace, "kind" | "actions">;

/** Returns the changes of a trace. In a task without a goal, every change is collateral. */
export function changesOf(trace: ActingTrace | Pick<SuiteTrace, "kind">): readonly MatchedChange[] {
  if (trace.kind === "suite" || trace.actions === undefined) return [];
  if (trace.kind === "question") return matchGoal(trace.task.goal ?? NO_GOAL, trace.actions);
  return matchGoal(NO_GOAL, trace.actions).map((change) => ({ ...change, state: "made" }));
}

/** A goal that lists nothing, so that every change is wrong. */
export const NO_GOAL: Goal = { emails: [], drafts: [], sent: [], discarded: [] };

type Change = Omit<MatchedChange, "state">;

/** Returns each label, folder and mark by a key, so that a repeated request counts once. */
function marksOf(emails: readonly (EmailMarks & { readonly message_ids: readonly string[] })[]): Map<string, Change> {
  const changes = new Map<string, Change>();
  for (const { message_ids, labels = [], folder, unread, flagged } of emails) {
    const marks = [
      ...labels.map((label) => `label "${label.trim()}"`),
      ...(folder === undefined ? [] : [`folder "${folder.trim()}"`]),
      ...(unread === true ? ["unread"] : []),
      ...(flagged === true ? ["flagged"] : []),
    ];
    for (const messageId of message_ids) {
      for (const change of marks) changes.set(`${messageId} ${change.toLowerCase()}`, { change, messageId });
    }
  }
  return changes;
}

function compareKeys(wanted: ReadonlyMap<string, Change>, made: ReadonlyMap<string, Change>): MatchedChange[] {
  const asked = [...wanted].map(([key, change]): MatchedChange => {
    return { state: made.has(key) ? "done" : "missing", ...change };
  });
  const others = [...made].filter(([key]) => !wanted.has(key));
  return [...asked, ...others.map(([, change]): MatchedChange => ({ state: "collateral", ...change }))];
}

/** Pairs each wanted email with one that was written. An email counts for one of them. */
function compareEmails(
  kind: "draft" | "sent",
  wanted: readonly WantedEmail[],
  written: readonly OutgoingEmail[],
): MatchedChange[] {
  const left = [...written];
  const asked = wanted.map((one): MatchedChange => {
    const i = left.findIndex((email) => isWanted(one, email));
    if (i !== -1) left.splice(i, 1);
    return { state: i === -1 ? "missing" : "done", ...emailChange(kind, one.recipients, one) };
  });
  const others = left.map((email): MatchedChange => {
    return { state: "collateral", ...emailChange(kind, recipientsOf(email), email) };
  });
  return [...asked, ...others];
}

function isWanted(wanted: WantedEmail, email: OutgoingEmail): boolean {
  const recipients = new Set(recipientsOf(email));
  return (
    (wanted.message_id === undefined || wanted.message_id === email.message_id) &&
    recipients.size === new Set(wanted.recipients).size &&
    wanted.recipients.every((address) => recipients.has(address)) &&
    wanted.reply_to === email.reply_to &&
    wanted.forwards === email.forwards &&
    wanted.facts.every((fact) => statesFact(`${email.subject}\n${email.body}`, fact))
  );
}

function recipientsOf({ to, cc, bcc }: OutgoingEmail): string[] {
  return [...to, ...cc, ...bcc];
}

function emailChange(
  kind: "draft" | "sent",
  recipients: readonly string[],
  { reply_to, forwards }: Pick<WantedEmail, "reply_to" | "forwards">,
): Change {
  const what = reply_to !== null ? "reply " : forwards !== null ? "forward " : "";
  const change = kind === "draft" ? `${what}draft to` : `${what}sent to`;
  return { change: `${change} ${[...recipients].sort().join(", ")}`, messageId: reply_to ?? forwards };
}
