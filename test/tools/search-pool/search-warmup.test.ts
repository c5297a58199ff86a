import { afterAll, beforeAll, expect, it } from "vitest";
import type { ToolResult } from "../../../src/domain/agents/tool.js";
import { emailSearch } from "../../../src/tools/builtin/email-search.js";
import { openMailbox } from "../../../src/tools/open-mailbox.js";
import { warmupSearches } from "../../../src/tools/search-pool/search-warmup.js";
import { openDemo, type TestDb } from "../../app/run/demo-setup.js";
import { mail, openCorpus } from "../../store/search/small-corpus.js";

let test: TestDb;
beforeAll(async () => {
  test = await openDemo();
});
afterAll(() => test.close());

it("searches for mails from all over the file as an agent would, and finds them", () => {
  const mailbox = openMailbox(test.db);
  const { signal } = new AbortController();
  const calls = [...warmupSearches(test.db)];
  const found = calls.map(({ args, context, config }) => {
    const checked = emailSearch.args.parse(args);
    return emailSearch.call(checked, { ...context, signal }, { mailbox }, config) as ToolResult;
  });
  expect(calls.length).toBeGreaterThan(50);
  expect(calls.length).toBeLessThanOrEqual(300);
  expect(new Set(calls.map(({ context }) => context.inbox)).size).toBeGreaterThan(5);
  expect(found.every((result) => result.ok)).toBe(true);
  expect(found.some((result) => JSON.stringify(result).includes("all_words"))).toBe(true);
});

it("searches for each mail once in a file of few", () => {
  const few = openCorpus(["a", "b", "c"].map((id) => mail(id, { subject: `about ${id}` })));
  expect([...warmupSearches(few)].map(({ args }) => (args as { query: string }).query).sort()).toEqual([
    "about a",
    "about b",
    "about c",
  ]);
  few.close();
});

it("is nothing in a file without mail", () => {
  const empty = openCorpus([]);
  expect([...warmupSearches(empty)]).toEqual([]);
  empty.close();
});
