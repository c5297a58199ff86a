import { expect, it } from "vitest";
import type { Email } from "../../src/mail/email.js";
import { checkGold } from "../../src/questions/checks.js";

const MAIL = {
  messageId: "<1@x>",
  subject: "Low COI",
  sender: "alan.comnes@enron.com",
  to: ["sean.crandall@enron.com"],
  cc: [],
  bcc: [],
  date: "2001-11-03T10:00:00Z",
  body: "The call with the CAISO is on Tuesday, November 6, at 10 AM. Dues are $1,250. 会議は火曜日です。",
} as unknown as Email;

const problemOf = (question: string, answer: string) =>
  checkGold(
    {
      id: 1,
      question,
      answer,
      message_ids: ["<1@x>"],
      how_realistic: 1,
      inbox_address: "a@x",
      query_date: "2001-11-07",
    },
    [{ messageId: "<1@x>", mail: MAIL, isInInbox: true }],
  ).reason;

it.each([
  ["When is the call with the CAISO?", "November 6 at 10:00", "it holds together"],
  ["Who wrote about the COI?", "Alan Comnes", "it holds together"],
  ["Is the call still on November 7?", "No, not on November 7; it is on Tuesday.", "it holds together"],
  ["Is there a call with the CAISO?", "Yes", "it holds together"],
  ["CAISOとの電話はいつですか", "火曜日", "it holds together"],
  ["How high are the dues?", "1250 bucks", "it holds together"],
  ["How high are the dues?", "$1,300", "the number 1300 of the answer stands in no cited mail"],
  ["When is the call?", "On November 8", "a date of the answer stands in no cited mail"],
  ["When is the call?", "At 11:30 AM", "a time of the answer stands in no cited mail"],
  ["Who picked the loser pool?", "Washington", "no word of the question stands in a cited mail"],
  ["Who is sponsoring the call?", "Williams", "no word of the answer stands in a cited mail"],
])("%s %s: %s", (question, answer, reason) => expect(problemOf(question, answer)).toBe(reason));
