import { z } from "zod";
import { TRACE_PLACEMENTS } from "../../app/results/report-conversations.js";
import { UserError } from "../../domain/errors.js";
import type { Command, CommandContext } from "../cli/command.js";
import { runNames } from "../cli/list-flags.js";
import { oneOf, text } from "../cli/read-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "../flags/overwrite-flag.js";

const DEFAULT_PAGE = "art-e-report.html";

const FORMATS = ["html", "md", "csv"] as const;

export const reportSchema = z.object({
  runs: runNames,
  format: oneOf(FORMATS).default("html"),
  csv: text.optional(),
  output: text.optional(),
  ...overwriteShape,
  open: z.boolean().default(false),
  traces: oneOf(TRACE_PLACEMENTS).optional(),
});

export type ReportFlags = z.output<typeof reportSchema>;

export const REPORT_FLAGS: Pick<Command, "positionals" | "flags"> = {
  positionals: {
    runs: {
      type: "string",
      array: true,
      describe: "Runs: ids, latest, or results files; several are compared with the first [default: latest]",
    },
  },
  flags: {
    output: {
      alias: "o",
      type: "string",
      requiresArg: true,
      describe: "File to write [default: stdout; a page on a terminal: art-e-report.html]",
    },
    open: { type: "boolean", describe: "Open the page in the browser" },
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
};

/** A page on a terminal helps nobody: it goes to a file. */
export function defaultOutput({ format, csv, open }: ReportFlags, { settings }: CommandContext): string | undefined {
  const isPage = format === "html" && csv === undefined;
  return isPage && (open || (process.stdout.isTTY && !settings.json)) ? DEFAULT_PAGE : undefined;
}

/** `output`: with its default. */
export function refuseContradictions(
  { format, traces, output, csv, open }: ReportFlags,
  { settings }: CommandContext,
  argv: Readonly<Record<string, unknown>>,
): void {
  const contradict = (message: string, hint: string) => new UserError("flags_contradict", message, hint);
  const beside = ["output", "format", "traces", "open"].find((name) => argv[name] !== undefined);
  if (csv !== undefined && beside !== undefined) {
    throw contradict(`--csv writes tables instead of the report, and --${beside} is for that.`, "Give one of them.");
  }
  if (traces !== undefined && format !== "html") {
    throw contradict(`--traces is for --format html; ${format} has no conversations.`, "Leave it out.");
  }
  if (open && format !== "html") {
    throw contradict(`--open opens a page, and ${format} is none.`, "Leave it out.");
  }
  if (traces === "folder" && output === undefined) {
    throw contradict("--traces folder puts the folder beside the page, and the page goes to stdout.", "Give --output.");
  }
  if (settings.json && format === "csv" && output === undefined) {
    throw contradict("--json and --format csv both want stdout.", "Give --output, or leave one of them out.");
  }
}
