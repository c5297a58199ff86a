// A logistic model that predicts from ten features whether the owner will answer an open email. It is the simplest
// learned comparison for tasks about the future of a mailbox.
import { endOfDay } from "../src/mail/date-range.js";
import { ownText, recipientsOf } from "../src/mail/email.js";
import { type MailboxEmail, readMailboxHistory } from "../src/mail/mailbox-history.js";
import { asksSomething, OpenEmails, type TaskDay } from "../src/mail/open-emails.js";
import type { Db } from "../src/store/open-store.js";

export const FEATURES = [
  "addressed to the owner alone",
  "owner in To",
  "number of recipients (log)",
  "question mark",
  "question mark or words of a request",
  "length of the sender's own text (log)",
  "age in days",
  "sender in the owner's domain",
  "own emails to the sender so far (log)",
  "own email earlier in the thread",
] as const;

/** An open email of a task: its features on the day of the task, and whether the owner answers it. */
export interface OpenExample {
  readonly id: string;
  readonly features: readonly number[];
  readonly isRight: boolean;
}

/** Returns the open emails of each task day of a mailbox. Features only use emails before the end of the day. */
export function openExamples(db: Db, owner: string): (day: TaskDay) => readonly OpenExample[] {
  const emails = readMailboxHistory(db, owner);
  const openEmails = new OpenEmails(owner, emails);
  return (day) => {
    const end = endOfDay(day.day);
    const visible = emails.filter(({ date }) => date < end);
    return openEmails.open("needs-reply", day).map(({ email, answer }) => ({
      id: email.ids[0] ?? email.messageId,
      features: featuresOf(email, owner, visible, end),
      isRight: answer !== null,
    }));
  };
}

function featuresOf(
  email: MailboxEmail,
  owner: string,
  visible: readonly MailboxEmail[],
  end: string,
): readonly number[] {
  const { sender, to, body, date, threadId } = email;
  const recipients = new Set(recipientsOf(email));
  const own = visible.filter((each) => each.sender === owner);
  const text = ownText(body);
  const domainOf = (address: string) => address.slice(address.indexOf("@"));
  return [
    Number(recipients.size === 1),
    Number(to.includes(owner)),
    Math.log(recipients.size),
    Number(text.replace(/https?:\S+/g, "").includes("?")),
    Number(asksSomething(email)),
    Math.log(1 + text.length),
    (Date.parse(end) - Date.parse(date)) / 86_400_000,
    Number(domainOf(sender) === domainOf(owner)),
    Math.log(1 + own.filter((each) => recipientsOf(each).includes(sender)).length),
    Number(own.some((each) => each.threadId === threadId && each.date < date)),
  ];
}

const STEPS = 2_000;
const RATE = 0.5;
/** Weight of the squared coefficients in the loss, so that few right emails do not give infinite coefficients. */
const PENALTY = 0.01;

export interface LogisticModel {
  /** One per feature, for features with mean 0 and standard deviation 1. */
  readonly coefficients: readonly number[];
  probability(features: readonly number[]): number;
}

/** Fits the model by gradient descent on the logistic loss. */
export function fitLogistic(examples: readonly Pick<OpenExample, "features" | "isRight">[]): LogisticModel {
  const n = examples.length;
  const columns = FEATURES.map((_, j) => examples.map(({ features }) => features[j] ?? 0));
  const means = columns.map((values) => values.reduce((sum, value) => sum + value, 0) / n);
  const deviations = columns.map((values, j) => {
    const squares = values.reduce((sum, value) => sum + (value - (means[j] ?? 0)) ** 2, 0);
    return Math.sqrt(squares / n) || 1;
  });
  const scaled = (features: readonly number[]) =>
    features.map((value, j) => (value - (means[j] ?? 0)) / (deviations[j] ?? 1));
  const rows = examples.map(({ features, isRight }) => ({ x: scaled(features), y: Number(isRight) }));
  const coefficients = FEATURES.map(() => 0);
  let intercept = 0;
  const predict = (x: readonly number[]) =>
    1 / (1 + Math.exp(-x.reduce((sum, value, j) => sum + value * (coefficients[j] ?? 0), intercept)));
  for (let step = 0; step < STEPS; step++) {
    const errors = rows.map(({ x, y }) => predict(x) - y);
    const slopes = FEATURES.map((_, j) => rows.reduce((sum, { x }, i) => sum + (errors[i] ?? 0) * (x[j] ?? 0), 0) / n);
    for (const [j, slope] of slopes.entries()) {
      coefficients[j] = (coefficients[j] ?? 0) - RATE * (slope + PENALTY * (coefficients[j] ?? 0));
    }
    intercept -= (RATE * errors.reduce((sum, error) => sum + error, 0)) / n;
  }
  return { coefficients, probability: (features) => predict(scaled(features)) };
}

/** Returns the probability from which selecting emails has the highest F1 over all examples. */
export function bestThreshold(model: LogisticModel, examples: readonly OpenExample[]): number {
  const ranked = examples
    .map(({ features, isRight }) => ({ p: model.probability(features), isRight }))
    .sort((a, b) => b.p - a.p);
  const right = ranked.filter(({ isRight }) => isRight).length;
  let [best, threshold, hits] = [0, 1, 0];
  for (const [i, { p, isRight }] of ranked.entries()) {
    if (isRight) hits++;
    const f1 = (2 * hits) / (i + 1 + right);
    if (f1 <= best || ranked[i + 1]?.p === p) continue;
    [best, threshold] = [f1, p];
  }
  return threshold;
}
