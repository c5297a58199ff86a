import { z } from "zod";
import { checkOutputs } from "../app/outputs/check-outputs.js";
import { EXIT, UserError } from "../domain/errors.js";
import type { Trace } from "../domain/runs/trace.js";
import { BANDS } from "../domain/scores/score.js";
import { FORMATS, type Format } from "../exports/formats.js";
import { writeFileAtomically } from "../platform/atomic-file.js";
import { count } from "../reports/text/format-number.js";
import { openStore } from "../store/connection/open-store.js";
import { getRun } from "../store/runs/runs.js";
import { iterateTraces, type TraceFilter } from "../store/runs/traces.js";
import type { Command } from "./cli/command.js";
import { oneOf, readFlags, text, within } from "./cli/read-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "./flags/overwrite-flag.js";

const FORMAT_NAMES = Object.keys(FORMATS) as [Format, ...Format[]];

const schema = z.object({
  run: text.default("latest"),
  format: oneOf(FORMAT_NAMES).default("jsonl"),
  output: text.optional(),
  ...overwriteShape,
  band: oneOf(BANDS).optional(),
  minScore: within(0, 1).optional(),
  maxScore: within(0, 1).optional(),
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
    const db = openStore(settings.db, { mustExist: true });
    try {
      const run = getRun(db, flags.run);
      const traces = counted(iterateTraces(db, filterOf(run.id, flags)));
      const lines = linesOf(traces.each(), flags.format);
      if (flags.output === undefined) await out.lines(lines);
      else await writeFileAtomically(flags.output, withLineEnds(lines));
      const where = flags.output === undefined ? "" : ` to ${flags.output}`;
      const { output, format } = flags;
      if (settings.json && output !== undefined) {
        out.result({ runId: run.id, format, output, traces: traces.count() }, () => "");
      } else out.note(`${count(traces.count())} traces of ${run.id} written${where}.`);
      return EXIT.done;
    } finally {
      db.close();
    }
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

function filterOf(runId: string, { band, minScore, maxScore, failed }: Flags): TraceFilter {
  return {
    runId,
    band: band ?? null,
    minScore: minScore ?? null,
    maxScore: maxScore ?? null,
    failedOnly: failed,
  };
}

function* linesOf(traces: Iterable<Trace>, format: Format): Generator<string> {
  for (const trace of traces) yield* FORMATS[format](trace);
}

function* withLineEnds(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`;
}

function counted<T>(items: Iterable<T>) {
  let seen = 0;
  return {
    *each(): Generator<T> {
      for (const item of items) {
        seen++;
        yield item;
      }
    },
    count: () => seen,
  };
}
