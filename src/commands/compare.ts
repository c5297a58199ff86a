import { z } from "zod";
import { RunSources, unfinished } from "../app/results/open-results.js";
import { EXIT, UserError } from "../domain/errors.js";
import type { ComparableRun, RunComparison } from "../domain/scores/comparison.js";
import { isScored } from "../domain/scores/metric-name.js";
import { comparableRun } from "../evaluation/comparable-run.js";
import { compareRuns } from "../evaluation/compare-runs.js";
import { PUBLISHED, protocolDifferences } from "../evaluation/published-results.js";
import { comparisonText, publishedText } from "../reports/text/comparison-text.js";
import type { Command, CommandContext } from "./cli/command.js";
import { readFlags, whole } from "./cli/read-flags.js";
import { metrics, scorersAmong } from "./flags/metric-flags.js";

const schema = z.object({
  runs: z.array(z.coerce.string()).min(1),
  metric: metrics.optional(),
  flips: whole(0, 100_000).default(5),
  published: z.boolean().default(false),
  force: z.boolean().default(false),
});

export const compareCommand: Command = {
  positionals: {
    runs: {
      type: "string",
      array: true,
      describe: "The baseline and what to compare with it: run ids, latest, or results files",
    },
  },
  flags: {
    metric: {
      type: "string",
      requiresArg: true,
      describe: "Scores to compare, separated by commas; flips are of the first [default: accuracy, then all]",
    },
    flips: {
      type: "number",
      requiresArg: true,
      describe: "Show so many questions each that were lost and won [default: 5]",
    },
    published: { type: "boolean", describe: "Show the published ART-E figures [default: where there was a judge]" },
    force: { type: "boolean", describe: "Compare though dataset, split, mail or cutoff differ" },
  },
  async run(argv, door) {
    const flags = readFlags("compare", schema, argv);
    if (flags.runs.length < 2 && !flags.published) {
      throw new UserError(
        "runs_missing",
        "There is one run only to compare.",
        "Name two or more runs, or add --published.",
      );
    }
    const sources = new RunSources(door.settings.db);
    try {
      const runs: ComparableRun[] = [];
      for (const name of flags.runs) {
        const { head, results } = await sources.open(name);
        const why = unfinished(head);
        if (why !== null) door.out.note(`art-e: ${why}`);
        runs.push(comparableRun(head, results()));
      }
      print(runs, flags, door);
      return EXIT.done;
    } finally {
      sources.close();
    }
  },
};

type Flags = z.output<typeof schema>;

function print(runs: readonly ComparableRun[], flags: Flags, { out }: CommandContext): void {
  const [baseline, ...candidates] = runs as [ComparableRun, ...ComparableRun[]];
  const comparisons = candidates.map((candidate) => {
    const scorers = scorersAmong(flags.metric ?? everyMetric(baseline, candidate), sharedScores(baseline, candidate));
    const comparison = compareRuns(baseline, candidate, scorers, flags.flips);
    if (!flags.force) refuseIncomparable(comparison);
    return comparison;
  });
  const judged = runs.filter(({ head }) => isScored("judgeCorrect", head.scores));
  const beside = flags.published ? runs : judged;
  const published =
    beside.length === 0
      ? null
      : {
          figures: PUBLISHED.figures,
          differences: Object.fromEntries(beside.map(({ head }) => [head.runId, protocolDifferences(head)])),
        };
  const heads = runs.map(({ head }) => head);
  out.result({ runs: heads, comparisons, published }, () =>
    [
      ...(comparisons.length === 0 ? [] : [comparisonText(heads, comparisons)]),
      ...(published === null
        ? []
        : [
            publishedText(
              beside.map(({ head }) => head),
              PUBLISHED,
              published.differences,
            ),
          ]),
    ].join("\n\n"),
  );
}

/** What both have a value of, with how many tasks the lesser has it for. */
function sharedScores(a: ComparableRun, b: ComparableRun): Record<string, { n: number }> {
  const shared = Object.entries(a.head.scores).flatMap(([name, { n }]) => {
    const other = b.head.scores[name]?.n ?? 0;
    return n > 0 && other > 0 ? [[name, { n: Math.min(n, other) }] as const] : [];
  });
  return Object.fromEntries(shared);
}

function everyMetric(a: ComparableRun, b: ComparableRun): string[] {
  const all = Object.keys(sharedScores(a, b));
  return all.includes("exactMatch") || all.includes("judgeCorrect") ? ["accuracy", ...all] : all;
}

function refuseIncomparable({ baseline, candidate, incomparable }: RunComparison): void {
  if (incomparable.length === 0) return;
  throw new UserError(
    "runs_incomparable",
    `${baseline} and ${candidate} cannot be compared. They differ in ${incomparable.join("; ")}.`,
    "Run both over the same questions and the same mail, or add --force to compare them all the same.",
  );
}
