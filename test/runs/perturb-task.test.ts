import { describe, expect, it } from "vitest";
import { perturbTools, reword } from "../../src/runs/answer-task/perturb.js";
import type { Tool, ToolContext, ToolResult } from "../../src/tools/tool.js";
import type { Perturbation } from "../../src/traces/run-settings.js";
import { never } from "./demo-setup.js";

const HITS = Array.from({ length: 8 }, (_, i) => ({ message_id: `<${i}@x>`, snippet: `${i}` }));

function tool(id: string, result: ToolResult): Tool {
  return { id, description: "", parameters: { type: "object" }, call: async () => result };
}

const TOOLS = [
  tool("email_search", { ok: true, value: { emails: HITS, total: 20 } }),
  tool("search_emails", { ok: true, value: HITS }),
  tool("email_get", { ok: true, value: { message_id: "<1@x>", body: "text" }, repairs: ["offset"] }),
  tool("return_final_answer", { ok: true, value: {}, final: { answer: "yes", sources: [] } }),
];

const newTask = (): ToolContext => ({ inbox: null, cutoff: null, signal: never });

/** Calls every tool once in a task. */
async function resultsOf(perturbation: Perturbation, context = newTask()): Promise<ToolResult[]> {
  const results: ToolResult[] = [];
  for (const { call } of perturbTools(TOOLS, perturbation)) results.push(await call({ query: "gas" }, context));
  return results;
}

describe("perturbTools", () => {
  it("lets the first call of each task fail, and no later one", async () => {
    const context = newTask();
    const first = await resultsOf("tool-error", context);
    expect(first.map(({ ok }) => ok)).toEqual([false, true, true, true]);
    expect(first[0]).toMatchObject({ kind: "failed", error: expect.stringContaining("connection") });
    expect((await resultsOf("tool-error", context)).every(({ ok }) => ok)).toBe(true);
    expect((await resultsOf("tool-error"))[0]).toMatchObject({ ok: false });
  });

  it("reorders the same emails of a search in the same way for the same call, and changes nothing else", async () => {
    const results = await resultsOf("shuffled");
    expect(await resultsOf("shuffled")).toEqual(results);
    const [listed, plain, mail, answer] = results as unknown as [
      { readonly value: { readonly emails: typeof HITS } },
      { readonly value: typeof HITS },
      ToolResult,
      ToolResult,
    ];
    for (const emails of [listed.value.emails, plain.value]) {
      expect(emails).not.toEqual(HITS);
      expect(emails.toSorted((a, b) => a.snippet.localeCompare(b.snippet))).toEqual(HITS);
    }
    expect(listed).toMatchObject({ value: { total: 20 } });
    expect(mail).toEqual({ ok: true, value: { message_id: "<1@x>", body: "text" }, repairs: ["offset"] });
    expect(answer).toMatchObject({ final: { answer: "yes" } });
  });

  it("waits before a call, and stops waiting when the task is stopped", async () => {
    const [search] = perturbTools(TOOLS, "latency");
    const started = performance.now();
    expect(await search?.call({}, newTask())).toMatchObject({ ok: true });
    expect(performance.now() - started).toBeGreaterThanOrEqual(490);
    const stopped = { ...newTask(), signal: AbortSignal.timeout(20) };
    await expect(search?.call({}, stopped)).rejects.toThrow("aborted");
  });
});

it("rewords every question, and keeps its names, dates and numbers", () => {
  const questions = Array.from({ length: 60 }, (_, i) => `What did Ann O'Neil quote on 2001-03-04 for ${i}.5 MW?`);
  const wordings = new Set<string>();
  for (const question of questions) {
    const reworded = reword(question);
    expect(reworded).toContain(question);
    expect(reworded).not.toBe(question);
    expect(reword(question)).toBe(reworded);
    wordings.add(reworded.replace(question, "?"));
  }
  expect(wordings.size).toBe(6);
});
