import { z } from "zod";
import { EXIT, UserError } from "../../platform/errors.js";
import { deletedRunsText, runDetailsText, runTable } from "../../reports/run-text.js";
import type { Command, Flags } from "../command.js";
import { readFlags, text, wholeNumber } from "../read-flags.js";
import { RUN_FILTER_FLAGS, runFilterShape } from "../selection-flags.js";
import { terminalColumns } from "../terminal.js";

const listRunsSchema = z.object({
  ...runFilterShape,
  tag: text.optional(),
  text: text.optional(),
  limit: wholeNumber(0).default(20),
});

export const listRunsCommand: Command = {
  flags: {
    ...RUN_FILTER_FLAGS,
    tag: { type: "string", requiresArg: true, describe: "Only runs with this tag" },
    text: { type: "string", requiresArg: true, describe: "Only runs with this in their name or note" },
    limit: { alias: "l", type: "number", requiresArg: true, describe: "How many; 0: all [default: 20]" },
  },
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

const YES_FLAG: Flags = { yes: { type: "boolean", describe: "Delete them; without it they are only listed" } };

const pruneRunsSchema = z.object({
  ...runFilterShape,
  keep: wholeNumber(0).optional(),
  empty: z.boolean().default(false),
  yes: z.boolean().default(false),
});

export const pruneRunsCommand: Command = {
  flags: {
    ...RUN_FILTER_FLAGS,
    keep: { type: "number", requiresArg: true, describe: "Keep the newest that match, as many as this" },
    empty: { type: "boolean", describe: "Only runs that have not completed a single task" },
    ...YES_FLAG,
  },
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
  run: text,
  tags: z.array(z.coerce.string()).min(1, "expected a tag"),
  remove: z.boolean().default(false),
});

export const tagRunCommand: Command = {
  positionals: { run: RUN, tags: { type: "string", array: true, describe: "One or more tags" } },
  flags: { remove: { type: "boolean", describe: "Take the tags away" } },
  async run(argv, context) {
    const { run, tags, remove } = readFlags("runs tag", tagRunSchema, argv);
    const { tagRun } = await import("../../runs/manage.js");
    const labels = await tagRun(run, tags, remove ? "remove" : "add", context);
    context.out.result(labels, () => `Tags of run ${labels.id}: ${labels.tags.join(", ") || "none"}`);
    return EXIT.done;
  },
};

const showRunSchema = z.object({ run: text.default("latest"), all: z.boolean().default(false) });

/** Tasks listed without --all. */
const LISTED = 20;

export const showRunCommand: Command = {
  positionals: { run: { ...RUN, describe: `${RUN.describe} [default: latest]` } },
  flags: { all: { type: "boolean", describe: `List all tasks, not only the first ${LISTED}` } },
  async run(argv, { settings, out }) {
    const { run, all } = readFlags("runs show", showRunSchema, argv);
    const { runDetails } = await import("../../runs/manage.js");
    const details = await runDetails(run, settings);
    out.result(details, () => runDetailsText(details, all ? details.tasks.length : LISTED));
    return EXIT.done;
  },
};

const renameRunSchema = z
  .object({ run: text, name: z.coerce.string().optional(), remove: z.boolean().default(false) })
  .refine(({ name, remove }) => (name === undefined) === remove, {
    path: ["name"],
    message: "expected a name, or --remove",
  });

export const renameRunCommand: Command = {
  positionals: { run: RUN, name: { type: "string", describe: "Its name" } },
  flags: { remove: { type: "boolean", describe: "Take the name away" } },
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
  .object({ run: text, note: z.coerce.string().optional(), remove: z.boolean().default(false) })
  .refine(({ note, remove }) => (note === undefined) === remove, {
    path: ["note"],
    message: "expected a note, or --remove",
  });

export const noteRunCommand: Command = {
  positionals: { run: RUN, note: { type: "string", describe: "The note" } },
  flags: { remove: { type: "boolean", describe: "Take the note away" } },
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

const deleteRunsSchema = z.object({ runs: z.array(text).min(1, "expected a run"), yes: z.boolean().default(false) });

export const deleteRunsCommand: Command = {
  positionals: { runs: { ...RUN, array: true, describe: "Ids of runs, beginnings of them, or names" } },
  flags: YES_FLAG,
  async run(argv, context) {
    const { runs, yes } = readFlags("runs delete", deleteRunsSchema, argv);
    const { deleteRuns } = await import("../../runs/manage.js");
    const done = await deleteRuns(runs, yes, context);
    context.out.result(done, () => deletedRunsText(done));
    return EXIT.done;
  },
};
