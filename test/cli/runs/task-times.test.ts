import { afterEach, expect, it } from "vitest";
import type { RunComparison } from "../../../src/analysis/compare.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { boxLines, jsonLines, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

/** What a task's time went into, from a server that lets a run wait to what compare makes of it. */

const { artE, read, readJson } = workFolder({ mail: MAIL });

let provider: FakeProvider;
afterEach(() => provider.close());

/** Refuses the first request, and asks for a second of patience. */
async function busyAtFirst(refusals: number) {
  let asked = 0;
  provider = await startFakeProvider(({ turn }) => {
    if (asked++ < refusals) return { fail: "status", status: 429, headers: { "retry-after": "1" } };
    if (turn > 0) return { content: "I don't know" };
    return { toolCalls: [{ name: "email_search", arguments: { query: "dues", inbox_id: MARCUS } }] };
  });
}

const RUN = `run -a email-search --no-judge --dataset ${QUESTIONS} --inbox ${MARCUS} -l 1`;
const run = (line: string) =>
  artE(`${RUN} ${line}`, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });

it("is told apart: what model and tools took, and what was waited for", async () => {
  await busyAtFirst(1);
  const waited = await run("-o waited.json");
  expect(waited.code).toBe(0);
  const { taskResults, ...totals } = resultsSchema.parse(readJson("waited.json"));
  const [task] = taskResults;
  const { modelTimeMs = -1, toolTimeMs = -1, waitingTimeMs = -1, executionTimeMs = -1 } = task ?? {};
  expect(waitingTimeMs).toBeGreaterThanOrEqual(1_000);
  expect(modelTimeMs).toBeGreaterThan(0);
  expect(toolTimeMs).toBeGreaterThan(0);
  expect(modelTimeMs + toolTimeMs).toBeLessThan(executionTimeMs - 1_000 + 1);
  expect(totals).toMatchObject({
    avgModelTimeMs: modelTimeMs,
    avgToolTimeMs: toolTimeMs,
    avgWaitingTimeMs: waitingTimeMs,
    avgExecutionTimeMs: executionTimeMs,
  });
  expect(boxLines(waited.stdout)["Time per task"]).toMatch(
    /^\S+ m?s \(model \S+ m?s, tools \S+ ms\); waiting [1-9]\.\d s$/,
  );
  expect(jsonLines((await artE("export-traces --run latest")).stdout)[0].turns[0].waitedMs).toBeCloseTo(
    waitingTimeMs,
    -2,
  );
  const [{ turns }] = jsonLines((await artE("export-traces --run latest")).stdout);
  expect(turns[0].waits.map(({ kind }: { kind: string }) => kind)).toEqual(
    expect.arrayContaining(["failed_attempt", "pause"]),
  );
  const shown = (await artE(`show ${task?.traceId}`)).stdout;
  expect(shown).toMatch(/^Time: {5}model .+, tools .+, waiting [1-9]\.\d s$/m);
  expect(shown).toMatch(/^ {10}[Mtsx~.w-]{58,62}\n {10}M model .+ pauses before retries \d\.\d s/m);
});

it("is told apart in reports, and what was waited for is no part of what compare judges", async () => {
  expect((await artE("report latest --format csv -o tasks.csv")).code).toBe(0);
  expect(read("tasks.csv")).toContain("executionTimeMs,modelTimeMs,toolTimeMs,waitingTimeMs");
  expect((await artE("report latest --format md")).stdout).toMatch(/\| Waiting per task \| [1-9]\.\d s \|/);

  await busyAtFirst(0);
  expect((await run("-o free.json")).code).toBe(0);
  const { comparisons } = JSON.parse((await artE("compare waited.json free.json --json")).stdout) as {
    comparisons: RunComparison[];
  };
  const time = comparisons[0]?.metrics.find(({ label }) => label.includes("time"));
  const { avgModelTimeMs, avgToolTimeMs, avgWaitingTimeMs } = resultsSchema.parse(readJson("waited.json"));
  const worked = (avgModelTimeMs ?? 0) + (avgToolTimeMs ?? 0);
  expect(time).toMatchObject({ metric: "modelAndToolTimeMs", baseline: worked });
  expect(worked).toBeLessThan(avgWaitingTimeMs ?? 0);
});
