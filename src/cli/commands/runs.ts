// The commands `runs ...`: list, show, name, tag and delete runs.
import { z } from "zod";
import { UserError } from "../../platform/errors.js";
import { agentName, day, oneOf, text, toggle, wholeNumber, withTraits } from "../../platform/flag-values.js";
import { deletedRunsText, runDetailsText, runTable } from "../../reports/run-text.js";
import type { RunStatus } from "../../traces/task-result.js";
import { latestRun } from "../flags/argument-schemas.js";
import { defineCommand } from "../flags/define-command.js";
import { terminalColumns } from "../terminal.js";

const STATUSES = ["running", "completed", "interrupted"] as const satisfies readonly RunStatus[];

const runFilterShape = {
  agent: agentName.optional().meta({ placeholder: "ID", description: "Only runs of this agent" }),
  model: text.optional().meta({ placeholder: "TEXT", description: "Only runs with this text in the model name" }),
  dataset: text
    .optional()
    .meta({ placeholder: "TEXT", description: "Only runs with this text in the dataset or suite name" }),
  status: oneOf(STATUSES)
    .optional()
    .meta({ description: "Only runs with this status: running, completed or interrupted" }),
  since: day.optional().meta({ description: "Only runs started on this date (UTC) or later (YYYY-MM-DD)" }),
  before: day.optional().meta({ description: "Only runs started before this date (UTC, YYYY-MM-DD)" }),
};

export const listRunsCommand = defineCommand(
  z.object({
    ...runFilterShape,
    tag: text.optional().meta({ description: "Only runs with this tag" }),
    text: text.optional().meta({ description: "Only runs with this text in their name or note" }),
    query: z
      .array(text)
      .default([])
      .meta({ description: 'Words and conditions, such as gpt tag:paper "score<0.5" (all must hold)' }),
    sort: text.default("").meta({
      placeholder: "FIELD",
      description: "Field to sort by, after - for descending order, such as -score",
    }),
    limit: wholeNumber(0).default(20).meta({ description: "Maximum number of runs (0 = all)", alias: "l" }),
  }),
  async ({ limit, query, sort, ...filter }, { settings, out }) => {
    const { runsWithFigures } = await import("../../results/run-summaries.js");
    const { runs, total } = await runsWithFigures(filter, { query: query.join(" "), sort, limit }, settings);
    const isFiltered = query.length > 0 || Object.values(filter).some((value) => value !== undefined);
    out.result(runs, () => (total === 0 && isFiltered ? "No run matches." : runTable(runs, terminalColumns())));
    if (total > runs.length) out.note(`${total - runs.length} further runs are not shown. List all: --limit 0.`);
  },
);

const yesFlag = toggle.meta({ description: "Delete the runs (without this flag, they are only listed)" });

export const pruneRunsCommand = defineCommand(
  z.object({
    ...runFilterShape,
    keep: wholeNumber(0).optional().meta({ description: "Keep the N newest matching runs" }),
    empty: toggle.meta({ description: "Only runs without a completed task" }),
    yes: yesFlag,
  }),
  async ({ yes, keep = 0, ...which }, context, argv) => {
    if (argv.keep === undefined && Object.values(which).every((value) => value === undefined || value === false)) {
      throw new UserError(
        "flag_missing",
        "runs prune: a filter is required.",
        "Pass --before, --keep, --empty or another filter.",
      );
    }
    const { pruneRuns } = await import("../../results/stored-runs.js");
    const done = await pruneRuns({ ...which, keep }, yes, context);
    context.out.result(done, () => deletedRunsText(done));
  },
);

export const tagRunCommand = defineCommand(
  z.object({
    run: latestRun,
    tags: z.array(text).min(1, "expected a tag").meta({ description: "Tags" }),
    remove: toggle.meta({ description: "Remove the tags" }),
  }),
  async ({ run, tags, remove }, context) => {
    const { tagRun } = await import("../../results/stored-runs.js");
    const labels = await tagRun(run, tags, remove ? "remove" : "add", context);
    context.out.result(labels, () => `Tags of run ${labels.id}: ${labels.tags.join(", ") || "none"}`);
  },
);

/** Maximum number of tasks listed without --all. */
const LISTED = 20;

export const showRunCommand = defineCommand(
  z.object({
    run: latestRun,
    all: toggle.meta({ description: `List all tasks instead of the first ${LISTED}` }),
  }),
  async ({ run, all }, { settings, out }) => {
    const { runDetails } = await import("../../results/stored-runs.js");
    const details = await runDetails(run, settings);
    out.result(details, () => runDetailsText(details, all ? details.tasks.length : LISTED));
  },
);

export const renameRunCommand = defineCommand(
  z
    .object({
      run: latestRun,
      name: text.optional().meta({ description: "Name" }),
      remove: toggle.meta({ description: "Remove the name" }),
    })
    .refine(({ name, remove }) => (name === undefined) === remove, {
      path: ["name"],
      message: "expected a name, or --remove",
    }),
  async ({ run, name = null }, context) => {
    const { renameRun } = await import("../../results/stored-runs.js");
    const labels = await renameRun(run, name, context);
    context.out.result(labels, () =>
      labels.name === null ? `Run ${labels.id} no longer has a name.` : `Run ${labels.id} is named "${labels.name}".`,
    );
  },
);

export const noteRunCommand = defineCommand(
  z
    .object({
      run: latestRun,
      note: text.optional().meta({ description: "Note" }),
      remove: toggle.meta({ description: "Remove the note" }),
    })
    .refine(({ note, remove }) => (note === undefined) === remove, {
      path: ["note"],
      message: "expected a note, or --remove",
    }),
  async ({ run, note = null }, context) => {
    const { noteRun } = await import("../../results/stored-runs.js");
    const labels = await noteRun(run, note, context);
    context.out.result(labels, () =>
      labels.note === null ? `Run ${labels.id} no longer has a note.` : `Run ${labels.id}: ${labels.note}`,
    );
  },
);

export const deleteRunsCommand = defineCommand(
  z.object({
    runs: withTraits(z.array(text).min(1, "expected a run"), { completes: "runs" }).meta({
      description: "Run ids, starts of ids, or run names",
    }),
    yes: yesFlag,
  }),
  async ({ runs, yes }, context) => {
    const { deleteRuns } = await import("../../results/stored-runs.js");
    const done = await deleteRuns(runs, yes, context);
    context.out.result(done, () => deletedRunsText(done));
  },
);
