import { z } from "zod";
import type { ExportSource } from "../app/traces/select-traces.js";
import { EXIT, UserError } from "../domain/errors.js";
import { FORMATS, type Format } from "../exports/formats.js";
import { flagName } from "../platform/flag-name.js";
import type { Command } from "./cli/command.js";
import { givenFlags, oneOf, readFlags, text } from "./cli/read-flags.js";
import { OTLP_FLAGS, otlpShape, sendsTraces } from "./flags/otlp-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "./flags/overwrite-flag.js";
import { readTraceSelection, TRACE_SELECTION_FLAGS, traceSelectionShape } from "./flags/trace-selection-flags.js";
import { printEvals, printExported } from "./print-exported-traces.js";
import { printSentTraces, refuseFileFlags } from "./print-sent-traces.js";

const FORMAT_NAMES = Object.keys(FORMATS) as [Format, ...Format[]];
const DIALECTS = ["openai", "hf"] as const;

const schema = z.object({
  run: text.default("latest"),
  chats: z.boolean().default(false),
  session: text.optional(),
  format: oneOf(FORMAT_NAMES).default("jsonl"),
  dialect: oneOf(DIALECTS).default("openai"),
  reward: text.optional(),
  for: oneOf(["evals"]).optional(),
  output: text.optional(),
  ...overwriteShape,
  ...otlpShape,
  ...traceSelectionShape,
});

export const exportTracesCommand: Command = {
  flags: {
    run: { type: "string", requiresArg: true, describe: "Its id, the beginning of it, or latest [default: latest]" },
    chats: { type: "boolean", describe: "The traces of all chats instead of a run's" },
    session: { type: "string", requiresArg: true, describe: "The traces of one chat session" },
    format: { type: "string", requiresArg: true, describe: `${FORMAT_NAMES.join(", ")} [default: jsonl]` },
    dialect: {
      type: "string",
      requiresArg: true,
      describe: "With --format chat: openai, or hf (arguments as objects, no weights) [default: openai]",
    },
    reward: {
      type: "string",
      requiresArg: true,
      describe: "With --format art: a score, or art for ART's own reward [default: that of --band]",
    },
    for: {
      type: "string",
      requiresArg: true,
      describe: "evals: a folder with the traces of each band and a manifest that says why",
    },
    output: { alias: "o", type: "string", requiresArg: true, describe: "File to write [default: stdout]" },
    ...OVERWRITE_FLAGS,
    ...OTLP_FLAGS,
    ...TRACE_SELECTION_FLAGS,
  },
  async run(argv, context) {
    const { settings, out } = context;
    const flags = readFlags("export-traces", schema, argv);
    const { format, output, dialect, noContent } = flags;
    const given = givenFlags(argv);
    const sends = sendsTraces(flags);
    if (sends) refuseFileFlags(given, format);
    refuseUnused(given, sends ? "otlp" : format);
    const selection = readTraceSelection(flags);
    const source = sourceOf(flags, given);
    if (sends) return printSentTraces({ ...flags, source, selection }, context);
    if (flags.for !== undefined) {
      await printEvals(flags, selection, given, context);
      return EXIT.done;
    }
    const { checkOutputs } = await import("../app/output-files/check-outputs.js");
    checkOutputs([{ flag: "--output", path: output, kind: "traces" }], [], {
      db: settings.db,
      overwrite: flags.overwrite,
    });
    const options = { dialect, reward: flags.reward ?? null, content: !noContent };
    const { exportTraces } = await import("../app/traces/export-traces.js");
    const exported = await exportTraces({ source, format, output, selection, options }, settings, out);
    if (settings.json && output !== undefined) out.result({ ...exported, format, output }, () => "");
    else printExported(exported, output, out);
    return EXIT.done;
  },
};

/** Flags that only choose among the traces of a run. */
const OF_RUNS = ["run", "by", "band", "minScore", "maxScore", "bestOfEpochs"];

function sourceOf(flags: z.output<typeof schema>, given: ReadonlySet<string>): ExportSource {
  if (!flags.chats && flags.session === undefined) return { run: flags.run };
  if (OF_RUNS.some((flag) => given.has(flag))) {
    throw new UserError(
      "flags_contradict",
      "--chats and --session ask for chats, which have no scores; --run, --by, --band, --min-score, --max-score and --best-of-epochs for a run.",
      "Export them one after the other.",
    );
  }
  return { session: flags.session ?? null };
}

function refuseUnused(given: ReadonlySet<string>, format: Format): void {
  for (const [flag, of] of [
    ["dialect", "chat"],
    ["reward", "art"],
    ["noContent", "otlp"],
  ] as const) {
    if (given.has(flag) && format !== of) {
      throw new UserError(
        "flags_contradict",
        `${flagName(flag)} is of --format ${of}.`,
        `Add it, or leave out ${flagName(flag)}.`,
      );
    }
  }
}
