import { z } from "zod";
import { loadDataset, refuseContradictions } from "../app/questions/load-dataset.js";
import { aggregateRun } from "../app/results/aggregate-run.js";
import { EXIT, UserError } from "../domain/errors.js";
import { SLICES } from "../domain/runs/slice.js";
import { questionStatistics } from "../questions/statistics.js";
import { corpusSummary } from "../reports/text/corpus-summary.js";
import { datasetSummary } from "../reports/text/dataset-summary.js";
import { runSummary } from "../reports/text/run-summary.js";
import { sliceTable } from "../reports/text/slice-table.js";
import { table } from "../reports/text/text-table.js";
import { openStore } from "../store/connection/open-store.js";
import { readCorpusStats } from "../store/import/corpus-stats.js";
import { getRun, listRuns } from "../store/runs/runs.js";
import type { Command, CommandContext } from "./cli/command.js";
import { oneOf, readFlags, text } from "./cli/read-flags.js";
import { metrics, scorersAmong } from "./flags/metric-flags.js";
import { DATASET_FLAGS, datasetSchema } from "./flags/question-flags.js";

const schema = datasetSchema.extend({
  corpus: z.boolean().default(false),
  run: text.optional(),
  runs: z.boolean().default(false),
  by: oneOf(SLICES).optional(),
  metric: metrics.default(["accuracy", "semantic", "sources"]),
});

export const statsCommand: Command = {
  flags: {
    ...DATASET_FLAGS,
    corpus: { type: "boolean", describe: "Of the imported mail, with its fingerprint" },
    run: {
      type: "string",
      requiresArg: true,
      describe: "Of a run: its id, the beginning of it, or latest",
    },
    runs: { type: "boolean", describe: "List the runs" },
    by: { type: "string", requiresArg: true, describe: "With --run: a table by inbox, realism, sources or year" },
    metric: {
      type: "string",
      requiresArg: true,
      describe: "With --by: the scores to show [default: accuracy,semantic,sources]",
    },
  },
  async run(argv, context) {
    const flags = readFlags("stats", schema, argv);
    refuseContradictions(flags);
    const asked = [
      flags.corpus && "--corpus",
      flags.run !== undefined && "--run",
      flags.runs && "--runs",
      flags.dataset !== undefined && "--dataset",
    ].filter((flag) => flag !== false);
    if (asked.length > 1) {
      throw new UserError(
        "flags_contradict",
        `${asked.join(" and ")} ask for different figures.`,
        "Give one at a time.",
      );
    }
    const without =
      flags.by === undefined ? argv.metric !== undefined && "--metric" : flags.run === undefined && "--by";
    if (without !== false) {
      throw new UserError(
        "flags_contradict",
        `${without} goes with --run RUN --by SLICE.`,
        "Give both, or leave it out.",
      );
    }
    if (flags.corpus) corpusFigures(context);
    else if (flags.runs) listOfRuns(context);
    else if (flags.run !== undefined) await runFigures(flags.run, flags, context);
    else await printDatasetFigures(flags, context);
    return EXIT.done;
  },
};

/** Also what `run --stats` prints. */
export async function printDatasetFigures(
  flags: z.output<typeof datasetSchema>,
  context: CommandContext,
): Promise<void> {
  const set = await loadDataset(flags, context);
  const statistics = questionStatistics(set);
  const { source, revision, sha256 } = set;
  context.out.result({ ...statistics, source, revision, sha256 }, () => datasetSummary(statistics));
}

function corpusFigures({ settings, out }: CommandContext): void {
  const db = openStore(settings.db, { mustExist: true });
  try {
    const stats = readCorpusStats(db);
    out.result(stats, () => corpusSummary(stats, settings.db));
  } finally {
    db.close();
  }
}

async function runFigures(
  name: string,
  { by, metric }: z.output<typeof schema>,
  { settings, out }: CommandContext,
): Promise<void> {
  const db = openStore(settings.db, { mustExist: true });
  try {
    const totals = await aggregateRun(db, getRun(db, name));
    if (by === undefined) {
      out.result(totals, () => runSummary(totals));
    } else {
      const shown = scorersAmong(metric, totals.scores);
      out.result({ runId: totals.runId, by, parts: totals.slices[by] }, () => sliceTable(totals, by, shown));
    }
  } finally {
    db.close();
  }
}

function listOfRuns({ settings, out }: CommandContext): void {
  const db = openStore(settings.db, { mustExist: true });
  try {
    const runs = listRuns(db);
    out.result(runs, () =>
      runs.length === 0
        ? "No runs yet: art-e run -a AGENT makes one."
        : table(
            ["run", "agent", "model", "tasks", "status", "started"],
            runs.map((run) => [
              run.id,
              run.agentId,
              run.model,
              `${run.tasks}/${run.totalTasks}`,
              run.status,
              run.startedAt.slice(0, 19),
            ]),
          ),
    );
  } finally {
    db.close();
  }
}
