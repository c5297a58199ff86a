import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonValue } from "../../src/platform/json.js";
import { SuiteDocuments } from "../../src/suites/documents.js";
import type { TaskDocuments } from "../../src/tasks/suite-task.js";
import { toTool } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { getTool } from "../../src/tools/tool.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { context } from "./demo-tools.js";

const root = mkdtempSync(join(tmpdir(), "art-e-documents-"));
const text = "Seeds are CSV files. ".repeat(2_000);
let empty: TestDb;
let documents: TaskDocuments;
beforeAll(() => {
  empty = openEmpty();
  mkdirSync(join(root, "documents"));
  writeFileSync(join(root, "documents/seeds.md"), text);
  documents = new SuiteDocuments(root, null).open(root);
});
afterAll(() => {
  empty.close();
  rmSync(root, { recursive: true });
});

function call(args: JsonValue, given: { readonly documents?: TaskDocuments } = { documents }) {
  const tool = toTool(
    { tool: getTool(empty.db, "search_documents"), config: null },
    { mailbox: openMailbox(empty.db) },
  );
  return tool.call(args, { ...context, ...given });
}

test("finds documents and opens one of them, page by page", async () => {
  expect(await call({ query: "seed", limit: 1 })).toEqual({
    ok: true,
    value: {
      documents: [
        { path: "documents/seeds.md", offset: 0, snippet: expect.stringContaining("CSV"), match: "all_words" },
      ],
    },
  });
  const first = await call({ path: "documents/seeds.md" });
  expect(first).toMatchObject({ value: { offset: 0, length: text.length, next_offset: 20_000 } });
  expect(await call({ path: "documents/seeds.md", offset: 40_000 })).toEqual({
    ok: true,
    value: {
      path: "documents/seeds.md",
      content: text.slice(40_000),
      offset: 40_000,
      length: text.length,
      next_offset: null,
    },
  });
});

test.each([
  [{}, "Give a query"],
  [{ path: "documents/none.md" }, "no document documents/none.md"],
  [{ path: "../secret" }, "no document"],
  [{ path: "documents/seeds.md", offset: 50_000 }, "has 42000 characters"],
])("%j is refused so that the model can go on", async (args, why) => {
  expect(await call(args)).toEqual({ ok: false, kind: "bad_arguments", error: expect.stringContaining(why) });
});

test("says that a task has no documents", async () => {
  expect(await call({ query: "seed" }, {})).toMatchObject({
    ok: false,
    kind: "failed",
    error: expect.stringContaining("no documents"),
  });
});
