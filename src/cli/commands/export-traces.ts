// The command `export-traces`: traces to a file, or to an OTLP server.
import { z } from "zod";
import { flagName } from "../../platform/command-line.js";
import { EXIT, type ExitCode, UserError } from "../../platform/errors.js";
import { fileOrStdout, OVERWRITE_FLAG, oneOf, shapeOf, text, toggle } from "../../platform/flag-values.js";
import { compact } from "../../platform/optional-values.js";
import { OTLP_FLAGS } from "../../runs/run-flags.js";
import { sendsTraces } from "../../runs/run-options.js";
import { count, counted } from "../../text/format.js";
import type { Exported, ExportSource, TraceSelection } from "../../trace-formats/export-traces.js";
import { endingsOfFormat, FORMATS, type Format, formatOfFile, REMOVED_FORMATS } from "../../trace-formats/formats.js";
import { BANDS } from "../../traces/score-bands.js";
import type { CommandContext } from "../command.js";
import { latestRun } from "../flags/argument-schemas.js";
import { contradiction, defineCommand, givenFlags } from "../flags/define-command.js";
import { readTraceSelection, traceSelectionShape } from "../flags/trace-selection.js";
import type { Output } from "../terminal.js";

const FORMAT_NAMES = Object.keys(FORMATS) as [Format, ...Format[]];
const DIALECTS = ["openai", "hf"] as const;

const schema = z.object({
  run: latestRun,
  chats: toggle.meta({ description: "Export the traces of all chats instead of a run" }),
  session: text.optional().meta({ placeholder: "ID", description: "Export the traces of one chat session" }),
  format: oneOf(FORMAT_NAMES, REMOVED_FORMATS)
    .optional()
    .meta({
      description: `Format: ${FORMAT_NAMES.join(", ")} [default: by the ending of the file (inspect: .eval), otherwise jsonl]`,
    }),
  dialect: oneOf(DIALECTS)
    .default("openai")
    .meta({ description: "With --format chat: openai, or hf (arguments as objects, no weights)" }),
  reward: text.optional().meta({
    placeholder: "SCORE",
    description: "With --format art: a score, or art for ART's reward [default: the score of --band]",
  }),
  for: oneOf(["evals"]).optional().meta({
    placeholder: "evals",
    description: "evals: a folder with the traces per band and a manifest with the reasons",
  }),
  output: fileOrStdout.meta({ description: "Output file, or - for stdout [default: stdout]", alias: "o" }),
  ...shapeOf(OVERWRITE_FLAG),
  ...shapeOf(OTLP_FLAGS),
  ...traceSelectionShape,
});

type Flags = z.output<typeof schema>;

export const exportTracesCommand = defineCommand(schema, async (flags, context, argv) => {
  const { settings, out } = context;
  const { output, dialect, noContent } = flags;
  const format = flags.format ?? formatOfFile(output);
  const explicitFlags = givenFlags(argv);
  const sends = sendsTraces(flags);
  if (sends) refuseFileFlags(explicitFlags, format);
  refuseUnused(explicitFlags, sends ? "otlp" : format);
  const selection = readTraceSelection(flags);
  const source = sourceOf(flags, explicitFlags);
  if (sends) return printSentTraces(flags, source, selection, context);
  if (flags.for !== undefined) {
    await printEvals(flags, selection, explicitFlags, context);
    return EXIT.done;
  }
  const { checkOutputs } = await import("../../trace-formats/output-files.js");
  checkOutputs([{ flag: "--output", path: output, kind: "traces", endings: endingsOfFormat(format) }], [], {
    db: settings.db,
    overwrite: flags.overwrite,
  });
  const options = { dialect, reward: flags.reward ?? null, content: !noContent };
  const { exportTraces } = await import("../../trace-formats/export-traces.js");
  const exported = await exportTraces({ source, format, output, selection, options }, settings, out);
  if (settings.json && output !== undefined) out.result({ ...exported, format, output }, () => "");
  else printExported(exported, output, out);
  return EXIT.done;
});

/** Flags that apply only to traces of a run. */
const OF_RUNS = ["run", "by", "band", "minScore", "maxScore", "bestOfEpochs"];

function sourceOf(flags: Flags, explicitFlags: ReadonlySet<string>): ExportSource {
  if (!flags.chats && flags.session === undefined) return { run: flags.run };
  if (OF_RUNS.some((flag) => explicitFlags.has(flag))) {
    throw contradiction(
      "--chats and --session cannot be combined with a run, --by, --band, --min-score, --max-score or --best-of-epochs.",
      "Export them separately.",
    );
  }
  return { session: flags.session ?? null };
}

function refuseUnused(explicitFlags: ReadonlySet<string>, format: Format): void {
  for (const [flag, of] of [
    ["dialect", "chat"],
    ["reward", "art"],
    ["noContent", "otlp"],
  ] as const) {
    if (explicitFlags.has(flag) && format !== of) {
      throw contradiction(
        `${flagName(flag)} only applies to --format ${of}.`,
        `Add --format ${of}, or remove ${flagName(flag)}.`,
      );
    }
  }
}

/** Sends traces and reports the result. Returns a failure exit code if the server rejected spans. */
async function printSentTraces(
  { otlpEndpoint: endpoint, scores, noContent }: Flags,
  source: ExportSource,
  selection: TraceSelection,
  context: CommandContext,
): Promise<ExitCode> {
  const { sendTraces } = await import("../../trace-formats/otlp-live.js");
  const delivery = await sendTraces({ source, selection, endpoint, scores, content: !noContent }, context);
  const { settings, out } = context;
  if (settings.json) out.result(delivery, () => "");
  const withScores = scores === undefined ? "" : ` and ${counted(delivery.scores, "score")}`;
  const spans = `${counted(delivery.delivered, "span")}${withScores}`;
  out.note(`${counted(delivery.traces, "trace")} of ${delivery.runId ?? "chats"} sent to ${delivery.host}: ${spans}.`);
  if (delivery.shortened > 0)
    out.note(
      `${count(delivery.shortened)} spans were sent without their largest texts, because a request is limited to 4 MB.`,
    );
  if (delivery.rejected > 0) out.note(`The server rejected ${counted(delivery.rejected, "span")}.`);
  for (const message of delivery.messages) out.note(`Message from the server: ${message}`);
  return delivery.rejected > 0 ? EXIT.failed : EXIT.done;
}

/** Throws a UserError for flags that only make sense when writing traces to a file. */
function refuseFileFlags(explicitFlags: ReadonlySet<string>, format: string): void {
  const flag = compact(["output", "overwrite", format !== "otlp" && "format"]).find((name) => explicitFlags.has(name));
  if (flag === undefined) return;
  throw contradiction(
    `--${flag} cannot be combined with --otlp and --otlp-endpoint, which send the traces to a server.`,
    "Run the command once for each.",
  );
}

/** Reports the number of written traces, and why others were left out. */
function printExported({ traces, runId, leftOut, notes }: Exported, output: string | undefined, out: Output): void {
  const omissions = Object.entries(leftOut);
  const missing = omissions.reduce((sum, [, n]) => sum + n, 0);
  const where = output === undefined ? "" : ` to ${output}`;
  const exportedTraces = traces - missing;
  out.note(`${counted(exportedTraces, "trace")} of ${runId ?? "chats"} written${where}.`);
  const reasons = omissions.map(([reason, n]) => `${count(n)} ${reason}`).join(", ");
  if (missing > 0) out.note(`${count(missing)} left out: ${reasons}.`);
  for (const note of notes) out.note(note);
}

/** Writes the folder of `--for evals` and reports its contents. */
async function printEvals(
  { run, output }: Flags,
  selection: TraceSelection,
  explicitFlags: ReadonlySet<string>,
  { settings, out }: CommandContext,
): Promise<void> {
  const other = ["format", "band", "failed", "chats", "session"].find((flag) => explicitFlags.has(flag));
  if (other !== undefined) {
    throw contradiction(`--for evals cannot be combined with --${other}.`, `Remove --${other}.`);
  }
  if (output === undefined)
    throw new UserError("flag_missing", "--for evals needs --output.", "Pass the folder: --output FOLDER.");
  const { exportScoreBands } = await import("../../trace-formats/export-traces.js");
  const manifest = await exportScoreBands({ run, folder: output, selection }, settings);
  if (settings.json) out.result({ ...manifest, output }, () => "");
  const bands = BANDS.map((band) => `${count(manifest.bands[band].count)} ${band}`).join(", ");
  const unscored = Object.values(manifest.unscored).reduce((sum, n) => sum + n, 0);
  out.note(`Traces of ${manifest.runId} by ${manifest.scorer} written to ${output}: ${bands}.`);
  if (unscored > 0) out.note(`${count(unscored)} do not have this score and are in no band.`);
  out.note(`To make evals from these bands (regression cases, edge cases, bug reproductions): ${manifest.next}`);
}
