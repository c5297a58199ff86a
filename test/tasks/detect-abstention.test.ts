import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isDontKnow } from "../../src/text/abstention.js";
import { demoQuestions } from "../cli/art-e.js";
import { ENRON, needs } from "../machine-requirements.js";
import { questionsIn } from "../questions/question-file.js";

describe("isDontKnow", () => {
  test.each([
    "I don't know",
    "I do not know.",
    "Sorry, I don’t know",
    "**I don't know.**",
    "I don't know the answer.",
    "I don't know based on the emails in your mailbox.",
    "I do not know who signed it.",
    "I cannot say.",
    "I'm sorry, but I don't know.",
    "I could not find this information in your mailbox.",
    "I couldn't find any emails about the RTO Week hotel.",
    "Unfortunately, I was unable to find any information about the dial-in passcode.",
    "I was not able to locate an email that mentions it.",
    "I did not find any mention of Ed Mosey's cell phone number in the emails.",
    "I could not find it.",
    "I cannot determine which hotel it was from the available emails.",
    "I am unable to answer this question.",
    "I don't have enough information to answer.",
    "The mailbox does not contain the answer.",
    "Your inbox doesn't mention a hotel for RTO Week.",
    "The emails do not specify the passcode.",
    "None of the emails mention a passcode.",
    "None of your emails say when it begins.",
    "The emails never mention a passcode.",
    "The available information does not say when it begins.",
    "No information about the hotel was found.",
    "There is no mention of the passcode in your mailbox.",
    "No emails mentioning the passcode were found.",
    "There is nothing about it in the mailbox.",
    "The passcode is not mentioned in the emails.",
    "The answer is not in the mailbox.",
    "It cannot be determined from the emails.",
    "This information is not available.",
    "Not found",
    "Not specified in the emails.",
    "Unknown.",
    "N/A",
    "No answer found",
    "Insufficient information to answer.",
    "After searching the mailbox, I could not find any record of it.",
    "I could not find any information about the hotel. I searched for hotel, RTO and Washington.",
  ])("recognizes %j", (answer) => {
    expect(isDontKnow(answer)).toBe(true);
  });

  test.each([
    "",
    "$40",
    "Unknown Pleasures",
    "I don't know her number, but her fax is 316-555-0117",
    "I don't know, it's $40",
    "I could not find the exact sum; it is probably $40.",
    "I could not find an email that says so. However, Sara wrote on May 5 that it was $40.",
    "No.",
    "No, the emails were sent by Kay.",
    "None.",
    "She does not know yet.",
    "He said that he could not find the file.",
    "I could not attend the meeting.",
    "I cannot help you on this one. I already cover a number of campuses.",
    "Fat tails could not be found; volatility changes a lot from day to day.",
    "The email does not mention a price.",
    "The contract does not contain a price.",
    "No e-mails were sent to Kay.",
    "The emails say that Ken Lay left in August.",
    "Your mailbox contains three offers.",
    "The messages in the thread state a price of $40.",
    "No information was available on the other firms' credit, so they were left out.",
    "Not available on Friday.",
  ])("does not match %j", (answer) => {
    expect(isDontKnow(answer)).toBe(false);
  });

  test("matches only the abstentions among the demo's gold answers", () => {
    const gold = demoQuestions.filter(({ answer }) => isDontKnow(answer));
    expect(gold.map(({ answer }) => answer)).toEqual(gold.map(() => "I don't know"));
  });

  const real = join(ENRON, "questions-kaminski.parquet");
  test(
    "does not match any of 2,886 real gold answers, many of which are about something unknown",
    needs("real-mail", existsSync(real)),
    async () => {
      const { questions } = await questionsIn(real, "train");
      expect(questions.length).toBeGreaterThan(2_000);
      expect(questions.filter(({ answer }) => isDontKnow(answer)).map(({ answer }) => answer)).toEqual([]);
    },
  );
});
