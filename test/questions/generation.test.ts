import { describe, expect, it } from "vitest";
import {
  BATCH_MAILS,
  mailBatches,
  personName,
  queryDate,
  queryDateBefore,
  readWrittenQuestions,
  resolveCitations,
} from "../../src/questions/draft-by-model.js";
import { longestSharedPhrase, NearDuplicates, usableMails } from "../../src/questions/usable-mail.js";
import { INBOX, long, mail } from "./lease-mails.js";

describe("usableMails", () => {
  it.each([
    ["no date", { date: null, body: long("a") }],
    ["too short", { body: "Thanks!" }],
    ["too long", { body: "x".repeat(5_001) }],
    ["newsletter or notice", { sender: "no-reply@shop.example", body: long("b") }],
    ["newsletter or notice", { sender: "no.address@corp.example", body: long("b") }],
    ["newsletter or notice", { sender: "enron.announcements@corp.example", body: long("b") }],
    ["newsletter or notice", { to: ["dl-ga-all_staff@corp.example"], body: long("b") }],
    ["newsletter or notice", { body: long("Click\nhere to be taken off.") }],
    ["newsletter or notice", { body: long("This is generated - DO NOT REPLY!") }],
    ["newsletter or notice", { to: Array.from({ length: 30 }, (_, i) => `p${i}@x`), body: long("c") }],
  ])("leaves out for %s", (reason, changes) => {
    expect(usableMails([mail(changes)])).toEqual({ usable: [], leftOut: { [reason]: 1 } });
  });

  it("takes short mails of scripts that write much in few characters, and any length that is asked for", () => {
    const chinese =
      "会议改到星期四下午三点，地点仍在二楼会议室。请带上第三季度的预算表，并在周三之前把修改意见发给我，谢谢大家。";
    expect(usableMails([mail({ body: chinese })]).usable).toHaveLength(1);
    expect(usableMails([mail({ body: "谢谢大家！" })]).usable).toHaveLength(0);
    expect(usableMails([mail({ body: "See you at 3 pm." })], 10).usable).toHaveLength(1);
  });

  it("takes one of two copies, quotations aside", () => {
    const body = long("The same words.");
    const copy = mail({ body: `${body}\n-----Original Message-----\nFrom: c@x\nold` });
    const { usable, leftOut } = usableMails([mail({ body }), copy, mail({ body: long("Other words.") })]);
    expect(usable).toHaveLength(2);
    expect(leftOut).toEqual({ copy: 1 });
  });
});

it.each([
  ["virginia.thompson@enron.com", "Virginia Thompson"],
  ["mary_ann.o-hara@x.y", "Mary Ann O-hara"],
  ["admin@x.y", null],
  ["j.b@x.y", null],
  ["team.42@x.y", null],
  ["", null],
])("the name in %j is %j", (address, name) => expect(personName(address)).toBe(name));

it("asks 1 to 30 days after the newest source, or before the oldest", () => {
  expect(queryDate("2001-12-31T23:00:00Z", [], () => 0)).toBe("2002-01-01");
  expect(queryDate("2001-12-01T00:00:00Z", [], (limit) => limit - 1)).toBe("2001-12-31");
  expect(queryDateBefore("2001-03-01T00:00:00Z", () => 0)).toBe("2001-02-28");
});

it("asks on no day on which a mail came that answers too", () => {
  const sources = ["2001-12-01T09:00:00Z", "2001-12-02T23:59:59Z", "2001-12-03T00:00:00Z", "2001-12-05T00:00:00Z"];
  expect(queryDate("2001-12-01T09:00:00Z", sources, () => 0)).toBe("2001-12-04");
});

it("knows a question that asks the same in other words' order, in its own mailbox only", () => {
  const asked = new NearDuplicates();
  const question = "When does the harbor lease start?";
  expect(asked.add({ inbox: INBOX, question })).toBe(true);
  expect(asked.add({ inbox: INBOX, question: "The harbor lease: when does it start?" })).toBe(false);
  expect(asked.add({ inbox: INBOX, question: "When does the crane contract start?" })).toBe(true);
  expect(asked.add({ inbox: "other@x", question })).toBe(true);
});

it.each([
  ["Who signed the new harbor lease contract?", "He signed the new harbor lease contract today.", 5],
  ["Who owns the harbor?", "The lease of the harbor", 1],
  ["", "anything", 0],
])("%j shares a phrase of so many words with %j: %i", (question, text, words) =>
  expect(longestSharedPhrase(question, text)).toBe(words),
);

describe("mailBatches", () => {
  it("keeps threads together and orders mail by time", () => {
    const mails = Array.from({ length: 50 }, (_, i) =>
      mail({
        subject: i % 10 === 0 ? "RE: Thread" : `Subject ${i}`,
        date: `2001-01-01T00:${String(i).padStart(2, "0")}:00Z`,
      }),
    );
    const batches = mailBatches(mails);
    expect(batches.flat()).toHaveLength(50);
    expect(batches.every((batch) => batch.length <= BATCH_MAILS)).toBe(true);
    expect(batches.filter((batch) => batch.some(({ subject }) => subject === "RE: Thread"))).toHaveLength(1);
    for (const batch of batches) {
      const dates = batch.map(({ date }) => date ?? "");
      expect(dates).toEqual([...dates].sort());
    }
  });

  it("gives each batch once, the first and the middle first", () => {
    const mails = Array.from({ length: 160 }, (_, i) =>
      mail({ subject: `s${i}`, date: new Date(Date.UTC(2001, 0, 1 + i)).toISOString() }),
    );
    const starts = mailBatches(mails).map(([first]) => Number(first?.subject.slice(1)) / BATCH_MAILS);
    expect(starts).toEqual([0, 4, 2, 6, 1, 5, 3, 7]);
  });

  it("makes none of no mail", () => expect(mailBatches([])).toEqual([]));
});

describe("what a model wrote", () => {
  const shown = [mail(), mail({ body: "Moved to June 4 at 3 pm." })];
  const [first] = shown;
  const written = {
    question: "What is the rent?",
    answer: "$12,500",
    kind: "how_much" as const,
    message_ids: [first?.messageId.slice(1, -1) ?? ""],
    passages: [{ message_id: first?.messageId ?? "", text: "stays  at\n$12,500" }],
    how_realistic: 0.9,
    detail_absent: false,
  };

  it("is located, with or without angle brackets and white space", () => {
    expect(resolveCitations(written, INBOX, shown)).toMatchObject({
      draft: { sources: [{ messageId: first?.messageId }], askableFrom: first?.date, unanswerable: null },
    });
  });

  it("needs no source where the detail is absent", () => {
    const absent = { ...written, detail_absent: true, message_ids: [], passages: [], answer: "whatever" };
    expect(resolveCitations(absent, INBOX, shown)).toMatchObject({
      draft: { answer: "I don't know", sources: [], unanswerable: "detail_absent" },
    });
  });

  it.each([
    [{ message_ids: ["<other@x>"] }, "it cites a mail that was not shown"],
    [{ message_ids: [] }, "it cites no mail"],
    [{ detail_absent: true }, "it cites a mail for a detail that no mail holds"],
    [
      { passages: [{ message_id: shown[1]?.messageId ?? "", text: "Moved to June 4" }] },
      "it quotes what the mail does not say",
    ],
    [{ passages: [] }, "it quotes what the mail does not say"],
    [
      { passages: [{ message_id: first?.messageId ?? "", text: "stays at $13,000" }] },
      "it quotes what the mail does not say",
    ],
  ])("is refused with %j", (changes, refused) => {
    expect(resolveCitations({ ...written, ...changes }, INBOX, shown)).toEqual({ refused });
  });

  const reply = (args: unknown, invalid?: string) => ({
    toolCalls: [{ id: "1", name: "record_questions", arguments: args as never, ...(invalid && { invalid }) }],
  });

  it("is read one by one: a malformed question does not spoil the others", () => {
    expect(readWrittenQuestions(reply({ questions: [written, { question: "?" }, null] }))).toEqual({
      questions: [written],
      malformed: 2,
    });
  });

  it.each([[{ toolCalls: [] }], [reply({})], [reply({ questions: "none" })], [reply({}, "{broken")]])(
    "is nothing in %j",
    (nothing) => expect(readWrittenQuestions(nothing)).toBeNull(),
  );
});
