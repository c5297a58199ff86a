import { z } from "zod";
import { checkOutputs } from "../../app/outputs/check-outputs.js";
import { collectReport, scoreMeanings, storedResults } from "../../app/results/collect-report.js";
import { TRACE_PLACEMENTS, TraceStore } from "../../app/results/trace-placement.js";
import { type WrittenPage, writePage } from "../../app/results/write-page.js";
import { programVersion } from "../../app/settings/program-version.js";
import { EXIT, UserError } from "../../domain/errors.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { csvHead, csvLine } from "../../reports/ci/csv-report.js";
import { markdownReport } from "../../reports/ci/markdown-report.js";
import { packedTrace } from "../../reports/html/packed-trace.js";
import type { ReportHead } from "../../reports/page/data.js";
import { count } from "../../reports/text/format-number.js";
import { type Db, openStore } from "../../store/connection/open-store.js";
import { getRun, type RunRow } from "../../store/runs/runs.js";
import type { Command, CommandContext } from "../cli/command.js";
import { openProgressLater } from "../cli/progress.js";
import { oneOf, readFlags, text } from "../cli/read-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "../flags/overwrite-flag.js";

const FORMATS = ["html", "md", "csv"] as const;

const schema = z.object({
  runs: z
    .array(text)
    .default(["latest"])
    .transform((runs) => (runs.length === 0 ? ["latest"] : runs)),
  format: oneOf(FORMATS).default("html"),
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
    traces: {
      type: "string",
      requiresArg: true,
      describe:
        "Conversations: embed (in the page), folder (beside it), none, auto (in it up to 5 MB, else beside) [default: auto]",
    },
  },
  async run(argv, context) {
    const flags = readFlags("report", schema, argv);
    refuseContradictions(flags, context);
    checkOutputs([{ flag: "--output", path: flags.output, kind: flags.format }], [], {
      db: context.settings.db,
      overwrite: flags.overwrite,
    });
    const db = openStore(context.settings.db, { mustExist: true });
    try {
      const runs = runsOf(db, flags.runs);
      if (flags.format === "csv") await writeCsv(db, runs, flags, context);
      else await writeReport(db, runs, flags, context);
      return EXIT.done;
    } finally {
      db.close();
    }
  },
};

function refuseContradictions({ format, traces, output }: Flags, { settings }: CommandContext): void {
  const contradict = (message: string, hint: string) => new UserError("flags_contradict", message, hint);
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

function runsOf(db: Db, names: readonly string[]): RunRow[] {
  const runs = names.map((name) => getRun(db, name));
  const twice = runs.find((run, i) => runs.findIndex(({ id }) => id === run.id) < i);
  if (twice === undefined) return runs;
  throw new UserError("flags_contradict", `The run ${twice.id} is named twice.`, "Name each run once.");
}

async function writeCsv(
  db: Db,
  runs: readonly RunRow[],
  { output }: Flags,
  { out, settings }: CommandContext,
): Promise<void> {
  const { meanings, tasks } = scoreMeanings(db, runs);
  const pieces = csvPieces(db, runs, meanings);
  if (output === undefined) await out.pieces(pieces);
  else await writeFileAtomically(output, pieces);
  if (settings.json) out.result({ format: "csv", output, runs: runs.map(({ id }) => id), tasks }, () => "");
  else if (output !== undefined) out.note(`${count(tasks)} tasks written to ${output}.`);
}

function* csvPieces(db: Db, runs: readonly RunRow[], meanings: ReportHead["scores"]): Generator<string> {
  yield csvHead(meanings);
  for (const [run, result] of storedResults(db, runs)) {
    yield csvLine({ runId: run.id, agentId: run.agentId, model: run.model }, result, meanings);
  }
}

async function writeReport(db: Db, runs: readonly RunRow[], flags: Flags, context: CommandContext): Promise<void> {
  const { out, settings, signal } = context;
  const isPage = flags.format === "html" && (flags.output !== undefined || !settings.json);
  const traceStore = new TraceStore(isPage ? (flags.traces ?? "auto") : "none", flags.output);
  const progress = openProgressLater(settings, "Reporting");
  try {
    const { meanings, leading, ...gathered } = await collectReport(
      db,
      runs,
      {
        onTask: (done, total) => progress.update(done, total, `${count(done)} tasks`),
        onTrace: (key, view) => traceStore.wantsNone || traceStore.add(key, packedTrace(view())),
      },
      signal,
    ).finally(() => progress.stop());
    const head: ReportHead = {
      version: programVersion(),
      createdAt: new Date().toISOString(),
      scores: meanings,
      leading,
      runs: gathered.runs,
      traces: { kind: "none" },
    };
    if (isPage) {
      const page = await writePage({ head, tasks: gathered.tasks }, traceStore, flags.output, out.pieces);
      printPage(page, flags.output, context);
    } else {
      const { traces: _, ...figures } = head;
      const markdown = () => markdownReport(head);
      if (flags.output !== undefined) await writeFileAtomically(flags.output, [markdown()]);
      if (flags.output === undefined || settings.json) {
        out.result({ ...figures, ...(flags.output === undefined ? {} : { output: flags.output }) }, markdown);
      } else out.note(`Written to ${flags.output}.`);
    }
  } catch (error) {
    traceStore.discard();
    throw error;
  }
}

/** Where the page and its conversations are. */
function printPage({ head, bytes }: WrittenPage, output: string | undefined, context: CommandContext): void {
  const { scores: _, ...summary } = head;
  if (context.settings.json) {
    context.out.result({ ...summary, output, bytes }, () => "");
    return;
  }
  const tasks = head.runs.reduce((sum, run) => sum + run.tasks, 0);
  const file = output === undefined ? "" : ` to ${output} (${megabytes(bytes)})`;
  const { traces } = head;
  context.note(
    `${count(tasks)} tasks written${file}; ${WHERE[traces.kind](traces.kind === "folder" ? traces.folder : "")}`,
  );
}

const WHERE = {
  embed: () => "their conversations are in the page.",
  folder: (folder: string) => `their conversations are in the folder ${folder} beside it: keep the two together.`,
  none: () => "without their conversations: art-e show RUN/TASK shows them.",
} as const;

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
