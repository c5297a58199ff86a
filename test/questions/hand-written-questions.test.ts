import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Email } from "../../src/mail/email.js";
import { checkGold } from "../../src/questions/checks.js";
import { loadQuestionFile } from "../../src/questions/files.js";
import { type QuestionMailbox, questionMailboxes } from "../../src/questions/usable-mail.js";
import type { Db } from "../../src/store/open-store.js";
import { questionSchema } from "../../src/tasks/question.js";
import { ENRON, needs } from "../machine-requirements.js";
import { importFolder, importFrom } from "../mail/import-setup.js";

const FOLDER = join(import.meta.dirname, "../../fixtures/search");

const labelledSchema = questionSchema.extend({
  equivalent_ids: z.array(z.string()),
  question_kind: z.string(),
  mail_kind: z.string(),
  wording: z.string(),
  hard: z.boolean(),
});

type LabelledQuestion = z.output<typeof labelledSchema>;

const fileOf = (part: "tune" | "test") => join(FOLDER, `hand-written-${part}.jsonl`);

const questionsOf = (part: "tune" | "test"): LabelledQuestion[] =>
  readFileSync(fileOf(part), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => labelledSchema.strict().parse(JSON.parse(line)));

const tune = questionsOf("tune");
const test = questionsOf("test");
const all = [...tune, ...test];

/** Longer passages than this are quoted, not told in other words. */
const PASSAGE_WORDS = 8;

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\d]+/gu) ?? [];

/** Every run of one word more than a passage may have. */
function quotes(text: string): Set<string> {
  const words = wordsOf(text);
  const length = PASSAGE_WORDS + 1;
  return new Set(words.slice(length - 1).map((_, i) => words.slice(i, i + length).join(" ")));
}

describe("the hand-written questions", () => {
  it.each([
    ["tune", "train", tune],
    ["test", "test", test],
  ] as const)("of the part %s load as a dataset of the split %s", async (part, split, questions) => {
    const set = await loadQuestionFile(fileOf(part), "test", new AbortController().signal);
    expect(set.split).toBe(split);
    expect(set.questions.map(({ id }) => id)).toEqual(questions.map(({ id }) => id));
    expect(set.questions).toHaveLength(50);
  });

  it("have ids, questions and gold mails of their own", () => {
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(new Set(all.map(({ question }) => question)).size).toBe(all.length);
    const cited = all.flatMap(({ message_ids, equivalent_ids }) => [...message_ids, ...equivalent_ids]);
    expect(new Set(cited).size).toBe(cited.length);
    for (const { id, message_ids } of all) expect(message_ids.length, String(id)).toBeGreaterThan(0);
  });

  it("are cut by mailbox, five in each part", () => {
    const mailboxesOf = (questions: LabelledQuestion[]) => new Set(questions.map((one) => one.inbox_address));
    const [tuned, tested] = [mailboxesOf(tune), mailboxesOf(test)];
    expect([tuned.size, tested.size]).toEqual([5, 5]);
    expect([...tuned].filter((mailbox) => tested.has(mailbox))).toEqual([]);
  });

  it("are hard ones to a quarter at most", () => {
    for (const questions of [tune, test]) {
      expect(questions.filter(({ hard }) => hard).length).toBeLessThanOrEqual(questions.length / 4);
    }
  });

  it("are spread as the README says", () => {
    const readme = readFileSync(join(FOLDER, "README.md"), "utf8");
    const rows = [...readme.matchAll(/^\| `(\w+)`: ([\w ]+) \| (\d+) \| (\d+) \|/gm)];
    const table = rows.map(([, field, value, tuned, tested]) => [`${field}: ${value}`, Number(tuned), Number(tested)]);
    const labels = (one: LabelledQuestion) =>
      (["question_kind", "mail_kind", "wording", "hard"] as const).map((field) => `${field}: ${one[field]}`);
    const countIn = (questions: LabelledQuestion[], label: string) =>
      questions.filter((one) => labels(one).includes(label)).length;
    const wanted = [...new Set(all.flatMap(labels))].filter((label) => label !== "hard: false");
    expect(table.map(([label]) => label).sort()).toEqual(wanted.sort());
    for (const [label, ...counts] of table) {
      expect(counts, String(label)).toEqual([countIn(tune, String(label)), countIn(test, String(label))]);
    }
  });
});

/** Why the rules of `questions check` doubt these, though they are right. */
const DOUBTED: ReadonlyMap<number, string> = new Map([
  [920002, "no word of the question stands in a cited mail"],
  [920026, "the number 370000000 of the answer stands in no cited mail"], // "from $125M (...) to $370 (...)"
  [920046, "the number 5097545045 of the answer stands in no cited mail"], // a space is missing in the mail
]);

describe("the hand-written questions, beside the real mail", needs("real-mail"), () => {
  const { emptyDb } = importFolder();
  let db: Db;
  let mailboxOf: (address: string) => QuestionMailbox;

  const goldOf = ({ inbox_address, message_ids }: LabelledQuestion) =>
    message_ids.map((messageId) => {
      const found = mailboxOf(inbox_address).get(messageId);
      return { messageId, mail: found?.mail ?? null, isInInbox: found?.isInInbox ?? false };
    });

  const goldMails = (question: LabelledQuestion): Email[] => goldOf(question).flatMap(({ mail }) => mail ?? []);

  beforeAll(async () => {
    db = emptyDb();
    for (const archive of ["maildir.tar.gz", "folders.tar.gz"]) await importFrom(db, join(ENRON, archive));
    mailboxOf = questionMailboxes(db);
  }, 60_000);

  it("cite mails of their mailbox, none later than the question, that hold the answer's numbers and dates", () => {
    const doubts = all.flatMap((question) => {
      const { passed, reason } = checkGold(question, goldOf(question));
      return passed ? [] : [[question.id, reason] as const];
    });
    expect(new Map(doubts)).toEqual(DOUBTED);
    for (const question of all) {
      const dates = goldMails(question).map(({ date }) => date?.slice(0, 10) ?? "none");
      expect(dates, String(question.id)).toHaveLength(question.message_ids.length);
      for (const date of dates) expect(date <= question.query_date, `${question.id}: ${date}`).toBe(true);
    }
  });

  it("name every copy of their gold mails", () => {
    const copies = db
      .prepare("SELECT copy.message_id FROM messages JOIN messages copy USING (mail_id) WHERE messages.message_id = ?")
      .pluck();
    for (const question of all) {
      const ids = question.message_ids.flatMap((id) => copies.all(id) as string[]);
      expect([...question.message_ids, ...question.equivalent_ids].sort(), String(question.id)).toEqual(ids.sort());
    }
  });

  it("are in words of their own, question and answer", () => {
    for (const question of all) {
      const written = goldMails(question).map(({ subject, body }) => quotes(`${subject}\n${body}`));
      const repeated = [question.question, question.answer].flatMap((text) =>
        [...quotes(text)].filter((quote) => written.some((mail) => mail.has(quote))),
      );
      expect(repeated, String(question.id)).toEqual([]);
    }
  });
});
