import { z } from "zod";
import { checkOutputs } from "../app/output-files/check-outputs.js";
import { exportTraces } from "../app/results/export-traces.js";
import { EXIT, UserError } from "../domain/errors.js";
import { FORMATS, type Format } from "../exports/formats.js";
import { count } from "../reports/text/format-number.js";
import type { Command } from "./cli/command.js";
import { oneOf, readFlags, text } from "./cli/read-flags.js";
import { OTLP_FLAGS, otlpShape, sendsTraces } from "./flags/otlp-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "./flags/overwrite-flag.js";
import { readTraceSelection, TRACE_SELECTION_FLAGS, traceSelectionShape } from "./flags/trace-selection-flags.js";
import { printSentTraces } from "./print-sent-traces.js";

const FORMAT_NAMES = Object.keys(FORMATS) as [Format, ...Format[]];

const schema = z.object({
  run: text.default("latest"),
  format: oneOf(FORMAT_NAMES).optional(),
  output: text.optional(),
  ...overwriteShape,
  ...otlpShape,
  ...traceSelectionShape,
});

export const exportTracesCommand: Command = {
  flags: {
    run: {
      type: "string",
      requiresArg: true,
      describe: "Its id, the beginning of it, or latest [default: latest]",
    },
    format: { type: "string", requiresArg: true, describe: `${FORMAT_NAMES.join(", ")} [default: jsonl]` },
    output: { alias: "o", type: "string", requiresArg: true, describe: "File to write [default: stdout]" },
    ...OVERWRITE_FLAGS,
    ...OTLP_FLAGS,
    ...TRACE_SELECTION_FLAGS,
  },
  async run(argv, context) {
    const { settings, out } = context;
    const flags = readFlags("export-traces", schema, argv);
    const { run, format = "jsonl", output } = flags;
    const selection = readTraceSelection(flags);
    if (sendsTraces(flags)) {
      refuseFile(flags);
      return printSentTraces({ ...flags, selection }, context);
    }
    checkOutputs([{ flag: "--output", path: output, kind: "traces" }], [], {
      db: settings.db,
      overwrite: flags.overwrite,
    });
    const options = { dialect: "openai", reward: "artReward", content: !flags.noContent } as const;
    const { notes, leftOut, ...exported } = await exportTraces(
      { run, format, output, selection, options },
      settings,
      out,
    );
    if (settings.json && output !== undefined) out.result({ ...exported, format, output }, () => "");
    else {
      const where = output === undefined ? "" : ` to ${output}`;
      out.note(`${count(exported.traces)} traces of ${exported.runId} written${where}.`);
    }
    return EXIT.done;
  },
};

function refuseFile({ format, output }: z.output<typeof schema>): void {
  const flag = output !== undefined ? "--output" : format !== undefined && format !== "otlp" ? "--format" : null;
  if (flag === null) return;
  throw new UserError(
    "flags_contradict",
    `${flag} is for a file, and --otlp and --otlp-endpoint send the traces to a server.`,
    "Do one after the other.",
  );
}
