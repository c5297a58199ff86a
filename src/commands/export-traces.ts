import { z } from "zod";
import { checkOutputs } from "../app/output-files/check-outputs.js";
import { exportTraces } from "../app/results/export-traces.js";
import { EXIT, UserError } from "../domain/errors.js";
import { BANDS } from "../domain/scores/score.js";
import { FORMATS, type Format } from "../exports/formats.js";
import { count } from "../reports/text/format-number.js";
import type { TraceFilter } from "../store/runs/traces.js";
import type { Command } from "./cli/command.js";
import { numberBetween, oneOf, readFlags, text } from "./cli/read-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "./flags/overwrite-flag.js";

const FORMAT_NAMES = Object.keys(FORMATS) as [Format, ...Format[]];

const schema = z.object({
  run: text.default("latest"),
  format: oneOf(FORMAT_NAMES).default("jsonl"),
  output: text.optional(),
  ...overwriteShape,
  band: oneOf(BANDS).optional(),
  minScore: numberBetween(0, 1).optional(),
  maxScore: numberBetween(0, 1).optional(),
  failed: z.boolean().default(false),
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
    band: {
      type: "string",
      requiresArg: true,
      describe: "Only semantic scores high (> 0.8), medium (0.5-0.8), low (< 0.5)",
    },
    "min-score": {
      type: "number",
      requiresArg: true,
      describe: "Only semantic scores of at least this, 0-1",
    },
    "max-score": { type: "number", requiresArg: true, describe: "Only semantic scores of at most this, 0-1" },
    failed: { type: "boolean", describe: "Only failed tasks" },
  },
  async run(argv, { settings, out }) {
    const flags = readFlags("export-traces", schema, argv);
    refuseContradictions(flags);
    checkOutputs([{ flag: "--output", path: flags.output, kind: "traces" }], [], {
      db: settings.db,
      overwrite: flags.overwrite,
    });
    const { run, format, output } = flags;
    const { runId, traces } = await exportTraces({ run, format, output, filter: filterOf(flags) }, settings, out.lines);
    if (settings.json && output !== undefined) out.result({ runId, format, output, traces }, () => "");
    else out.note(`${count(traces)} traces of ${runId} written${output === undefined ? "" : ` to ${output}`}.`);
    return EXIT.done;
  },
};

type Flags = z.output<typeof schema>;

function refuseContradictions({ minScore, maxScore, failed, band }: Flags): void {
  if (minScore !== undefined && maxScore !== undefined && minScore > maxScore) {
    throw new UserError("flags_contradict", `--min-score ${minScore} is above --max-score ${maxScore}.`, "Swap them.");
  }
  if (failed && (minScore !== undefined || maxScore !== undefined || band !== undefined)) {
    throw new UserError(
      "flags_contradict",
      "--failed asks for tasks without a score, --band, --min-score and --max-score for tasks with one.",
      "Export them one after the other.",
    );
  }
}

function filterOf({ band, minScore, maxScore, failed }: Flags): Omit<TraceFilter, "runId"> {
  return {
    band: band ?? null,
    minScore: minScore ?? null,
    maxScore: maxScore ?? null,
    failedOnly: failed,
  };
}
