import { z } from "zod";
import { checkOutputs } from "../../app/output-files/check-outputs.js";
import { TRACE_PLACEMENTS } from "../../app/results/report-conversations.js";
import { readReport, writeCsvReport, writePageReport } from "../../app/results/write-report.js";
import { EXIT, UserError } from "../../domain/errors.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { markdownReport } from "../../reports/ci/markdown-report.js";
import { count } from "../../reports/text/format-number.js";
import type { Command, CommandContext } from "../cli/command.js";
import { oneOf, readFlags, text } from "../cli/read-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "../flags/overwrite-flag.js";
import { writeSummaries } from "../write-summaries.js";
import { printPage } from "./print-page.js";

const FORMATS = ["html", "md", "csv"] as const;

const schema = z.object({
  runs: z
    .array(text)
    .default(["latest"])
    .transform((runs) => (runs.length === 0 ? ["latest"] : runs)),
  format: oneOf(FORMATS).default("html"),
  csv: text.optional(),
  output: text.optional(),
  ...overwriteShape,
  traces: oneOf(TRACE_PLACEMENTS).optional(),
});

type Flags = z.output<typeof schema>;

export const reportCommand: Command = {
  positionals: {
    runs: { type: "string", array: true, describe: "Runs: an id, the beginning of one, or latest [default: latest]" },
  },
  flags: {
    output: { alias: "o", type: "string", requiresArg: true, describe: "File to write [default: stdout]" },
    ...OVERWRITE_FLAGS,
    format: {
      type: "string",
      requiresArg: true,
      describe: "html (a page), md (for a pull request), csv (a line a task) [default: html]",
    },
    csv: {
      type: "string",
      requiresArg: true,
      describe:
        "Folder for tables (CSV) instead: tasks, scores, slices, tools; of suites states, steps, durations, pairs",
    },
    traces: {
      type: "string",
      requiresArg: true,
      describe:
        "Conversations: embed (in the page), folder (beside it), none, auto (in it up to 5 MB, else beside) [default: auto]",
    },
  },
  async run(argv, context) {
    const flags = readFlags("report", schema, argv);
    refuseContradictions(flags, context, argv);
    checkOutputs([{ flag: "--output", path: flags.output, kind: flags.format }], [], {
      db: context.settings.db,
      overwrite: flags.overwrite,
    });
    if (flags.csv !== undefined) await reportSummaries(flags.csv, flags, context);
    else if (flags.format === "csv") await reportCsv(flags, context);
    else if (flags.format === "html" && (flags.output !== undefined || !context.settings.json)) {
      await reportPage(flags, context);
    } else await reportFigures(flags, context);
    return EXIT.done;
  },
};

async function reportSummaries(folder: string, flags: Flags, context: CommandContext): Promise<void> {
  const written = await writeSummaries(folder, flags, context);
  if (context.settings.json) context.out.result({ folder, ...written }, () => "");
}

async function reportCsv({ runs: names, output }: Flags, context: CommandContext): Promise<void> {
  const { runs, tasks } = await writeCsvReport(names, output, context, context.out.pieces);
  if (context.settings.json) context.out.result({ format: "csv", output, runs, tasks }, () => "");
  else if (output !== undefined) context.note(`${count(tasks)} tasks written to ${output}.`);
}

async function reportPage({ runs, output, traces }: Flags, context: CommandContext): Promise<void> {
  const placement = traces ?? "auto";
  const page = await writePageReport(runs, { output, placement }, context, context.out.pieces);
  printPage(page, output, context);
}

/** As Markdown; with --json as a JSON document. */
async function reportFigures({ runs, output }: Flags, context: CommandContext): Promise<void> {
  const head = await readReport(runs, context);
  const { traces: _, ...figures } = head;
  if (output !== undefined) await writeFileAtomically(output, [markdownReport(head)]);
  if (output === undefined || context.settings.json) {
    context.out.result({ ...figures, ...(output === undefined ? {} : { output }) }, () => markdownReport(head));
  } else context.note(`Written to ${output}.`);
}

function refuseContradictions(
  { format, traces, output, csv }: Flags,
  { settings }: CommandContext,
  argv: Readonly<Record<string, unknown>>,
): void {
  const contradict = (message: string, hint: string) => new UserError("flags_contradict", message, hint);
  const beside = ["output", "format", "traces"].find((name) => argv[name] !== undefined);
  if (csv !== undefined && beside !== undefined) {
    throw contradict(`--csv writes tables instead of the report, and --${beside} is for that.`, "Give one of them.");
  }
  if (traces !== undefined && format !== "html") {
    throw contradict(`--traces is for --format html; ${format} has no conversations.`, "Leave it out.");
  }
  if (traces === "folder" && output === undefined) {
    throw contradict("--traces folder puts the folder beside the page, and the page goes to stdout.", "Give --output.");
  }
  if (settings.json && format === "csv" && output === undefined) {
    throw contradict("--json and --format csv both want stdout.", "Give --output, or leave one of them out.");
  }
}
