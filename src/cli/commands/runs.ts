import { z } from "zod";
import { EXIT, UserError } from "../../platform/errors.js";
import { deletedRunsText, runDetailsText, runTable } from "../../reports/run-text.js";
import type { Command } from "../command.js";
import { declaredIn, readFlags, text, wholeNumber } from "../read-flags.js";
import { runFilterShape } from "../selection-flags.js";
import { terminalColumns } from "../terminal.js";

const listRunsSchema = z.object({
  ...runFilterShape,
  tag: text.optional().meta({ description: "Only runs with this tag" }),
  text: text.optional().meta({ description: "Only runs with this in their name or note" }),
  limit: wholeNumber(0).default(20).meta({ description: "How many; 0: all", alias: "l" }),
});

export const listRunsCommand: Command = {
  ...declaredIn(listRunsSchema),
  async run(argv, { settings, out }) {
    const { limit, ...filter } = readFlags("runs list", listRunsSchema, argv);
    const { runsWithHeadlines } = await import("../../runs/manage.js");
    const { runs, total } = await runsWithHeadlines(filter, limit, settings);
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    out.result(runs, () => (total === 0 && isFiltered ? "No run matches." : runTable(runs, terminalColumns())));
    if (total > runs.length) out.note(`${total - runs.length} older ones are not listed: --limit 0 lists all.`);
    return EXIT.done;
  },
};

const yesFlag = z.boolean().default(false).meta({ description: "Delete them; without it they are only listed" });

const pruneRunsSchema = z.object({
  ...runFilterShape,
  keep: wholeNumber(0).optional().meta({ description: "Keep the newest that match, as many as this" }),
  empty: z.boolean().default(false).meta({ description: "Only runs that have not completed a single task" }),
  yes: yesFlag,
});

export const pruneRunsCommand: Command = {
  ...declaredIn(pruneRunsSchema),
  async run(argv, context) {
    const { yes, keep = 0, ...which } = readFlags("runs prune", pruneRunsSchema, argv);
    if (argv.keep === undefined && Object.values(which).every((value) => value === undefined || value === false)) {
      throw new UserError(
        "flags_missing",
        "Nothing says which runs.",
        "Give --before, --keep, --empty, or another flag.",
      );
    }
    const { pruneRuns } = await import("../../runs/manage.js");
    const done = await pruneRuns({ ...which, keep }, yes, context);
    context.out.result(done, () => deletedRunsText(done));
    return EXIT.done;
  },
};

const RUN = {
  type: "string",
  describe: "The run's id, the beginning of it, its name, or latest",
} as const;

const tagRunSchema = z.object({
  run: text.meta({ description: "The run's id, the beginning of it, its name, or latest" }),
  tags: z.array(z.coerce.string()).min(1, "expected a tag").meta({ description: "One or more tags" }),
  remove: z.boolean().default(false).meta({ description: "Take the tags away" }),
});

export const tagRunCommand: Command = {
  ...declaredIn(tagRunSchema, ["run", "tags"]),
  async run(argv, context) {
    const { run, tags, remove } = readFlags("runs tag", tagRunSchema, argv);
    const { tagRun } = await import("../../runs/manage.js");
    const labels = await tagRun(run, tags, remove ? "remove" : "add", context);
    context.out.result(labels, () => `Tags of run ${labels.id}: ${labels.tags.join(", ") || "none"}`);
    return EXIT.done;
  },
};

/** Tasks listed without --all. */
const LISTED = 20;

const showRunSchema = z.object({
  run: text.default("latest").meta({ description: `${RUN.describe} [default: latest]` }),
  all: z
    .boolean()
    .default(false)
    .meta({ description: `List all tasks, not only the first ${LISTED}` }),
});

export const showRunCommand: Command = {
  ...declaredIn(showRunSchema, ["run"]),
  async run(argv, { settings, out }) {
    const { run, all } = readFlags("runs show", showRunSchema, argv);
    const { runDetails } = await import("../../runs/manage.js");
    const details = await runDetails(run, settings);
    out.result(details, () => runDetailsText(details, all ? details.tasks.length : LISTED));
    return EXIT.done;
  },
};

const renameRunSchema = z
  .object({
    run: text.meta({ description: "The run's id, the beginning of it, its name, or latest" }),
    name: z.coerce.string().optional().meta({ description: "Its name" }),
    remove: z.boolean().default(false).meta({ description: "Take the name away" }),
  })
  .refine(({ name, remove }) => (name === undefined) === remove, {
    path: ["name"],
    message: "expected a name, or --remove",
  });

export const renameRunCommand: Command = {
  ...declaredIn(renameRunSchema, ["run", "name"]),
  async run(argv, context) {
    const { run, name = null } = readFlags("runs rename", renameRunSchema, argv);
    const { renameRun } = await import("../../runs/manage.js");
    const labels = await renameRun(run, name, context);
    context.out.result(labels, () =>
      labels.name === null ? `Run ${labels.id} has no name now.` : `Run ${labels.id} is named "${labels.name}".`,
    );
    return EXIT.done;
  },
};

const noteRunSchema = z
  .object({
    run: text.meta({ description: "The run's id, the beginning of it, its name, or latest" }),
    note: z.coerce.string().optional().meta({ description: "The note" }),
    remove: z.boolean().default(false).meta({ description: "Take the note away" }),
  })
  .refine(({ note, remove }) => (note === undefined) === remove, {
    path: ["note"],
    message: "expected a note, or --remove",
  });

export const noteRunCommand: Command = {
  ...declaredIn(noteRunSchema, ["run", "note"]),
  async run(argv, context) {
    const { run, note = null } = readFlags("runs note", noteRunSchema, argv);
    const { noteRun } = await import("../../runs/manage.js");
    const labels = await noteRun(run, note, context);
    context.out.result(labels, () =>
      labels.note === null ? `Run ${labels.id} has no note now.` : `Run ${labels.id}: ${labels.note}`,
    );
    return EXIT.done;
  },
};

const deleteRunsSchema = z.object({
  runs: z.array(text).min(1, "expected a run").meta({ description: "Ids of runs, beginnings of them, or names" }),
  yes: yesFlag.meta({ description: "Delete them; without it they are only listed" }),
});

export const deleteRunsCommand: Command = {
  ...declaredIn(deleteRunsSchema, ["runs"]),
  async run(argv, context) {
    const { runs, yes } = readFlags("runs delete", deleteRunsSchema, argv);
    const { deleteRuns } = await import("../../runs/manage.js");
    const done = await deleteRuns(runs, yes, context);
    context.out.result(done, () => deletedRunsText(done));
    return EXIT.done;
  },
};
