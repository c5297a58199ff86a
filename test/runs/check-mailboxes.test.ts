import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkMailboxes } from "../../src/mail/corpus.js";
import { UserError } from "../../src/platform/errors.js";
import type { Question } from "../../src/tasks/question.js";
import { MARCUS, openDemo, openEmpty, RUTH, type TestDb } from "./demo-setup.js";

let demo: TestDb;
beforeAll(async () => {
  demo = await openDemo();
});
afterAll(() => demo.close());

const about = (inbox_address: string, id = 1): Question => ({
  id,
  question: "?",
  answer: "a",
  message_ids: [],
  how_realistic: 1,
  inbox_address,
  query_date: "2001-05-14",
});

function refusal(action: () => void): UserError {
  try {
    action();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error("not refused");
}

describe("checkMailboxes refuses", () => {
  test.each([false, true])("a file without mail, partial inboxes allowed: %s", (partial) => {
    const { db, close } = openEmpty();
    const error = refusal(() => checkMailboxes(db, [about(MARCUS)], partial));
    expect(error).toMatchObject({ code: "corpus_empty", message: `There is no mail in ${db.name}.`, exitCode: 2 });
    expect(error.hint).toContain("art-e import");
    close();
  });

  test("questions to a mailbox that is not imported, and says which are", () => {
    const questions = [about(MARCUS), about("kay.mann@enron.example"), about("kay.mann@enron.example")];
    const error = refusal(() => checkMailboxes(demo.db, questions, false));
    expect(error).toMatchObject({
      code: "inbox_missing",
      message: "2 of 3 questions ask mailboxes that are not imported: kay.mann@enron.example.",
    });
    expect(error.hint).toContain(MARCUS);
    expect(error.hint).toContain("--owner-map");
    expect(error.hint).toContain("--partial-inboxes");
  });

  test("and names no flag that the command does not have", () => {
    const error = refusal(() => checkMailboxes(demo.db, [about("kay.mann@enron.example")]));
    expect(error.hint).toContain("--owner-map at import. Imported:");
  });

  test("somebody whose mail is there only because others had it", () => {
    expect(refusal(() => checkMailboxes(demo.db, [about("amontero@merriwellgas.example")], false)).code).toBe(
      "inbox_missing",
    );
  });

  test("many missing mailboxes without naming them all", () => {
    const questions = Array.from({ length: 8 }, (_, i) => about(`p${i}@x.example`));
    expect(refusal(() => checkMailboxes(demo.db, questions, false)).message).toBe(
      "8 of 8 questions ask mailboxes that are not imported: p0@x.example, p1@x.example, p2@x.example, p3@x.example, p4@x.example, and 3 more.",
    );
  });
});

describe("checkMailboxes lets pass", () => {
  test("questions to imported mailboxes, and no questions", () => {
    checkMailboxes(demo.db, [about(MARCUS), about(RUTH)], false);
    checkMailboxes(demo.db, [], false);
  });

  test("what mail of a mailbox there is, where the user allows it", () => {
    checkMailboxes(demo.db, [about("amontero@merriwellgas.example"), about("nobody@x.example")], true);
  });
});
