import { z } from "zod";
import { UserError } from "../../platform/errors.js";
import { deletedRunsText, runDetailsText, runTable } from "../../reports/run-text.js";
import { defineCommand, runId, text, wholeNumber } from "../flags/read-flags.js";
import { runFilterShape } from "../flags/selection-flags.js";
import { terminalColumns } from "../terminal.js";

const runName = text.meta({ description: "Run id, the start of an id, a run name, or latest" });

export const listRunsCommand = defineCommand(
  z.object({
    ...runFilterShape,
    tag: text.optional().meta({ description: "Only runs with this tag" }),
    text: text.optional().meta({ description: "Only runs with this text in their name or note" }),
    limit: wholeNumber(0).default(20).meta({ description: "Maximum number of runs (0 = all)", alias: "l" }),
  }),
  async ({ limit, ...filter }, { settings, out }) => {
    const { runsWithHeadlines } = await import("../../runs/stored-runs.js");
    const { runs, total } = await runsWithHeadlines(filter, limit, settings);
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    out.result(runs, () => (total === 0 && isFiltered ? "No run matches." : runTable(runs, terminalColumns())));
    if (total > runs.length) out.note(`${total - runs.length} older ones are not listed: --limit 0 lists all.`);
  },
);

const yesFlag = z
  .boolean()
  .default(false)
  .meta({ description: "Delete the runs (without this flag, they are only listed)" });

export const pruneRunsCommand = defineCommand(
  z.object({
    ...runFilterShape,
    keep: wholeNumber(0).optional().meta({ description: "Keep the N newest matching runs" }),
    empty: z.boolean().default(false).meta({ description: "Only runs without a completed task" }),
    yes: yesFlag,
  }),
  async ({ yes, keep = 0, ...which }, context, argv) => {
    if (argv.keep === undefined && Object.values(which).every((value) => value === undefined || value === false)) {
      throw new UserError(
        "flag_missing",
        "Nothing says which runs.",
        "Give --before, --keep, --empty, or another flag.",
      );
    }
    const { pruneRuns } = await import("../../runs/stored-runs.js");
    const done = await pruneRuns({ ...which, keep }, yes, context);
    context.out.result(done, () => deletedRunsText(done));
  },
);

export const tagRunCommand = defineCommand(
  z.object({
    run: runName,
    tags: z.array(text).min(1, "expected a tag").meta({ description: "Tags" }),
    remove: z.boolean().default(false).meta({ description: "Remove the tags" }),
  }),
  async ({ run, tags, remove }, context) => {
    const { tagRun } = await import("../../runs/stored-runs.js");
    const labels = await tagRun(run, tags, remove ? "remove" : "add", context);
    context.out.result(labels, () => `Tags of run ${labels.id}: ${labels.tags.join(", ") || "none"}`);
  },
);

/** Maximum number of tasks listed without --all. */
const LISTED = 20;

export const showRunCommand = defineCommand(
  z.object({
    run: runId
      .default("latest")
      .meta({ description: "Run id, the start of an id, a run name, or latest [default: latest]" }),
    all: z
      .boolean()
      .default(false)
      .meta({ description: `List all tasks instead of the first ${LISTED}` }),
  }),
  async ({ run, all }, { settings, out }) => {
    const { runDetails } = await import("../../runs/stored-runs.js");
    const details = await runDetails(run, settings);
    out.result(details, () => runDetailsText(details, all ? details.tasks.length : LISTED));
  },
);

export const renameRunCommand = defineCommand(
  z
    .object({
      run: runName,
      name: text.optional().meta({ description: "Name" }),
      remove: z.boolean().default(false).meta({ description: "Remove the name" }),
    })
    .refine(({ name, remove }) => (name === undefined) === remove, {
      path: ["name"],
      message: "expected a name, or --remove",
    }),
  async ({ run, name = null }, context) => {
    const { renameRun } = await import("../../runs/stored-runs.js");
    const labels = await renameRun(run, name, context);
    context.out.result(labels, () =>
      labels.name === null ? `Run ${labels.id} has no name now.` : `Run ${labels.id} is named "${labels.name}".`,
    );
  },
);

export const noteRunCommand = defineCommand(
  z
    .object({
      run: runName,
      note: text.optional().meta({ description: "Note" }),
      remove: z.boolean().default(false).meta({ description: "Remove the note" }),
    })
    .refine(({ note, remove }) => (note === undefined) === remove, {
      path: ["note"],
      message: "expected a note, or --remove",
    }),
  async ({ run, note = null }, context) => {
    const { noteRun } = await import("../../runs/stored-runs.js");
    const labels = await noteRun(run, note, context);
    context.out.result(labels, () =>
      labels.note === null ? `Run ${labels.id} has no note now.` : `Run ${labels.id}: ${labels.note}`,
    );
  },
);

export const deleteRunsCommand = defineCommand(
  z.object({
    runs: z.array(text).min(1, "expected a run").meta({ description: "Run ids, starts of ids, or run names" }),
    yes: yesFlag,
  }),
  async ({ runs, yes }, context) => {
    const { deleteRuns } = await import("../../runs/stored-runs.js");
    const done = await deleteRuns(runs, yes, context);
    context.out.result(done, () => deletedRunsText(done));
  },
);
