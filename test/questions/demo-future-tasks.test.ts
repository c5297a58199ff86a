import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type MailboxEmail, readMailboxHistory } from "../../src/mail/mailbox-history.js";
import { NEVER } from "../../src/platform/deadline.js";
import { selectionChecker } from "../../src/questions/check-questions/check-selection.js";
import { loadQuestionFile } from "../../src/questions/dataset/dataset-files.js";
import { tasksOf } from "../../src/questions/make-selections.js";
import type { SelectionTask } from "../../src/tasks/question.js";
import type { MadeKind } from "../../src/tasks/selection.js";
import { importFolder, importFrom } from "../mail/import-setup.js";

const DEMO = join(import.meta.dirname, "../../fixtures/future/demo");
const TOM = "tom.lindqvist@kestrelplains.example";
const NINA = "nina.castellano@kestrelplains.example";

describe("the demo tasks about the future of a mailbox", () => {
  const { emptyDb } = importFolder();
  const mail = new Map<string, readonly MailboxEmail[]>();
  const tasks: SelectionTask[] = [];

  beforeAll(async () => {
    const db = emptyDb();
    await importFrom(db, join(DEMO, "mail"));
    for (const owner of [TOM, NINA]) mail.set(owner, readMailboxHistory(db, owner));
    for (const kind of ["needs-reply", "waiting-for"]) {
      const { questions } = await loadQuestionFile(join(DEMO, `${kind}.jsonl`), undefined, NEVER);
      tasks.push(...(questions as SelectionTask[]));
    }
  });

  const mailOf = (owner: string) => mail.get(owner) ?? [];

  /** The subject of each right email with the day of the email that proves it. */
  function gold(kind: MadeKind, owner: string): Record<string, string> {
    const byId = new Map(mailOf(owner).map((email) => [email.messageId, email]));
    const right = tasks.filter(({ select, inbox_address }) => select.kind === kind && inbox_address === owner);
    const pairs = right.flatMap(({ select }) =>
      select.emails.map(({ message_ids, evidence }) => {
        const [email, later] = [byId.get(message_ids[0] ?? ""), byId.get(evidence[0] ?? "")];
        return [email?.subject, later?.date.slice(0, 10)];
      }),
    );
    return Object.fromEntries(pairs);
  }

  it("count 30 and 10, of which at most a tenth have no right email", () => {
    const counts = (kind: MadeKind) => {
      const of = tasks.filter(({ select }) => select.kind === kind);
      return [of.length, of.filter(({ select }) => select.emails.length === 0).length];
    };
    expect([counts("needs-reply"), counts("waiting-for")]).toEqual([
      [30, 3],
      [10, 1],
    ]);
  });

  it("belong to those that the rules make from the mail, and pass the check", () => {
    for (const owner of [TOM, NINA]) {
      const emails = mailOf(owner);
      const check = selectionChecker(emails);
      const made = (["needs-reply", "waiting-for"] as const).flatMap((kind) => tasksOf(kind, owner, emails, {}).tasks);
      for (const { id: _, ...task } of tasks.filter(({ inbox_address }) => inbox_address === owner)) {
        expect(made).toContainEqual(expect.objectContaining({ query_date: task.query_date, select: task.select }));
        expect(check({ id: 1, ...task }).reason).toBe("consistent");
      }
    }
  });

  it("have the answered emails as their gold", () => {
    expect(gold("needs-reply", TOM)).toMatchObject({
      "Safety hours": "2001-10-09",
      "Unit 3 in the budget": "2001-10-12",
      "Meter 10-4471": "2001-10-22",
    });
    expect(gold("needs-reply", NINA)).toMatchObject({
      "Lease clause 14": "2001-10-08",
      "My desk lamp": "2001-10-23",
    });
    expect(gold("waiting-for", NINA)).toMatchObject({ "Insurance certificate": "2001-10-19" });
  });

  it.each([
    [TOM, "FlowTrak alert: meter 10-4471"],
    [TOM, "Report ER-9102 waits for approval"],
    [TOM, "Pipeline Digest, October"],
    [TOM, "Softball final"],
    [TOM, "Thanks"],
    [TOM, "FW: Cold front"],
    [TOM, "Maintenance at Harrow"],
    [TOM, "Dead phone at the Teller gate"],
    [NINA, "FW: Parking"],
    [NINA, "First aid boxes"],
    [NINA, "RE: Moving the safe"],
    [NINA, "Lunch"],
  ])("do not count the trap of %s, %s, as right", (owner, subject) => {
    expect(mailOf(owner).map((email) => email.subject)).toContain(subject);
    const right = { ...gold("needs-reply", owner), ...gold("waiting-for", owner) };
    expect(Object.keys(right)).not.toContain(subject);
  });
});
