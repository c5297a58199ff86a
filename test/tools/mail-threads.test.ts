/** The threads are files of the built program. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ToolContext, ToolResult } from "../../src/domain/tool.js";
import type { MailThreads } from "../../src/tools/mail-threads.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { MARCUS, openDemo, type TestDb } from "../runner/demo-setup.js";

const built = (await import(join(import.meta.dirname, "../../dist/tools/mail-threads.js"))) as {
  MailThreads: new (path: string, count?: number) => MailThreads;
};

let test: TestDb;
let threads: MailThreads;
beforeAll(async () => {
  test = await openDemo();
  threads = new built.MailThreads(test.db.name, 1);
});
afterAll(async () => {
  await threads.close();
  test.close();
});

const context: ToolContext = { inbox: MARCUS, cutoff: null, signal: new AbortController().signal };
const search = (query: string) => threads.call("email_search", { query, limit: 10 }, context, {});
const read = (messageId: string) =>
  threads.call("email_get", { message_id: messageId, offset: 0 }, context, { pageSize: 20_000 });

const listed = (result: ToolResult) =>
  (result as unknown as { value: { emails: { message_id: string }[] } }).value.emails.map((mail) => mail.message_id);

it("answers as the search on this thread does", async () => {
  const { search: here, addresses } = openMailbox(test.db);
  const query = { fromIds: null, toIds: null, period: { after: null, before: null }, limit: 10 };
  const { hits } = here.bestFirst({ ...query, words: "contract draft", inboxId: addresses.idOf(MARCUS) });
  expect(hits.length).toBeGreaterThan(3);
  expect(listed(await search("contract draft"))).toEqual(hits.map((hit) => hit.messageId));
});

it("lets a read go before the searches that wait", async () => {
  const [id = ""] = listed(await search("contract"));
  const done: string[] = [];
  const searches = Array.from({ length: 20 }, () => search("contract draft price").then(() => done.push("search")));
  await Promise.all([...searches, read(id).then(() => done.push("read"))]);
  expect(done).toHaveLength(21);
  expect(done.indexOf("read")).toBeLessThan(20);
});

it("sees what another connection has changed since", async () => {
  const [id = ""] = listed(await search("contract"));
  const subject = async () => ((await read(id)) as unknown as { value: { subject: string } }).value.subject;
  const before = await subject();
  const change = test.db.prepare(
    "UPDATE mails SET subject = ? WHERE id = (SELECT mail_id FROM messages WHERE message_id = ?)",
  );
  change.run("Changed meanwhile", id);
  expect(await subject()).toBe("Changed meanwhile");
  change.run(before, id);
});

it("rejects a call that no handler of mail answers, and goes on", async () => {
  await expect(threads.call("execute_python", {}, context, {})).rejects.toThrow("no handler of mail");
  expect(listed(await search("contract")).length).toBeGreaterThan(0);
});
