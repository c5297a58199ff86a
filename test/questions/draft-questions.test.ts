import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Email } from "../../src/mail/email.js";
import {
  BATCH_MAILS,
  mailBatches,
  personName,
  queryDate,
  queryDateBefore,
  readWrittenQuestions,
  resolveCitations,
} from "../../src/questions/make-questions/draft-by-model.js";
import { draftPatternQuestions } from "../../src/questions/make-questions/draft-by-patterns.js";
import { checkerAgreement, replaceJsonTexts } from "../../src/questions/make-questions/evidence.js";
import { longestSharedPhrase, NearDuplicates, usableMails } from "../../src/questions/make-questions/usable-mail.js";
import type { QuestionCheck } from "../../src/questions/provenance.js";
import { INBOX, long, mail } from "./lease-mails.js";

describe("draftPatternQuestions", () => {
  const draftsOf = (...mails: Email[]) => draftPatternQuestions(INBOX, mails, mails);
  const asked = (kind: string, ...mails: Email[]) => draftsOf(...mails).drafts.filter((one) => one.kind === kind);

  it("asks for a value by sender, topic and month, and omits the month if the date is earlier", () => {
    const source = mail();
    expect(asked("how_much", source, mail({ subject: "Lunch", body: long("Nothing of the kind.") }))).toMatchObject([
      {
        question: "What amount of money did Bo Kim mention in a message about Harbor lease in May 2001?",
        askedTooEarly: "What amount of money did Bo Kim mention in a message about Harbor lease?",
        answer: "$12,500",
        sources: [{ messageId: source.messageId }],
      },
    ]);
  });

  it.each([
    "The new cranes will cost us $106-156 in the end.",
    "The new cranes cost us ($86.00) in the end.",
    "We signed the contract on June 7 and 9, 2001.",
    "The review meeting about the pier is from 7 to 8 pm.",
    "The new cranes will cost us MX$500 in the end.",
    "The new cranes lost us minus $3.5 million in the end.",
    "The new cranes will cost us $3 1/2 million in the end.",
    "The new cranes will cost us $5 (five) million in the end.",
    "The new cranes will cost us $5 Canadian in the end.",
    "The new cranes will cost us 10 EUR 50 in the end.",
    "We signed the contract on June 7, 8 and 9.",
    "There may 2 people of the harbor come to the pier.",
  ])("does not ask for a part of a longer value in %j", (body) => {
    expect(draftsOf(mail({ body })).drafts.filter(({ kind }) => kind !== "who")).toEqual([]);
  });

  it.each([
    ["The review meeting about the pier is at 10:30 AM.", "What time did Bo Kim give for the meeting in", "10:30 AM"],
    ["Send your comments on the draft contract by June 15.", "Which deadline did Bo Kim give in", "June 15"],
    ["We signed the contract for the cranes on 6/21.", "Which date did Bo Kim mention in", "6/21"],
    ["The new cranes will cost us $21B in the end.", "What amount of money did Bo Kim mention in", "$21B"],
    [
      "Der Kran kostet die Hafenbehörde 1.250,00 EUR im Monat.",
      "What amount of money did Bo Kim mention in",
      "1.250,00 EUR",
    ],
    ...["USD 3.5 trillion", "EUR 3 Mrd", "INR 5 crore", "$3 mln", "$5 hundred"].map((sum) => [
      `The new cranes will cost us ${sum} in the end.`,
      "What amount of money did",
      sum,
    ]),
    ...["CHF 47'500", "21 500 euros", "EUR 21 500", "21\u202f500,50 €", "C$80.50", "HK$80,000", "US$80,000"].map(
      (sum) => [
        `The new cranes will cost us ${sum} in the end.`,
        "What amount of money did",
        sum.replace("\u202f", " "),
      ],
    ),
    ["Please call Ann Ray, her phone is +49 89/123416 in town.", "Which telephone number did", "+49 89/123416"],
    ...["r&d@firma.example", "list-bounce6=ann@firma.example", "ann/dep6@firma.example", "o'brien@firma.example"].map(
      (address) => [`Please send the signed copies to ${address} today.`, "Which e-mail address did", address],
    ),
    ["If you have questions, call Ann at +44 20 7946 0958.", "Which telephone number did Bo Kim", "+44 20 7946 0958"],
    ["To reach Ann Ray, call 713-853-0101 x4521 in town.", "Which telephone number did", "713-853-0101 x4521"],
    ["To reach Ann Ray, call 713-853-0101 ext 45 today.", "Which telephone number did", "713-853-0101 ext 45"],
    ["Please send the signed copies to 403 White Hall Avenue.", "Which street address did", "403 White Hall Avenue"],
  ] as [string, string, string][])("derives from %j the question %j", (body, question, answer) => {
    const [draft] = draftsOf(mail({ body })).drafts.filter(({ kind }) => kind !== "who");
    expect(draft?.question).toContain(question);
    expect(draft?.answer).toBe(answer);
  });

  it.each([
    ["a fraction", "Everybody pays 1/3 of the rent for the harbor pier."],
    ["a range of days", "The port authority meets in the harbor on July 25-26 to talk."],
    ["a small word in an address", "The images of the harbor in 20208 with Dr. Lee are here."],
    ["a passage with markup", '<p class="a">The rent for the harbor pier <b>is</b> $5</p> now and then.'],
    ["a disclaimer", "If you are not the intended recipient call the harbor at 713-555-0100."],
    ["a signature", "The rent for the harbor is due soon.\n\nRegards,\nBo\nTel. office number: 713-555-0100 for calls"],
    [
      "a program's quotation",
      "See the rent for the harbor pier below.\n\nAnn Lee\n03/22/2001 07:10 PM\nTo: Bo\nIt is $5",
    ],
    ["a line that contains only the value", "See below for all of the harbor.\n\n$12,500\n\nAnd so on and on and on."],
  ])("does not ask for a value in %s", (_, body) => {
    expect(draftsOf(mail({ body })).drafts.filter(({ kind }) => kind !== "who")).toEqual([]);
  });

  it("does not ask for a telephone number if the emails have several subjects", () => {
    const body = "If you have questions about the harbor, call me at 713-555-0100.";
    expect(asked("what", mail({ body }))).toHaveLength(1);
    expect(asked("what", mail({ body }), mail({ body, subject: "Cranes" }))).toEqual([]);
  });

  it.each([
    ["A bug in Deal Blotter", "bug in Deal Blotter"],
    ["RE: FW: Talking Points For Rep. Barton On Tauzin RTO Letter", "Tauzin RTO Letter"],
    ["NEW TRANSMISSION IDEA", "new transmission idea"],
    ["Modesto $640,000 adjustment on 3/31/01 - PLEASE READ", "Modesto"],
  ])("finds in the subject %j the topic %j", (subject, topic) => {
    expect(asked("who", mail({ subject }))[0]?.question).toBe(`Who wrote to me about ${topic} in May 2001?`);
  });

  it("finds no topic in a sentence of common words", () =>
    expect(asked("who", mail({ subject: "It has been reset" }))).toEqual([]));

  it("uses the address of an unnamed sender, and does not ask about a topic that two senders have", () => {
    expect(asked("who", mail({ sender: "bk42@example.com" }))[0]?.answer).toBe("bk42@example.com");
    expect(asked("who", mail(), mail({ sender: "bk42@example.com" }))).toEqual([]);
  });

  it("treats emails with the same sender, month and value as gold, and dates early questions before all of them", () => {
    const [first, second] = [mail({ date: "2001-05-02T10:00:00Z" }), mail({ date: "2001-05-09T10:00:00Z" })];
    const again = {
      ...second,
      body: "As I said, the harbor lease stays at $12,500 for now, whatever happens.",
    } as Email;
    expect(
      asked("how_much", first, again).map(({ sources, askedTooEarly }) => [sources.length, askedTooEarly]),
    ).toEqual([
      [2, "What amount of money did Bo Kim mention in a message about Harbor lease?"],
      [2, null],
    ]);
  });

  it("does not ask if another email from the sender in that month contains a different value", () => {
    const source = mail();
    const rival = mail({ body: source.body.replace("$12,500", "$13,000") });
    const { drafts, refused } = draftPatternQuestions(INBOX, [source, rival], [source, rival]);
    expect(drafts.filter(({ kind }) => kind === "how_much")).toEqual([]);
    expect(refused["another email contains a different value"]).toBeGreaterThan(0);
  });

  it("treats an email that quotes the passage as gold", () => {
    const source = mail();
    const reply = mail({
      sender: INBOX,
      body: `Agreed.\n\n-----Original Message-----\nFrom: Bo Kim\nSubject: Harbor lease\n\n${source.body}`,
    });
    const { drafts } = draftPatternQuestions(INBOX, [source], [source, reply]);
    expect(drafts.find(({ kind }) => kind === "how_much")?.sources).toHaveLength(2);
  });

  it.each([
    "",
    "\u0000\ud800",
    "$".repeat(20_000),
    "1/1 ".repeat(5_000),
    `${"a ".repeat(5_000)}@x`,
    "555-555-5555 ".repeat(2_000),
  ])("handles hostile text %#", (body) => {
    const source = mail({ body });
    expect(draftPatternQuestions(INBOX, [source], [source]).drafts.length).toBeLessThan(10);
  });
});

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
  ])("omits an email (%s)", (reason, changes) => {
    expect(usableMails([mail(changes)], 200)).toEqual({ usable: [], leftOut: { [reason]: 1 } });
  });

  it("accepts short emails in dense scripts, and any requested length", () => {
    const chinese =
      "会议改到星期四下午三点，地点仍在二楼会议室。请带上第三季度的预算表，并在周三之前把修改意见发给我，谢谢大家。";
    expect(usableMails([mail({ body: chinese })], 200).usable).toHaveLength(1);
    expect(usableMails([mail({ body: "谢谢大家！" })], 200).usable).toHaveLength(0);
    expect(usableMails([mail({ body: "See you at 3 pm." })], 10).usable).toHaveLength(1);
  });

  it("keeps one of two copies, and ignores quotations", () => {
    const body = long("The same words.");
    const copy = mail({ body: `${body}\n-----Original Message-----\nFrom: c@x\nold` });
    const { usable, leftOut } = usableMails([mail({ body }), copy, mail({ body: long("Other words.") })], 200);
    expect(usable).toHaveLength(2);
    expect(leftOut).toEqual({ copy: 1 });
  });

  it("compares the bodies of emails whose own text is empty or short", () => {
    const forwarded = (text: string, own = "") =>
      mail({ body: `${own}\n-----Original Message-----\nFrom: c@x\n${long(text)}` });
    const mails = [
      forwarded("One."),
      forwarded("Two."),
      forwarded("Two."),
      forwarded("One.", "FYI"),
      forwarded("Two.", "FYI"),
    ];
    expect(usableMails(mails, 40)).toEqual({
      usable: [mails[0], mails[1], mails[3], mails[4]],
      leftOut: { copy: 1 },
    });
  });
});

it.each([
  ["virginia.thompson@enron.com", "Virginia Thompson"],
  ["mary_ann.o-hara@x.y", "Mary Ann O-hara"],
  ["admin@x.y", null],
  ["j.b@x.y", null],
  ["team.42@x.y", null],
  ["", null],
])("personName(%j) returns %j", (address, name) => expect(personName(address)).toBe(name));

it("queryDate and queryDateBefore return a date 1 to 30 days after or before the sources", () => {
  expect(queryDate("2001-12-31T23:00:00Z", [], () => 0)).toBe("2002-01-01");
  expect(queryDate("2001-12-01T00:00:00Z", [], (limit) => limit - 1)).toBe("2001-12-31");
  expect(queryDateBefore("2001-03-01T00:00:00Z", () => 0)).toBe("2001-02-28");
});

it("queryDate skips the dates of other emails that answer the question", () => {
  const sources = ["2001-12-01T09:00:00Z", "2001-12-02T23:59:59Z", "2001-12-03T00:00:00Z", "2001-12-05T00:00:00Z"];
  expect(queryDate("2001-12-01T09:00:00Z", sources, () => 0)).toBe("2001-12-04");
});

it("NearDuplicates recognizes a question if its words are reordered, but only in the same mailbox", () => {
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
])("longestSharedPhrase of %j and %j has %i words", (question, text, words) =>
  expect(longestSharedPhrase(question, text)).toBe(words),
);

describe("mailBatches", () => {
  it("keeps threads together, and orders emails by time", () => {
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

  it("returns each batch once, and starts with the first and the middle one", () => {
    const mails = Array.from({ length: 160 }, (_, i) =>
      mail({ subject: `s${i}`, date: new Date(Date.UTC(2001, 0, 1 + i)).toISOString() }),
    );
    const starts = mailBatches(mails).map(([first]) => Number(first?.subject.slice(1)) / BATCH_MAILS);
    expect(starts).toEqual([0, 4, 2, 6, 1, 5, 3, 7]);
  });

  it("returns no batches if there is no mail", () => expect(mailBatches([])).toEqual([]));
});

describe("resolveCitations and readWrittenQuestions", () => {
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

  it("find cited emails with or without angle brackets and white space", () => {
    expect(resolveCitations(written, INBOX, shown)).toMatchObject({
      draft: { sources: [{ messageId: first?.messageId }], askableFrom: first?.date, unanswerable: null },
    });
  });

  it("do not require a source if the requested detail does not exist", () => {
    const absent = { ...written, detail_absent: true, message_ids: [], passages: [], answer: "whatever" };
    expect(resolveCitations(absent, INBOX, shown)).toMatchObject({
      draft: { answer: "I don't know", sources: [], unanswerable: "detail_absent" },
    });
  });

  it.each([
    [{ message_ids: ["<other@x>"] }, "it cites an email that was not shown"],
    [{ message_ids: [] }, "it cites no email"],
    [{ detail_absent: true }, "it cites an email for a detail that no email contains"],
    [
      { passages: [{ message_id: shown[1]?.messageId ?? "", text: "Moved to June 4" }] },
      "its quotation is not in the email",
    ],
    [{ passages: [] }, "its quotation is not in the email"],
    [
      { passages: [{ message_id: first?.messageId ?? "", text: "stays at $13,000" }] },
      "its quotation is not in the email",
    ],
  ])("reject %j", (changes, refused) => {
    expect(resolveCitations({ ...written, ...changes }, INBOX, shown)).toEqual({ refused });
  });

  const reply = (args: unknown, invalid?: string) => ({
    toolCalls: [{ id: "1", name: "record_questions", arguments: args as never, ...(invalid && { invalid }) }],
  });

  it("keep well-formed questions even if one is malformed", () => {
    expect(readWrittenQuestions(reply({ questions: [written, { question: "?" }, null] }))).toEqual({
      questions: [written],
      malformed: 2,
    });
  });

  it.each([[{ toolCalls: [] }], [reply({})], [reply({ questions: "none" })], [reply({}, "{broken")]])(
    "return null for %j",
    (nothing) => expect(readWrittenQuestions(nothing)).toBeNull(),
  );
});

describe("replaceJsonTexts", () => {
  it("changes the specified strings, and no other byte", () => {
    const line =
      '{ "id":7, "answer" : "a \\"b\\", {c", "meta":{"answer":"inner"},"list":["answer"],"n":0.70, "x":"\\u00e9"}\r';
    expect(replaceJsonTexts(line, { answer: 'new "one"', question: "none" })).toBe(
      line.replace('"a \\"b\\", {c"', '"new \\"one\\""'),
    );
  });

  it("leaves all other properties of any object unchanged", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.string(), (object, before, after) => {
        const whole = { ...object, answer: before };
        const replaced = JSON.parse(replaceJsonTexts(JSON.stringify(whole), { answer: after }));
        expect(replaced).toEqual(JSON.parse(JSON.stringify({ ...whole, answer: after })));
      }),
    );
  });
});

describe("checkerAgreement", () => {
  const check = (name: QuestionCheck["check"], passed: boolean) => ({ check: name, passed });

  it("counts agreement about the original question, overall and per check", () => {
    const { all, byCheck } = checkerAgreement([
      { decision: "accepted", checks: [check("gold", true), check("sources", true)] },
      { decision: "rejected", checks: [check("gold", true), check("sources", false)] },
      { decision: "edited", checks: [check("gold", true)] },
      { decision: "accepted", checks: [] },
    ]);
    expect(all).toMatchObject({ n: 3, value: 2 / 3 });
    expect(all.low).toBeCloseTo(0.208, 3);
    expect(all.high).toBeCloseTo(0.939, 3);
    expect(byCheck.map(({ check: name, agreement }) => [name, agreement.value, agreement.n])).toEqual([
      ["gold", 1 / 3, 3],
      ["sources", 1, 2],
    ]);
  });

  it("returns no estimate if there are no reviews", () => {
    expect(checkerAgreement([])).toMatchObject({ all: { value: null, n: 0 }, byCheck: [] });
  });
});
