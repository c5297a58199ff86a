// The same name has the same figure wherever a run is shown: in its totals, in lists, in the summary, in reports and in
// the API of the pages.
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failUnder, noWorseThan, RunEvidence } from "../../src/analysis/gate.js";
import { comparableRun, compareRuns } from "../../src/analysis/paired-comparison.js";
import { openDatabase } from "../../src/library/open-database.js";
import type { AppContext } from "../../src/platform/app-context.js";
import { comparisonText } from "../../src/reports/comparison-text.js";
import { csvSummaries } from "../../src/reports/csv-report.js";
import { runCostText, workTime } from "../../src/reports/figure-text.js";
import { htmlReport } from "../../src/reports/html-report.js";
import { junit } from "../../src/reports/junit-report.js";
import { markdownReport, stepSummary } from "../../src/reports/markdown-report.js";
import { runSummary } from "../../src/reports/run-text.js";
import { collectReport, storedRun } from "../../src/results/collect-report.js";
import { collectResults, computeRunTotals, fromDatabase } from "../../src/results/results-file.js";
import { pageOfRuns } from "../../src/results/run-summaries.js";
import { headlineOf, runDetails } from "../../src/results/stored-runs.js";
import { RunSubscriptions } from "../../src/runs/run-progress.js";
import { SCORER_NAMES, scaleOfScore, scoreTrace } from "../../src/scoring/scorers.js";
import { listsOf } from "../../src/server/lists/lists.js";
import { runRoutes } from "../../src/server/routes/runs.js";
import type { Estimate } from "../../src/statistics/estimate.js";
import type { Db } from "../../src/store/open-store.js";
import { isFailure } from "../../src/tasks/ending.js";
import { share } from "../../src/text/format.js";
import { headlineScorer } from "../../src/traces/headline-score.js";
import type { RunProgress } from "../../src/traces/progress.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { costOfRun } from "../../src/traces/run-figures.js";
import type { ScoreFigures } from "../../src/traces/run-totals.js";
import { getRun } from "../../src/traces/runs-store.js";
import { toTaskResult } from "../../src/traces/task-result.js";
import { saveSuiteRun, suiteTrace } from "../reports/suite-run.js";
import { never, openEmpty, type TestDb } from "../runs/demo-setup.js";
import { judged } from "../scoring/judged-trace.js";
import { called, itself, TURN, trace } from "../scoring/trace.js";
import { saveRun } from "../traces/saved-runs.js";

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

function saveRandomRun(db: Db, { questions, isJudged, model }: RandomRun, id = "run_a"): void {
  saveRun(db, id);
  const write = openRowWriter(db);
  for (const [i, { answer, goldMails, inbox, epochs }] of questions.entries()) {
    const gold = [`<gold${i}@x>`, `<second${i}@x>`];
    const search = called("email_search", { emails: [{ message_id: `<gold${i}@x>` }] });
    for (const [epoch, { isFailed, reply, cites, searches, verdict }] of epochs.entries()) {
      const attempt = trace(
        {
          traceId: `trace_${id}_${i}_${epoch}`,
          runId: id,
          taskId: i + 1,
          epoch: epoch + 1,
          model,
          turns: [TURN],
          toolCalls: searches ? [search] : [],
          ...(isFailed ? { ending: "timeout" as const, answer: null, error: "too slow" } : { answer: reply }),
          sources: cites ? gold.slice(0, 1) : [],
          judge: isJudged && !isFailed ? judged(verdict) : null,
        },
        { id: i + 1, answer, message_ids: gold.slice(0, goldMails), inbox_address: inbox },
      );
      const done = { ...attempt, scores: isFailed ? {} : scoreTrace(attempt, itself, SCORER_NAMES) };
      write(toResultRow(done, toTaskResult(done)));
    }
  }
}

/** Tasks of a suite: solved, partly, not at all, failed, or not runnable here. */
const randomSuite = fc.array(
  fc.record({ score: fc.constantFrom(1, 0.5, 0, null), isFailed: fc.boolean(), hasPair: fc.boolean() }),
  { minLength: 1, maxLength: 12 },
);

function saveRandomSuite(db: Db, tasks: typeof randomSuite extends fc.Arbitrary<infer Tasks> ? Tasks : never): void {
  const traces = tasks.map(({ score, isFailed, hasPair }, i) => {
    const [id, counterpart] = [`t${i}`, hasPair ? `t${i ^ 1}` : null];
    const failed = { ending: "timeout", answer: null, error: "too slow" } as const;
    return suiteTrace(isFailed ? null : score, { id, counterpart }, { turns: [TURN], ...(isFailed ? failed : {}) });
  });
  saveSuiteRun(db, "run_a", traces);
}

/** Checks that everything that shows a run has the figures of its totals. */
async function expectSameFigures({ db, folder }: TestDb, isOwn: boolean): Promise<void> {
  const id = "run_a";
  const run = getRun(db, id);
  const totals = await computeRunTotals(db, run);
  const { scores } = totals;
  const scored = Object.entries(scores).filter(([, { n }]) => n > 0);

  const scorer = headlineScorer(scores);
  const headline = headlineOf(db, id);
  expect(headline?.scorer ?? null).toBe(scorer);
  if (scorer !== null) {
    const { value, n, low, high, overAll, repeats } = scores[scorer] ?? {};
    expect(headline).toMatchObject({ value, n, low, high, overAll });
    const most = mostRepeated(repeats);
    expect(headline?.passHatK).toEqual(most && { k: most.k, ...most.passHatK });
  }

  const { costUsd, judgeCostUsd, totalCostUsd, turns, retries } = totals;
  expect(costOfRun(db, id)).toEqual({ costUsd, judgeCostUsd, totalCostUsd });
  expect([turns === null, retries === null]).toEqual([!isOwn, !isOwn]);

  const { totalTasks: tasks, completedTasks, failedTasks, usage, endings } = totals;
  const tokens = usage.inputTokens + usage.outputTokens;
  const { runs } = await pageOfRuns(db, { terms: [], sort: "", offset: 0, limit: -1 });
  expect(runs).toMatchObject([
    { id, costUsd, judgeCostUsd, totalCostUsd, tasks, completedTasks, failedTasks, tokens, headline },
  ]);

  const file = collectResults(db, totals);
  expect(file.scores).toEqual(scores);
  expect(fromDatabase(db, totals).head.scores).toMatchObject(Object.fromEntries(scored));
  expect(file.exactMatchAccuracy).toBe(scores.exactMatch?.value ?? null);
  expect(file.overAllTasks.foundGold).toBe(scores.foundGold?.overAll.value ?? null);

  const report = await collectReport([await storedRun(db, run)], { onTask() {}, onTrace() {} }, never);
  const [shown] = report.head.runs;
  expect(Object.keys(shown?.scores ?? {}).sort()).toEqual(scored.map(([name]) => name).sort());
  expect([shown?.costUsd, shown?.judgeCostUsd, shown?.totalCostUsd]).toEqual([costUsd, judgeCostUsd, totalCostUsd]);
  expect([shown?.tasks, shown?.completed, shown?.failed]).toEqual([tasks, completedTasks, failedTasks]);
  expect([shown?.retries, shown?.endings]).toEqual([retries, endings]);
  const { inputTokens: input, cachedInputTokens: cached, outputTokens: output } = usage;
  expect(shown?.tokens).toEqual({ input, cached, output });
  const html = [...htmlReport(report, { style: "", scripts: [] }, [])].join("");
  const [, embedded = ""] = /<script type="application\/json" id="head">(.*)<\/script>/.exec(html) ?? [];
  expect(JSON.parse(embedded)).toEqual(JSON.parse(JSON.stringify(report.head)));
  const [summary, markdown] = [runSummary(totals), unescaped(markdownReport(report.head))];
  const csv = [...(csvSummaries(report.head).get("scores.csv") ?? [])].join("").split("\n");
  const source = fromDatabase(db, totals);
  const step = unescaped(
    stepSummary(source.head, [], { scorer: scorer ?? "exactMatch", better: "higher" }, source.results()),
  );
  const work = workTime(totals);
  if (totals.completedTasks > 0) {
    expect([shown?.latency.mean ?? -1]).toEqual([
      expect.closeTo((totals.avgModelTimeMs ?? 0) + (totals.avgToolTimeMs ?? 0), 6),
    ]);
    for (const text of [summary, markdown, step]) expect(text).toContain(work);
  }
  for (const text of [summary, markdown]) expect(text).toContain(runCostText(totals));
  const running = await progressOf(db, id);
  expect(running).toMatchObject({
    headline: headline && { ...headline, label: scores[headline.scorer]?.label },
    costUsd,
    judgeCostUsd,
    doneTasks: tasks,
    failedTasks,
    tokens,
    retries,
    endings,
  });
  for (const [name, { label, value, n, low, high, overAll, repeats }] of scored) {
    const most = mostRepeated(repeats);
    const passHatK = most && { k: most.k, ...figureOf(most.passHatK) };
    expect(shown?.scores[name], name).toEqual({ value, n, low, high, overAll: figureOf(overAll), passHatK });
    if (totals.completedTasks === 0) continue;
    const line = summary.split("\n").find((text) => text.startsWith(`${label}:`)) ?? "";
    expect(line, name).toContain(`${share(value)}`);
    expect(line, name).toContain(`n=${n}`);
    const isDifferent = overAll.n !== 0 && overAll.n !== n;
    expect(line.includes(`; ${share(overAll.value)} with failed tasks as wrong`), name).toBe(isDifferent);
    const asWrong = isDifferent ? `; ${share(overAll.value)} with failed tasks as wrong` : "";
    const row = markdown
      .split("\n")
      .find((text) => new RegExp(`^\\| ${label}( \\(lower is better\\))? \\|`).test(text));
    expect(row, name).toContain(`| ${share(value)} (`);
    expect(row, name).toContain(`n ${n})${asWrong} |`);
    const cells = [value, low, high, n, overAll.value, overAll.n].map((cell) => cell ?? "").join(",");
    expect(
      csv.filter((text) => text.includes(`,${name},`)).map((text) => text.trim()),
      name,
    ).toEqual([expect.stringMatching(new RegExp(`,${name},${cells.replaceAll(".", "\\.").replaceAll("+", "\\+")}$`))]);
    const written = step.split("\n").find((text) => text.startsWith(`| ${label} |`));
    expect(written, name).toMatch(new RegExp(`\\| ${n} \\| ${isDifferent ? share(overAll.value) : "-"} \\|$`));
  }

  await expectSameInApiAndLibrary({ db, folder }, totals);
  expectSameInComparisonsAndGates(source);
}

const mostRepeated = (repeats: ScoreFigures["repeats"]) => repeats?.filter(({ k }) => k > 1).at(-1);

/** Omits the interval's method, which reports do not show. */
const figureOf = ({ value, n, low, high }: Estimate) => ({ value, n, low, high });

/** Replaces the entities that make texts safe in Markdown. */
function unescaped(markdown: string): string {
  return markdown.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}

/** The first state of a run's live page. */
function progressOf(db: Db, runId: string): Promise<RunProgress> {
  return new Promise((resolve, reject) => {
    const unsubscribe = new RunSubscriptions(db, () => null, reject).subscribe(runId, (progress) => {
      unsubscribe();
      resolve(progress);
    });
  });
}

type Totals = Awaited<ReturnType<typeof computeRunTotals>>;

/** Compares `runs show --json`, the API of the pages and the library with the totals. */
async function expectSameInApiAndLibrary({ db, folder }: Omit<TestDb, "close">, totals: Totals): Promise<void> {
  const settings = { db: join(folder, "art-e.db") } as AppContext["settings"];
  const shown = await runDetails("run_a", settings);
  const expected = JSON.parse(JSON.stringify(totals));
  expect(JSON.parse(JSON.stringify(shown.totals))).toEqual(expected);
  expect(shown.headline).toBe(headlineScorer(totals.scores));

  const answers = async (path: string, query: object = {}) => {
    const route = runRoutes({ db, lists: listsOf(db) }).find((each) => each.method === "get" && each.path === path);
    const request = {
      params: { id: "run_a" },
      query: { q: "", sort: "", limit: 50, offset: 0, with: [], ...query },
      signal: never,
    };
    const answer = await route?.handle(request as never);
    return answer instanceof Response ? answer.json() : JSON.parse(JSON.stringify(answer));
  };
  expect(await answers("/api/runs/:id")).toMatchObject(expected);
  const [line] = (await answers("/api/runs")).runs;
  expect(line).toMatchObject({
    tasks: totals.totalTasks,
    completed_tasks: totals.completedTasks,
    failed_tasks: totals.failedTasks,
    tokens: totals.usage.inputTokens + totals.usage.outputTokens,
    cost_usd: totals.costUsd,
    judge_cost_usd: totals.judgeCostUsd,
    total_cost_usd: totals.totalCostUsd,
  });
  if (shown.headline !== null) {
    const { value, n, low, high, overAll } = totals.scores[shown.headline] ?? {};
    expect(line.score).toMatchObject(JSON.parse(JSON.stringify({ value, n, low, high, overAll })));
  }
  const report = await answers("/api/runs/:id/report");
  for (const [name, { passHatK, ...figure }] of Object.entries<{ passHatK?: object }>(report.head.runs[0].scores)) {
    expect(totals.scores[name], name).toMatchObject(figure);
    const most = mostRepeated(totals.scores[name]?.repeats);
    expect(passHatK, name).toEqual(most && { k: most.k, ...figureOf(most.passHatK) });
  }

  const database = await openDatabase(settings.db);
  try {
    expect((await database.results("run_a")).scores).toEqual(totals.scores);
    expect(database.runs()[0]).toMatchObject({ id: "run_a", failedTasks: totals.failedTasks });
  } finally {
    database.close();
  }
}

const RULES = { failedTasks: "wrong", least: 0.9 } as const;

/** Compares JUnit, `compare` and gates with the totals, and asserts that gates pass only on evidence. */
function expectSameInComparisonsAndGates({ head, results }: ReturnType<typeof fromDatabase>): void {
  const tasks = [...results()];
  const evidence = RunEvidence.of(head, tasks);
  const epochs = tasks.length / new Set(tasks.map(({ taskId }) => taskId)).size;
  const run = comparableRun(head, tasks);
  for (const [scorer, { value, n, overAll, kind, better }] of Object.entries(head.scores)) {
    const [wrong, left] = [overAll.n > 0 ? overAll : { value, n }, { value, n }];
    // The limit is the worst value, so only missing evidence misses the gate.
    const { min, max } = scaleOfScore(scorer);
    const limit = better === "higher" ? min : Number.isFinite(max) ? max : 1e9;
    const gate = failUnder({ metric: scorer, scorer, limit }, head, { ...RULES, evidence });
    expect(gate.figure, scorer).toMatchObject({ value: wrong.value, n: wrong.n });
    const covered = tasks.filter((task) => (task.scores[scorer] ?? null) !== null && !isFailure(task.ending)).length;
    const { notApplicable } = gate.coverage;
    if (covered + notApplicable < 0.9 * tasks.length) expect(gate.passed, scorer).toBe(false);

    const compared = compareRuns(run, run, [scorer], 0);
    const { metrics, clusters } = compared;
    const [comparison] = metrics;
    if (comparison === undefined) throw new Error("no metric");
    if (epochs === 1) {
      expect(comparison.baseline ?? null, scorer).toEqual(wrong.value === null ? null : expect.closeTo(wrong.value, 9));
      expect(comparison.difference.n, scorer).toBe(wrong.n);
      const shown = comparisonText([head], [compared]).split("\n");
      const row = shown.find((line) => line.startsWith(comparison.label))?.slice(comparison.label.length) ?? "";
      const { value, n } = wrong;
      expect(row.trim().split(/ +/).slice(0, 3), scorer).toEqual([`${n}`, share(value), share(value)]);
      expect(shown[2]?.trim().split(/ {2,}/).slice(2, 4)).toEqual([`${head.totalTasks}`, `${head.failedTasks}`]);
    }
    // At most 12 questions cannot exclude a loss of 0.05.
    const coverage = evidence.coverage(scorer, RULES.least);
    const baseline = { runId: "run_a", coverage };
    const rules = { ...RULES, evidence };
    const equal = noWorseThan({ metric: scorer, limit: 0.05 }, baseline, { comparison, clusters }, rules, []);
    expect(equal.passed, scorer).toBe(false);

    if (kind !== "rate" || better !== "higher" || scorer.startsWith("eval:")) continue;
    const xml = [...junit(head, { scorer, better }, [gate, equal], results, true)].join("");
    const [, failures, errors] = /failures="(\d+)" errors="(\d+)"/.exec(xml) ?? [];
    expect(Number(failures) - Number(!gate.passed) - 1, scorer).toBe(Math.round((1 - (left.value ?? 1)) * left.n));
    expect(Number(errors), scorer).toBe(tasks.filter((task) => isFailure(task.ending)).length);
    const lenient = [...junit(head, { scorer, better }, [gate, equal], results, false)].join("");
    expect(lenient, scorer).toContain(`failures="${Number(!gate.passed) + 1}" errors="0"`);
  }
}

describe("a run's figures everywhere", () => {
  it("agree in totals, lists, summaries, reports, results files, API, library, comparisons and gates", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async (random) => {
        const test = openEmpty();
        try {
          saveRandomRun(test.db, random);
          const isOwn = random.model === "script/test";
          await expectSameFigures(test, isOwn);
          // Nothing is known about searches that were not recorded, in any figure.
          const isSeen = isOwn || random.questions.some(({ epochs }) => epochs.some((epoch) => epoch.searches));
          const { scores } = await computeRunTotals(test.db, getRun(test.db, "run_a"));
          if (!isSeen) for (const name of ["foundGold", "readGold", "foundAt5"]) expect(scores[name]?.n ?? 0).toBe(0);
        } finally {
          test.close();
        }
      }),
      { seed: 62, numRuns: 40 },
    );
  }, 120_000);

  it("agree for a suite", async () => {
    await fc.assert(
      fc.asyncProperty(randomSuite, async (tasks) => {
        const test = openEmpty();
        try {
          saveRandomSuite(test.db, tasks);
          await expectSameFigures(test, true);
        } finally {
          test.close();
        }
      }),
      { seed: 62, numRuns: 20 },
    );
  }, 120_000);
});

describe("a gate", () => {
  const questions = (n: number, change: (i: number) => Partial<RandomRun["questions"][number]["epochs"][number]>) =>
    Array.from({ length: n }, (_, i) => ({
      answer: "$40",
      goldMails: 1,
      inbox: i % 2 === 0 ? "ann@x.example" : "bob@x.example",
      epochs: [
        {
          isFailed: false,
          reply: "$40" as const,
          cites: true,
          searches: true,
          verdict: "correct" as const,
          ...change(i),
        },
      ],
    })) as RandomRun["questions"];

  /** Whether any gate on any score passes for a run that is compared with a good one, or has the worst limit. */
  async function passes(change: Parameters<typeof questions>[1], n = 120): Promise<string[]> {
    const test = openEmpty();
    try {
      const random = { isJudged: false, model: "script/test" } as const;
      const good = (i: number) => ({ cites: i % 5 > 0, reply: i % 5 > 0 ? ("$40" as const) : ("Kay Mann" as const) });
      saveRandomRun(test.db, { ...random, questions: questions(n, good) }, "run_good");
      saveRandomRun(test.db, { ...random, questions: questions(n, change) });
      const [baseline, run] = await Promise.all(
        ["run_good", "run_a"].map(async (id) => {
          const source = fromDatabase(test.db, await computeRunTotals(test.db, getRun(test.db, id)));
          return {
            ...comparableRun(source.head, source.results()),
            evidence: RunEvidence.of(source.head, source.results()),
          };
        }),
      );
      if (baseline === undefined || run === undefined) throw new Error("no runs");
      return Object.keys(run.head.scores).flatMap((scorer) => {
        const rules = { ...RULES, evidence: run.evidence };
        const { better } = run.head.scores[scorer] ?? { better: "higher" };
        const under = failUnder({ metric: scorer, scorer, limit: better === "higher" ? 0 : 1e9 }, run.head, rules);
        const { metrics, clusters } = compareRuns(baseline, run, [scorer], 0);
        const [comparison] = metrics;
        if (comparison === undefined) return [];
        const coverage = baseline.evidence.coverage(scorer, RULES.least);
        const against = noWorseThan(
          { metric: scorer, limit: 0.05 },
          { runId: "run_good", coverage },
          { comparison, clusters },
          rules,
          [],
        );
        return [under.passed && `${scorer} under`, against.passed && `${scorer} against`].filter(
          (one) => one !== false,
        );
      });
    } finally {
      test.close();
    }
  }

  const good = (i: number) => ({ cites: i % 5 > 0, reply: i % 5 > 0 ? ("$40" as const) : ("Kay Mann" as const) });

  it("passes a run that is as good as its baseline, so that the cases below can fail", async () => {
    expect(await passes(good)).toEqual(expect.arrayContaining(["sourcesCorrect under", "sourcesCorrect against"]));
  });

  it("never passes an agent that gives every question the same answer, on any score", async () => {
    expect(await passes(() => ({ reply: "" as "$40", cites: false, searches: false }))).toEqual([]);
  });

  it("never passes a run without more than 10% of its tasks, on any score", async () => {
    const missing = (scorer: string) => !scorer.startsWith("eval:");
    const passed = await passes((i) => ({ ...good(i), isFailed: i % 8 === 0 }));
    expect(passed.filter(missing)).toEqual([]);
  });

  it("never passes fewer questions against a baseline than can exclude the loss, on any score", async () => {
    const passed = await passes(good, 60);
    expect(passed.filter((gate) => gate.endsWith("against"))).toEqual([]);
  });
});
