import { z } from "zod";
import { checkOutputs } from "../app/output-files/check-outputs.js";
import { exportTraces } from "../app/results/export-traces.js";
import { EXIT } from "../domain/errors.js";
import { FORMATS, type Format } from "../exports/formats.js";
import { count } from "../reports/text/format-number.js";
import type { Command } from "./cli/command.js";
import { oneOf, readFlags, text } from "./cli/read-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "./flags/overwrite-flag.js";
import { readTraceSelection, TRACE_SELECTION_FLAGS, traceSelectionShape } from "./flags/trace-selection-flags.js";

const FORMAT_NAMES = Object.keys(FORMATS) as [Format, ...Format[]];

const schema = z.object({
  run: text.default("latest"),
  format: oneOf(FORMAT_NAMES).default("jsonl"),
  output: text.optional(),
  ...overwriteShape,
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
    ...TRACE_SELECTION_FLAGS,
  },
  async run(argv, { settings, out }) {
    const flags = readFlags("export-traces", schema, argv);
    const { run, format, output } = flags;
    const selection = readTraceSelection(flags);
    checkOutputs([{ flag: "--output", path: output, kind: "traces" }], [], {
      db: settings.db,
      overwrite: flags.overwrite,
    });
    const options = { dialect: "openai", reward: "artReward" } as const;
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
