import { join } from "node:path";
import { expect, it } from "vitest";
import { openCorpus } from "../../src/mail/open-corpus.js";
import { readAll, temporaryFolder, writeParquet } from "./corpus-fixtures.js";

it("a group of more rows than are read at once gives every mail once, in order", { timeout: 120_000 }, async () => {
  const file = join(await temporaryFolder(), "long.parquet");
  const mails = Array.from({ length: 100_100 }, (_, i) => ({
    messageId: `<${i}@x.example>`,
    subject: `Mail ${i}`,
    sender: "a@x.example",
    to: i % 3 === 0 ? [] : Array.from({ length: i % 3 }, (_, n) => `to${i}-${n}@x.example`),
    cc: [],
    bcc: [],
    date: "2001-03-05T10:00:00Z",
    body: `Body ${i}`,
    path: "",
    owner: null,
  }));
  writeParquet(file, mails, 1_000_000);
  const { emails, bad, error } = await readAll(await openCorpus(file, null));
  expect({ bad, error }).toEqual({ bad: [], error: null });
  expect(emails).toHaveLength(mails.length);
  const wrong = mails.findIndex(
    ({ messageId, to, body }, i) =>
      emails[i]?.messageId !== messageId || emails[i]?.to.join() !== to.join() || emails[i]?.body !== body,
  );
  expect(wrong).toBe(-1);
});
