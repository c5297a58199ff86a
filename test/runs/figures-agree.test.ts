// The same name has the same figure wherever a run is shown: in its totals, in lists, in the summary, in reports and in
// the API of the pages.
import fc from "fast-check";
import { expect, it } from "vitest";
import { csvSummaries } from "../../src/reports/csv-report.js";
import { markdownReport } from "../../src/reports/markdown-report.js";
import { runSummary } from "../../src/reports/run-text.js";
import { collectReport, storedRun } from "../../src/runs/collect-report.js";
import { collectResults, computeRunTotals, fromDatabase } from "../../src/runs/results-file.js";
import { headlineOf } from "../../src/runs/stored-runs.js";
import { SCORER_NAMES, scoreTrace } from "../../src/scoring/scorers.js";
import { share } from "../../src/text/format.js";
import { headlineScorer } from "../../src/traces/headline-score.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { costOfRun, getRun } from "../../src/traces/runs-store.js";
import { toTaskResult } from "../../src/traces/task-result.js";
import { judged } from "../scoring/judged-trace.js";
import { called, itself, TURN, trace } from "../scoring/trace.js";
import { saveRun } from "../traces/saved-runs.js";
import { never, openEmpty } from "./demo-setup.js";

const question = fc.record({
  answer: fc.constantFrom("$40", "May 5, 2001", "Kay Mann", "I don't know"),
  goldMails: fc.constantFrom(0, 1, 2),
  inbox: fc.constantFrom("ann@x.example", "bob@x.example"),
  epochs: fc.array(
    fc.record({
      isFailed: fc.boolean(),
      reply: fc.constantFrom("$40", "May 5, 2001", "Kay Mann", "I don't know"),
      cites: fc.boolean(),
      searches: fc.boolean(),
      verdict: fc.constantFrom("correct" as const, "partly" as const, "wrong" as const, null),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

/** Runs with failed tasks, unjudged answers, unanswerable questions, epochs, and agents whose searches are unknown. */
const randomRun = fc.record({
  questions: fc.array(question, { minLength: 1, maxLength: 12 }),
  isJudged: fc.boolean(),
  model: fc.constantFrom("script/test", "endpoint/acme", "command/agent.py"),
});

type RandomRun = typeof randomRun extends fc.Arbitrary<infer Run> ? Run : never;

function saveRandomRun(db: ReturnType<typeof openEmpty>["db"], { questions, isJudged, model }: RandomRun): void {
  saveRun(db, "run_a");
  const write = openRowWriter(db);
  for (const [i, { answer, goldMails, inbox, epochs }] of questions.entries()) {
    const gold = ["<gold@x>", "<second@x>"].slice(0, goldMails);
    const search = called("email_search", { emails: [{ message_id: "<gold@x>" }] });
    for (const [epoch, { isFailed, reply, cites, searches, verdict }] of epochs.entries()) {
      const attempt = trace(
        {
          traceId: `trace_${i}_${epoch}`,
          runId: "run_a",
          taskId: i + 1,
          epoch: epoch + 1,
          model,
          turns: [TURN],
          toolCalls: searches ? [search] : [],
          ...(isFailed ? { ending: "timeout" as const, answer: null, error: "too slow" } : { answer: reply }),
          sources: cites ? ["<gold@x>"] : [],
          judge: isJudged && !isFailed ? judged(verdict) : null,
        },
        { id: i + 1, answer, message_ids: gold, inbox_address: inbox },
      );
      const done = { ...attempt, scores: isFailed ? {} : scoreTrace(attempt, itself, SCORER_NAMES) };
      write(toResultRow(done, toTaskResult(done), isFailed ? "failed" : "finished"));
    }
  }
}

it("a figure is the same in totals, lists, summaries, reports, results files and comparisons", async () => {
  await fc.assert(
    fc.asyncProperty(randomRun, async (random) => {
      const test = openEmpty();
      try {
        saveRandomRun(test.db, random);
        const run = getRun(test.db, "run_a");
        const totals = await computeRunTotals(test.db, run);
        const { scores } = totals;
        const scored = Object.entries(scores).filter(([, { n }]) => n > 0);

        const scorer = headlineScorer(scores);
        const headline = headlineOf(test.db, "run_a");
        expect(headline?.scorer ?? null).toBe(scorer);
        if (scorer !== null) {
          const { value, n, low, high, overAll } = scores[scorer] ?? {};
          expect(headline).toMatchObject({ value, n, low, high, overAll });
        }

        const { costUsd, judgeCostUsd, totalCostUsd, turns, retries } = totals;
        expect(costOfRun(test.db, "run_a")).toEqual({ costUsd, judgeCostUsd, totalCostUsd });
        const isOwn = random.model === "script/test";
        expect([turns === null, retries === null]).toEqual([!isOwn, !isOwn]);

        const file = collectResults(test.db, totals);
        expect(file.scores).toEqual(scores);
        expect(fromDatabase(test.db, totals).head.scores).toMatchObject(Object.fromEntries(scored));
        expect(file.exactMatchAccuracy).toBe(scores.exactMatch?.value ?? null);
        expect(file.overAllTasks.foundGold).toBe(scores.foundGold?.overAll.value ?? null);

        const report = await collectReport([await storedRun(test.db, run)], { onTask() {}, onTrace() {} }, never);
        const [shown] = report.head.runs;
        expect(Object.keys(shown?.scores ?? {}).sort()).toEqual(scored.map(([name]) => name).sort());
        expect([shown?.costUsd, shown?.judgeCostUsd, shown?.totalCostUsd]).toEqual([
          costUsd,
          judgeCostUsd,
          totalCostUsd,
        ]);
        expect([shown?.tasks, shown?.failed]).toEqual([totals.totalTasks, totals.failedTasks]);
        const [summary, markdown] = [runSummary(totals), markdownReport(report.head)];
        const csv = [...(csvSummaries(report.head).get("scores.csv") ?? [])].join("");
        for (const [name, { label, value, n, low, high, overAll }] of scored) {
          expect(shown?.scores[name], name).toEqual({ value, n, low, high });
          if (totals.completedTasks === 0) continue;
          const line = summary.split("\n").find((text) => text.startsWith(`${label}:`)) ?? "";
          expect(line, name).toContain(`${share(value)}`);
          expect(line, name).toContain(`n=${n}`);
          const isDifferent = overAll.n !== 0 && overAll.n !== n;
          expect(line.includes(`; ${share(overAll.value)} with failed tasks as wrong`), name).toBe(isDifferent);
          expect(markdown, name).toContain(share(value));
          expect(csv, name).toContain(`${name},`);
        }

        // Nothing is known about searches that were not recorded, in any figure.
        const isSeen = isOwn || random.questions.some(({ epochs }) => epochs.some((epoch) => epoch.searches));
        if (!isSeen) for (const name of ["foundGold", "readGold", "foundAt5"]) expect(scores[name]?.n ?? 0).toBe(0);
      } finally {
        test.close();
      }
    }),
    { seed: 62, numRuns: 60 },
  );
}, 60_000);
