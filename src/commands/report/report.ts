import { pathToFileURL } from "node:url";
import { EXIT } from "../../domain/errors.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { openInBrowser } from "../../processes/open-in-browser.js";
import { count } from "../../reports/text/format-number.js";
import type { Command, CommandContext } from "../cli/command.js";
import { readFlags } from "../cli/read-flags.js";
import { writeSummaries } from "../write-summary-tables.js";
import { printPage } from "./print-page.js";
import { defaultOutput, REPORT_FLAGS, type ReportFlags, refuseContradictions, reportSchema } from "./report-flags.js";

export const reportCommand: Command = {
  ...REPORT_FLAGS,
  async run(argv, context) {
    const given = readFlags("report", reportSchema, argv);
    const flags = { ...given, output: given.output ?? defaultOutput(given, context) };
    refuseContradictions(flags, context, argv);
    const { resultsFiles } = await import("../../app/results/open-results.js");
    const inputs = resultsFiles(flags.runs, "report");
    const { checkOutputs } = await import("../../app/output-files/check-outputs.js");
    checkOutputs([{ flag: "--output", path: flags.output, kind: flags.format }], inputs, {
      db: context.settings.db,
      overwrite: flags.overwrite,
    });
    if (flags.csv !== undefined) await reportSummaries(flags.csv, flags, context);
    else if (flags.format === "csv") await reportCsv(flags, context);
    else if (flags.format === "html" && (flags.output !== undefined || !context.settings.json)) {
      await reportPage(flags, context);
      if (flags.open && flags.output !== undefined) await openPage(flags.output, context);
    } else await reportSummary(flags, context);
    return EXIT.done;
  },
};

/** Loaded when a report is made: `--help` needs none of it. */
const loadReports = () => import("../../app/results/write-report.js");

async function reportSummaries(folder: string, flags: ReportFlags, context: CommandContext): Promise<void> {
  const written = await writeSummaries(folder, flags, context);
  if (context.settings.json) context.out.result({ folder, ...written }, () => "");
}

async function reportCsv({ runs: names, output }: ReportFlags, context: CommandContext): Promise<void> {
  const { writeCsvReport } = await loadReports();
  const { runs, tasks } = await writeCsvReport(names, output, context, context.out.pieces);
  if (context.settings.json) context.out.result({ format: "csv", output, runs, tasks }, () => "");
  else if (output !== undefined) context.note(`${count(tasks)} tasks written to ${output}.`);
}

async function reportPage({ runs, output, traces }: ReportFlags, context: CommandContext): Promise<void> {
  const placement = traces ?? "auto";
  const { writePageReport } = await loadReports();
  const page = await writePageReport(runs, { output, placement }, context, context.out.pieces);
  printPage(page, output, context);
}

async function openPage(output: string, { note }: CommandContext): Promise<void> {
  const address = pathToFileURL(output).href;
  if (!(await openInBrowser(address))) note(`No browser could be started here: open ${address}`);
}

/** As Markdown; with --json as a JSON document. */
async function reportSummary({ runs, output }: ReportFlags, context: CommandContext): Promise<void> {
  const [{ readReport }, { markdownReport }, { reportFigures }] = await Promise.all([
    loadReports(),
    import("../../reports/files/markdown-report.js"),
    import("../../reports/files/report-figures.js"),
  ]);
  const head = await readReport(runs, context);
  const figures = reportFigures(head);
  if (output !== undefined) await writeFileAtomically(output, [markdownReport(head)]);
  if (output === undefined || context.settings.json) {
    context.out.result({ ...figures, ...(output === undefined ? {} : { output }) }, () => markdownReport(head));
  } else context.note(`Written to ${output}.`);
}
