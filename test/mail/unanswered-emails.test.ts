import { describe, expect, it } from "vitest";
import type { FiledEmail } from "../../src/mail/email.js";
import { listUnanswered, type ReplyWindow } from "../../src/mail/unanswered-emails.js";
import type { MadeKind } from "../../src/tasks/selection.js";
import { importFolder } from "./import-setup.js";
import { ANN, BEN, CAT, DAN, fill, mail } from "./small-corpus.js";

const { emptyDb } = importFolder();

/** Ben's mail of June 2001: the n-th day, with the id as its subject. */
function onDay(n: number, id: string, changes: Partial<FiledEmail> = {}): FiledEmail {
  const date = `2001-06-${String(n).padStart(2, "0")}T09:00:00Z`;
  return mail(id, { date, subject: id, body: `This is the text of ${id}.`, ...changes });
}

/** Subjects and reasons. */
function listed(mails: readonly FiledEmail[], window: ReplyWindow = {}, kind: MadeKind = "needs-reply") {
  const db = emptyDb();
  fill(db, mails);
  const { emails, window: days } = listUnanswered(db, BEN, kind, window);
  return { days, emails: emails.map(({ email, reasons }) => [email.subject, ...reasons].join(": ")) };
}

describe("listUnanswered", () => {
  it("gives the reasons for each email, newest first", () => {
    const mails = [
      onDay(4, "plan", { body: "When can we talk?" }),
      onDay(5, "draft", { to: [ANN, BEN, CAT], body: "Please read it." }),
      onDay(6, "minutes", { to: [CAT], cc: [BEN, DAN] }),
      onDay(7, "secret", { to: [], bcc: [BEN] }),
    ];
    expect(listed(mails)).toEqual({
      days: { from: "2001-06-01", until: "2001-06-07" },
      emails: [
        "secret: copied (Bcc) to you alone",
        "minutes: copied (Cc) to you and 2 others",
        "draft: addressed to you and 2 others: contains a request",
        "plan: addressed to you alone: asks a question",
      ],
    });
  });

  it("leaves out own, answered and automatic emails", () => {
    const mails = [
      onDay(4, "plan"),
      onDay(5, "Re: plan", { sender: BEN, to: [ANN] }),
      onDay(6, "news", { sender: "newsletter@x.example" }),
    ];
    expect(listed(mails).emails).toEqual([]);
    expect(listed(mails, { before: "2001-06-05" }).emails).toEqual(["plan: addressed to you alone"]);
  });

  it("lists the owner's unanswered emails that ask for something, with their recipients", () => {
    const own = { sender: BEN, to: [ANN] };
    const mails = [
      onDay(2, "plan", { ...own, body: "When can we talk?" }),
      onDay(3, "Re: plan", { sender: ANN, to: [BEN] }),
      onDay(4, "draft", { ...own, to: [CAT, BEN], cc: [DAN], body: "Please read it." }),
      onDay(5, "notes", { ...own, body: "Nothing to do." }),
      onDay(14, "price", { ...own, body: "What does it cost?" }),
      onDay(15, "last"),
    ];
    expect(listed(mails, {}, "waiting-for")).toEqual({
      days: { from: "2001-06-02", until: "2001-06-15" },
      emails: [`price: sent to ${ANN} alone: asks a question`, `draft: sent to ${CAT} and 1 other: contains a request`],
    });
    expect(listed(mails, { before: "2001-06-03" }, "waiting-for").emails).toEqual([
      `plan: sent to ${ANN} alone: asks a question`,
    ]);
  });

  it("lists the week up to the newest email, or emails since a date", () => {
    const mails = [onDay(2, "early"), onDay(3, "in time"), onDay(9, "late")];
    const subjects = (window: ReplyWindow) => listed(mails, window).emails.map((each) => each.split(":")[0]);
    expect(subjects({})).toEqual(["late", "in time"]);
    expect(subjects({ before: "2001-06-09" })).toEqual(["in time", "early"]);
    expect(subjects({ after: "2001-06-02" })).toEqual(["late", "in time", "early"]);
    expect(subjects({ after: "2001-07-01" })).toEqual([]);
  });

  it("ignores emails with a date in the future", () => {
    const mails = [onDay(4, "plan"), onDay(5, "wrong clock", { date: "2144-01-01T00:00:00Z" })];
    expect(listed(mails).emails).toEqual(["plan: addressed to you alone"]);
  });

  it("has no window if no email is visible", () => {
    expect(listed([onDay(4, "plan")], { before: "2001-06-01" })).toEqual({ days: null, emails: [] });
  });
});
