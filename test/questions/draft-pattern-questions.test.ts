import { describe, expect, it } from "vitest";
import type { Email } from "../../src/mail/email.js";
import { draftPatternQuestions } from "../../src/questions/draft-by-patterns.js";
import { INBOX, long, mail } from "./lease-mails.js";

describe("draftPatternQuestions", () => {
  const draftsOf = (...mails: Email[]) => draftPatternQuestions(INBOX, mails, mails);
  const asked = (kind: string, ...mails: Email[]) => draftsOf(...mails).drafts.filter((one) => one.kind === kind);

  it("asks for a value by its sender, topic and month, and without the month before it came", () => {
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
    ["The review meeting about the pier is at 10:30 AM.", "What time did Bo Kim give for the meeting in", "10:30 AM"],
    ["Send your comments on the draft contract by June 15.", "Which deadline did Bo Kim give in", "June 15"],
    ["We signed the contract for the cranes on 6/21.", "Which date did Bo Kim mention in", "6/21"],
    ["The new cranes will cost us $21B in the end.", "What amount of money did Bo Kim mention in", "$21B"],
    [
      "Der Kran kostet die Hafenbehörde 1.250,00 EUR im Monat.",
      "What amount of money did Bo Kim mention in",
      "1.250,00 EUR",
    ],
    ["If you have questions, call Ann at +44 20 7946 0958.", "Which telephone number did Bo Kim", "+44 20 7946 0958"],
    ["Please send the signed copies to 403 White Hall Avenue.", "Which street address did", "403 White Hall Avenue"],
  ])("of %j asks %j", (body, question, answer) => {
    const [draft] = draftsOf(mail({ body })).drafts.filter(({ kind }) => kind !== "who");
    expect(draft?.question).toContain(question);
    expect(draft?.answer).toBe(answer);
  });

  it.each([
    ["a fraction", "Everybody pays 1/3 of the rent for the harbor pier."],
    ["a range of days", "The port authority meets in the harbor on July 25-26 to talk."],
    ["a small word in an address", "The images of the harbor in 20208 with Dr. Lee are here."],
    ["markup", '<p class="a">The rent for the harbor pier <b>is</b> $5</p> now and then.'],
    ["a disclaimer", "If you are not the intended recipient call the harbor at 713-555-0100."],
    ["a signature", "The rent for the harbor is due soon.\n\nRegards,\nBo\nTel. office number: 713-555-0100 for calls"],
    [
      "what a program quotes",
      "See the rent for the harbor pier below.\n\nAnn Lee\n03/22/2001 07:10 PM\nTo: Bo\nIt is $5",
    ],
    ["nothing but the value", "See below for all of the harbor.\n\n$12,500\n\nAnd so on and on and on."],
  ])("asks for no value of %s", (_, body) => {
    expect(draftsOf(mail({ body })).drafts.filter(({ kind }) => kind !== "who")).toEqual([]);
  });

  it("asks for no telephone number that stands below mails of several subjects", () => {
    const body = "If you have questions about the harbor, call me at 713-555-0100.";
    expect(asked("what", mail({ body }))).toHaveLength(1);
    expect(asked("what", mail({ body }), mail({ body, subject: "Cranes" }))).toEqual([]);
  });

  it.each([
    ["A bug in Deal Blotter", "bug in Deal Blotter"],
    ["RE: FW: Talking Points For Rep. Barton On Tauzin RTO Letter", "Tauzin RTO Letter"],
    ["NEW TRANSMISSION IDEA", "new transmission idea"],
    ["Modesto $640,000 adjustment on 3/31/01 - PLEASE READ", "Modesto"],
  ])("names of the subject %j the topic %j", (subject, topic) => {
    expect(asked("who", mail({ subject }))[0]?.question).toBe(`Who wrote to me about ${topic} in May 2001?`);
  });

  it("names nothing of a subject that is a sentence of common words", () =>
    expect(asked("who", mail({ subject: "It has been reset" }))).toEqual([]));

  it("asks who wrote by the address where it holds no name, and asks nothing about what two wrote of", () => {
    expect(asked("who", mail({ sender: "bk42@example.com" }))[0]?.answer).toBe("bk42@example.com");
    expect(asked("who", mail(), mail({ sender: "bk42@example.com" }))).toEqual([]);
  });

  it("takes mails of the sender and month with the same value for gold, and asks early only before all of them", () => {
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

  it("asks nothing where another mail of the sender and month has another value", () => {
    const source = mail();
    const rival = mail({ body: source.body.replace("$12,500", "$13,000") });
    const { drafts, refused } = draftPatternQuestions(INBOX, [source, rival], [source, rival]);
    expect(drafts.filter(({ kind }) => kind === "how_much")).toEqual([]);
    expect(refused["another mail holds a different value"]).toBeGreaterThan(0);
  });

  it("takes a mail that quotes the passage for gold too", () => {
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
  ])("stands hostile text %#", (body) => {
    const source = mail({ body });
    expect(draftPatternQuestions(INBOX, [source], [source]).drafts.length).toBeLessThan(10);
  });
});
