import fc from "fast-check";
import { expect, it } from "vitest";
import { packBatch, unpackBatch } from "../../src/mail/import-reader-client.js";

const text = fc.string();
const textOrNull = fc.option(text);
const anyMail = fc.record({
  messageId: text,
  path: text,
  owner: textOrNull,
  inbox: textOrNull,
  contentHash: text,
  art: fc.option(fc.oneof(fc.record({ drop: fc.constant("repeat" as const) }), fc.record({ repeatKey: text }))),
  content: fc.option(
    fc.record({
      subject: text,
      sender: text,
      recipients: text,
      toCount: fc.nat(),
      ccCount: fc.nat(),
      date: textOrNull,
      body: text,
    }),
  ),
});

it("a batch of mail comes out of its packed form as it was, also when it was cloned for another thread", () => {
  const bad = [{ where: "mail.csv row 2", reason: "it is empty" }];
  fc.assert(
    fc.property(fc.array(anyMail), fc.nat(), (mails, bytesRead) => {
      const batch = { mails, bad, bytesRead };
      expect(unpackBatch(structuredClone(packBatch(batch)))).toEqual(batch);
    }),
  );
});
