import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openMailbox } from "../../src/tools/mailbox.js";
import type { SearchPool } from "../../src/tools/search-pool.js";
import type { ToolContext, ToolResult } from "../../src/tools/tool.js";
import { MARCUS, openDemo, type TestDb } from "../runs/demo-setup.js";

/** The threads are files of the built program. */

const built = (await import(join(import.meta.dirname, "../../dist/tools/search-pool.js"))) as {
  SearchPool: new (path: string, count?: number) => SearchPool;
};

let test: TestDb;
let threads: SearchPool;
beforeAll(async () => {
  test = await openDemo();
  threads = new built.SearchPool(test.db.name, 1);
});
afterAll(async () => {
  await threads.close();
  test.close();
});

const context: ToolContext = { inbox: MARCUS, cutoff: null, signal: new AbortController().signal };
const search = (query: string) => threads.call("email_search", { query, limit: 10 }, context, {});

const listed = (result: ToolResult) =>
  (result as unknown as { value: { emails: { message_id: string }[] } }).value.emails.map((mail) => mail.message_id);

it("answers as the search on this thread does", async () => {
  const { search: here, addresses } = openMailbox(test.db);
  const query = { fromIds: null, toIds: null, period: { after: null, before: null }, limit: 10, askedAt: null };
  const { hits } = here.bestFirst({ ...query, words: "contract draft", inboxId: addresses.idOf(MARCUS) });
  expect(hits.length).toBeGreaterThan(3);
  expect(listed(await search("contract draft"))).toEqual(hits.map((hit) => hit.messageId));
});

it("answers alike from whichever of several threads", async () => {
  const several = new built.SearchPool(test.db.name, 3);
  const words = ["contract", "draft", "meeting", "contract draft", "meeting", "contract"];
  const ask = (query: string) => several.call("email_search", { query, limit: 10 }, context, {});
  const together = await Promise.all(words.map(ask));
  for (const [i, query] of words.entries()) expect(together[i]).toEqual(await search(query));
  await several.close();
});

it("sees what another connection has imported since", async () => {
  const first = async () => JSON.stringify(await search("contract"));
  const [id = ""] = listed(await search("contract"));
  expect(await first()).not.toContain("Changed meanwhile");
  const change = test.db.prepare(
    "UPDATE mails SET subject = ? WHERE id = (SELECT mail_id FROM messages WHERE message_id = ?)",
  );
  change.run("Changed meanwhile", id);
  test.db.prepare("UPDATE corpus_state SET fingerprint = 'changed'").run();
  expect(await first()).toContain("Changed meanwhile");
});

it("rejects a call that no handler of mail answers, and goes on", async () => {
  await expect(threads.call("execute_python", {}, context, {})).rejects.toThrow("no handler that searches mail");
  expect(listed(await search("contract")).length).toBeGreaterThan(0);
});
