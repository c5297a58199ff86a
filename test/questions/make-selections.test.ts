import { describe, expect, it } from "vitest";
import type { FiledEmail } from "../../src/mail/email.js";
import { readMailboxHistory } from "../../src/mail/mailbox-history.js";
import { asksSomething } from "../../src/mail/open-emails.js";
import { selectionChecker } from "../../src/questions/check-questions/check-selection.js";
import { tasksOf } from "../../src/questions/make-selections.js";
import { questionSchema } from "../../src/tasks/question.js";
import type { MadeKind } from "../../src/tasks/selection.js";

import { importFolder } from "../mail/import-setup.js";
import { ANN, BEN, CAT, fill, mail } from "../mail/small-corpus.js";

const { emptyDb } = importFolder();
const NONE = { windowDays: 7, replyDays: 7 };

/** An email of the n-th day of June 2001. */
function onDay(n: number, id: string, changes: Partial<FiledEmail> = {}): FiledEmail {
  const date = new Date(Date.UTC(2001, 5, n, 9)).toISOString().replace(".000", "");
  return mail(id, {
    date,
    subject: id,
    body: `${id} is the first word of this text, so that no two are alike.`,
    ...changes,
  });
}

const fromBen = (n: number, id: string, changes: Partial<FiledEmail> = {}) =>
  onDay(n, id, { sender: BEN, to: [ANN], ...changes });

/** Emails of other subjects on these days, so that Ben's sent mail covers them. */
const alive = (...days: readonly number[]) => days.map((n) => fromBen(n, `other ${n}`, { to: [CAT] }));

const shortId = (id: string) => id.replace(/^<|@.*$/g, "");

/** The right emails in Ben's mailbox and their evidence, per day of June on which a task can be made. */
function tasks(kind: MadeKind, mails: readonly FiledEmail[]) {
  const db = emptyDb();
  fill(db, mails);
  return tasksOf(kind, BEN, readMailboxHistory(db, BEN), NONE);
}

function right(kind: MadeKind, mails: readonly FiledEmail[]): Record<string, string> {
  return Object.fromEntries(
    tasks(kind, mails).tasks.map(({ query_date, select }) => [
      query_date.slice(8),
      select.emails
        .map(({ message_ids, evidence }) => `${message_ids.map(shortId)} by ${evidence.map(shortId)}`)
        .join("; "),
    ]),
  );
}

describe("needs-reply tasks", () => {
  const question = onDay(4, "plan", { body: "When can we talk about the plan for the new line?" });
  const answer = fromBen(6, "answer", { subject: "Re: plan" });

  it("ask for the emails that the owner answers after the date", () => {
    expect(right("needs-reply", [question, answer, ...alive(1, 9)])).toEqual({ "04": "plan by answer" });
  });

  it("end with the answer, and without one no email is right", () => {
    const soon = fromBen(4, "soon", { subject: "RE: plan", date: "2001-06-04T14:00:00Z" });
    expect(right("needs-reply", [question, ...alive(1, 9)])).toEqual({ "04": "" });
    expect(right("needs-reply", [question, soon, ...alive(1, 9)])).toEqual({});
  });

  it.each<[string, FiledEmail]>([
    ["a forward", fromBen(6, "forward", { subject: "Fw: plan" })],
    ["an email to somebody else", fromBen(6, "aside", { subject: "Re: plan", to: [CAT] })],
    ["an answer by somebody else", onDay(6, "cat", { subject: "Re: plan", sender: CAT, to: [ANN], cc: [BEN] })],
    ["an email with another subject", fromBen(6, "new", { subject: "lunch" })],
    ["an answer after the period", fromBen(12, "late", { subject: "Re: plan" })],
  ])("do not count %s as an answer", (_, later) => {
    expect(right("needs-reply", [question, later, ...alive(1, 9)])["04"]).toBe("");
  });

  it("count an email to others that quotes the question as an answer", () => {
    const body = "Thursday.\n\nAnn wrote:\n> When can we talk about the\n> plan for the new line?";
    const quoting = fromBen(6, "quoting", { subject: "Re: plan", to: [CAT], body });
    expect(right("needs-reply", [question, quoting, ...alive(1, 9)])["04"]).toBe("plan by quoting");
  });

  it("ask for the sender's newest email in a thread", () => {
    const again = onDay(5, "again", { subject: "Re: plan" });
    expect(right("needs-reply", [question, again, answer, ...alive(1, 9)])).toEqual({
      "04": "plan by answer",
      "05": "again by answer",
    });
  });

  it("leave out newsletters, the owner's own emails and emails of others that the owner only filed", () => {
    const news = onDay(4, "news", { sender: "newsletter@x.example" });
    const filed = onDay(4, "filed", { to: [CAT], owner: "ben", path: "ben/inbox/1." });
    expect(right("needs-reply", [news, filed, fromBen(4, "own", { to: [BEN] }), ...alive(1, 9)])).toEqual({});
  });

  it("need days on which the owner's sent mail covers both periods", () => {
    expect(Object.keys(right("needs-reply", [question, answer]))).toEqual([]);
    expect(Object.keys(right("needs-reply", [question, answer, ...alive(1)]))).toEqual(["04"]);
  });

  it("list the Message-IDs of all copies", () => {
    const copy = { ...question, messageId: "<copy@plains.example>", path: "ben/inbox/2." };
    expect(right("needs-reply", [question, copy, answer, ...alive(1, 9)])).toEqual({ "04": "copy,plan by answer" });
  });

  it("state the days of the window and the period, and pass the check of questions", () => {
    const db = emptyDb();
    fill(db, [question, answer, ...alive(1, 9)]);
    const emails = readMailboxHistory(db, BEN);
    const [task] = tasksOf("needs-reply", BEN, emails, NONE).tasks;
    const made = questionSchema.parse({ id: 1, ...task });
    expect(made.question).toContain("received since 2001-05-29 and have not answered yet will I answer by 2001-06-11?");
    expect(selectionChecker(emails)({ ...made, select: made.select as never }).reason).toBe("consistent");
  });
});

describe("waiting-for tasks", () => {
  /** Received emails, so that Ben's received mail covers these days. */
  const received = (...days: readonly number[]) => days.map((n) => onDay(n, `news ${n}`));
  const around = [...received(3, 9, 10)];
  const asked = fromBen(4, "asked", { body: "Could you send me the numbers for the third quarter, Ann" });

  it("ask for own questions that get an answer from anybody", () => {
    const answer = onDay(6, "answer", { subject: "Re: asked", sender: CAT, to: [BEN] });
    expect(right("waiting-for", [asked, answer, ...around])).toEqual({ "04": "asked by answer" });
  });

  it("leave out own emails that ask for nothing or are only to the owner", () => {
    const answer = onDay(6, "answer", { subject: "Re: asked" });
    expect(right("waiting-for", [{ ...asked, body: "Here are the numbers." }, answer, ...around])).toEqual({});
    expect(right("waiting-for", [{ ...asked, to: [BEN] }, answer, ...around])).toEqual({});
  });

  it("do not take the owner's second email for an answer", () => {
    const second = fromBen(6, "second", { subject: "asked" });
    expect(right("waiting-for", [asked, second, ...around])["04"]).toBe("");
  });

  it("need days on which received mail was kept", () => {
    const answer = onDay(6, "answer", { subject: "Re: asked" });
    expect(Object.keys(right("waiting-for", [asked, answer, ...received(3)]))).toEqual(["04"]);
    expect(right("waiting-for", [asked, answer, ...received(8)])).toEqual({});
    expect(right("waiting-for", [asked, answer, ...received(3), ...alive(8, 9)])).toEqual({});
  });
});

describe("leaks", () => {
  const question = onDay(4, "plan");
  const body = "Yes, let us meet on Thursday at ten in the small room.";
  const answer = fromBen(6, "answer", { subject: "Re: plan", body });
  /** A forwarded chain with a wrong date. */
  const chain = onDay(3, "chain", {
    sender: CAT,
    to: [BEN],
    body: `See below.\n\n> Yes, let us meet on\n> Thursday at ten`,
  });

  it("leave out the day if an agent could read the later email", () => {
    expect(tasks("needs-reply", [question, answer, ...alive(1, 9)]).leaks).toBe(0);
    const { tasks: made, leaks } = tasks("needs-reply", [question, answer, chain, ...alive(1, 9)]);
    expect({ right: made.flatMap(({ select }) => select.emails), leaks: leaks > 0 }).toEqual({
      right: [],
      leaks: true,
    });
  });

  it.each<[string, readonly FiledEmail[], object, string]>([
    ["a later email that is quoted earlier", [chain], {}, "an agent can read the text of <answer@plains.example>"],
    ["an unknown email", [], { message_ids: ["<x@x>"] }, "<x@x> is not in the mailbox"],
    ["an email outside of the window", [], { message_ids: ["<other 9@plains.example>"] }, "is not in the window"],
    ["early evidence", [], { evidence: ["<other 1@plains.example>"] }, "is not later than the task"],
  ])("make the check of questions doubt %s", (_, more, changes, reason) => {
    const db = emptyDb();
    fill(db, [question, answer, ...alive(1, 9), ...more]);
    const email = { message_ids: [question.messageId], evidence: [answer.messageId], ...changes };
    const task = {
      ...{ id: 1, question: "Which?", answer: "", message_ids: [], how_realistic: 1, inbox_address: BEN },
      query_date: "2001-06-04",
      select: { kind: "needs-reply" as const, from: "2001-05-29", reply_days: 7, emails: [email] },
    };
    const { passed, reason: found } = selectionChecker(readMailboxHistory(db, BEN))(task);
    expect({ passed, found }).toEqual({ passed: false, found: expect.stringContaining(reason) });
  });
});

describe("asksSomething", () => {
  it.each([
    ["When is it?", true],
    ["Please call me.", true],
    ["It is on Monday. See http://x.example/?a=1", false],
    ["It is on Monday.\n\n> When is it?", false],
    ["(Is it on Monday?)", true],
    ["Really?! At ten??", true],
    ["COB N?S\tB\t25\nSNPD(T)???/MPCO\tS\t6", false],
  ])("looks at the sender's own text, as in %j", (body, expected) => {
    expect(asksSomething({ body })).toBe(expected);
  });
});
