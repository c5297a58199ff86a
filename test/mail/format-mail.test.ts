import { expect, test } from "vitest";
import { formatMail } from "../../src/mail/email.js";

const mail = {
  messageId: "<1@x>",
  date: "2001-02-03T04:05:06Z",
  sender: "a@x",
  to: ["b@x", "c@x"],
  cc: [],
  bcc: [],
  subject: "Dues",
  body: "One\nTwo",
};

test("a mail is its headers, an empty line and its body; empty lists are left out", () => {
  expect(formatMail(mail)).toBe(
    "Message-ID: <1@x>\nDate: 2001-02-03T04:05:06Z\nFrom: a@x\nTo: b@x, c@x\nSubject: Dues\n\nOne\nTwo",
  );
});

test("values can be aligned, and a mail without a date says so", () => {
  const [id, date, from] = formatMail({ ...mail, date: null }, 11).split("\n");
  expect([id, date, from]).toEqual(["Message-ID: <1@x>", "Date:       unknown", "From:       a@x"]);
});
