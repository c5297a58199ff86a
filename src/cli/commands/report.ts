// The command `report`: runs as HTML, Markdown, CSV or JUnit.
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { commandLine } from "../../platform/command-line.js";
import { writeFileAtomically } from "../../platform/files.js";
import { fileOrStdout, OVERWRITE_FLAG, oneOf, shapeOf, text, toggle } from "../../platform/flag-values.js";
import { presentProperties } from "../../platform/optional-values.js";
import { openInBrowser } from "../../platform/processes.js";
import { markdownReport, reportFigures } from "../../reports/markdown-report.js";
import { TRACE_PLACEMENTS } from "../../reports/report-data.js";
import type { WrittenPage, writeCsvSummaries } from "../../results/write-report.js";
import { counted, megabytes } from "../../text/format.js";
import type { CommandContext } from "../command.js";
import { runNames } from "../flags/argument-schemas.js";
import { contradiction, defineCommand } from "../flags/define-command.js";

const FORMATS = ["html", "md", "csv"] as const;

const reportSchema = z.object({
  runs: runNames.meta({
    description: "Run ids, latest, or results files. Several runs are compared with the first [default: latest]",
  }),
  format: oneOf(FORMATS).optional().meta({
    description:
      "html (a page), md (for a pull request), csv (one line per task) [default: the ending of the output file, otherwise html]",
  }),
  csv: text.optional().meta({
    placeholder: "FOLDER",
    description:
      "Folder for CSV tables: tasks, scores, slices, tools (for suites also states, steps, durations, pairs)",
  }),
  output: fileOrStdout.meta({
    description: "Output file, or - for stdout [default: stdout, or art-e-report.html if stdout is a terminal]",
    alias: "o",
  }),
  ...shapeOf(OVERWRITE_FLAG),
  open: toggle.meta({ description: "Open the page in the browser" }),
  traces: oneOf(TRACE_PLACEMENTS).optional().meta({
    description:
      "Conversations: embed (in the page), folder (next to it), none, auto (embed up to 5 MB) [default: auto]",
  }),
});

type ReportFlags = z.output<typeof reportSchema> & { readonly format: (typeof FORMATS)[number] };

/** Writes tables of runs into a folder and reports the file names. Replaces only tables of earlier reports. */
export async function writeSummaries(
  folder: string,
  { runs, overwrite }: { readonly runs: readonly string[]; readonly overwrite: boolean },
  context: CommandContext,
): Promise<Awaited<ReturnType<typeof writeCsvSummaries>>> {
  const reports = await import("../../results/write-report.js");
  const outputs = reports.summaryPaths(folder).map((path) => ({ path, kind: "csv" }) as const);
  const { resultsFiles } = await import("../../results/results-file.js");
  const { checkOutputFolder } = await import("../../trace-formats/output-files.js");
  checkOutputFolder("--csv", folder, outputs, resultsFiles(runs, "report"), { db: context.settings.db, overwrite });
  const paths = await reports.writeCsvSummaries(runs, folder, context);
  if (!context.settings.json) context.note(`Written to ${folder}: ${paths.files.join(", ")}.`);
  return paths;
}

const DEFAULT_PAGE = "art-e-report.html";

/**
 * Returns the default output file. A page goes to a file instead of a terminal, because raw HTML is unreadable there.
 */
function defaultOutput({ format, csv, open }: ReportFlags, { settings }: CommandContext): string | undefined {
  const isPage = format === "html" && csv === undefined;
  return isPage && (open || (process.stdout.isTTY && !settings.json)) ? DEFAULT_PAGE : undefined;
}

/** `output` is the specified file or the default. */
function refuseContradictions(
  { format, traces, output, csv, open }: ReportFlags,
  { settings }: CommandContext,
  argv: Readonly<Record<string, unknown>>,
): void {
  const other = ["output", "format", "traces", "open"].find((name) => argv[name] !== undefined);
  if (csv !== undefined && other !== undefined) {
    throw contradiction(
      `--csv writes tables instead of the report and cannot be combined with --${other}.`,
      "Remove one of them.",
    );
  }
  if (traces !== undefined && format !== "html") {
    throw contradiction(`--traces only applies to --format html.`, "Leave it out.");
  }
  if (open && format !== "html") {
    throw contradiction(`--open only applies to --format html.`, "Leave it out.");
  }
  if (traces === "folder" && output === undefined) {
    throw contradiction("--traces folder cannot be used if the page goes to stdout.", "Pass --output FILE.");
  }
  if (settings.json && format === "csv" && output === undefined) {
    throw contradiction(
      "--json and --format csv cannot both print to stdout.",
      "Pass --output FILE, or remove one of them.",
    );
  }
}

export const reportCommand = defineCommand(reportSchema, async (input, context, argv) => {
  const { checkOutputs, kindOfEnding } = await import("../../trace-formats/output-files.js");
  const { resultsFiles } = await import("../../results/results-file.js");
  const complete = { ...input, format: input.format ?? kindOfEnding(input.output, FORMATS) ?? "html" };
  const isOutputGiven = argv.output !== undefined;
  const flags = { ...complete, output: isOutputGiven ? input.output : defaultOutput(complete, context) };
  refuseContradictions(flags, context, argv);
  const inputs = resultsFiles(flags.runs, "report");
  checkOutputs([{ flag: "--output", path: flags.output, kind: flags.format }], inputs, {
    db: context.settings.db,
    overwrite: flags.overwrite,
  });
  if (flags.csv !== undefined) {
    const paths = await writeSummaries(flags.csv, flags, context);
    if (context.settings.json) context.out.result({ folder: flags.csv, ...paths }, () => "");
  } else if (flags.format === "csv") await reportCsv(flags, context);
  else if (flags.format === "html" && (flags.output !== undefined || !context.settings.json)) {
    await reportPage(flags, context);
    const address = flags.output === undefined ? null : pathToFileURL(flags.output).href;
    if (flags.open && address !== null && !(await openInBrowser(address))) {
      context.note(`Cannot start a browser. Open ${address}`);
    }
  } else await reportSummary(flags, context);
});

/** Imported when a report is made, because `--help` does not need this module. */
const loadReports = () => import("../../results/write-report.js");

async function reportCsv({ runs: names, output }: ReportFlags, context: CommandContext): Promise<void> {
  const { writeCsvReport } = await loadReports();
  const { runs, tasks } = await writeCsvReport(names, output, context, context.out.pieces);
  if (context.settings.json) context.out.result({ format: "csv", output, runs, tasks }, () => "");
  else if (output !== undefined) context.note(`${counted(tasks, "task")} written to ${output}.`);
}

async function reportPage({ runs, output, traces }: ReportFlags, context: CommandContext): Promise<void> {
  const placement = traces ?? "auto";
  const { writePageReport } = await loadReports();
  const page = await writePageReport(runs, { output, placement }, context, context.out.pieces);
  printPage(page, output, context);
}

/** Writes the report as Markdown, or prints it as a JSON document with --json. */
async function reportSummary({ runs, output }: ReportFlags, context: CommandContext): Promise<void> {
  const { readReport } = await loadReports();
  const head = await readReport(runs, context);
  const figures = reportFigures(head);
  if (output !== undefined) await writeFileAtomically(output, [markdownReport(head)]);
  if (output === undefined || context.settings.json) {
    context.out.result({ ...figures, ...presentProperties({ output }) }, () => markdownReport(head));
  } else context.note(`Written to ${output}.`);
}

/** Prints the location of the page and of its conversations. */
function printPage({ head, bytes }: WrittenPage, output: string | undefined, context: CommandContext): void {
  if (context.settings.json) {
    const { scores: _, ...figures } = reportFigures(head);
    context.out.result({ ...figures, traces: head.traces, output, bytes }, () => "");
    return;
  }
  const tasks = head.runs.reduce((sum, run) => sum + run.tasks, 0);
  const file = output === undefined ? "" : ` to ${output} (${megabytes(bytes)})`;
  const { traces } = head;
  const isWithout = head.runs.every(({ hasConversations }) => !hasConversations);
  const where = isWithout ? "results files hold no conversations." : whereConversationsAre(traces);
  context.note(`${counted(tasks, "task")} written${file}; ${where}`);
}

function whereConversationsAre(traces: WrittenPage["head"]["traces"]): string {
  if (traces.kind === "folder") {
    return `its conversations are in the folder ${traces.folder}. Keep both in the same place.`;
  }
  if (traces.kind === "embed") return "their conversations are in the page.";
  return `without their conversations: ${commandLine`art-e show RUN/TASK`} shows them.`;
}
