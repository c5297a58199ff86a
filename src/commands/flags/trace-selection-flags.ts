import { z } from "zod";
import type { TraceSelection } from "../../app/traces/trace-filter.js";
import { UserError } from "../../domain/errors.js";
import { BANDS } from "../../domain/scores/score-bands.js";
import type { Flags } from "../cli/command.js";
import { wordList } from "../cli/list-flags.js";
import { oneOf, text, wholeNumber } from "../cli/read-flags.js";

/** Which traces of a run. */
export const TRACE_SELECTION_FLAGS: Flags = {
  by: {
    type: "string",
    requiresArg: true,
    describe: "The score that the next four go by [default: semantic; of a suite: taskScore]",
  },
  band: {
    type: "string",
    requiresArg: true,
    describe: "Only scores high (> 0.8), medium (0.5-0.8), low (< 0.5)",
  },
  "min-score": {
    type: "string",
    requiresArg: true,
    describe: "Only scores of at least this: 0.5, or by name: readGold=1,judgeCorrect=1",
  },
  "max-score": { type: "string", requiresArg: true, describe: "Only scores of at most this" },
  "best-of-epochs": { type: "boolean", describe: "Of each question's repeats only the one with the best score" },
  failed: { type: "boolean", describe: "Only failed tasks" },
  ids: { type: "string", requiresArg: true, describe: "Only these tasks: 3,7" },
  limit: { alias: "l", type: "number", requiresArg: true, describe: "At most so many, by task id" },
};

/** `0.5`, or `METRIC=VALUE,METRIC=VALUE`. */
const scores = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(
    z
      .string()
      .regex(
        /^(?:[\w.-]+=)?-?\d+(?:\.\d+)?(?:,[\w.-]+=-?\d+(?:\.\d+)?)*$/,
        "expected a score such as 0.5, or METRIC=VALUE,METRIC=VALUE",
      ),
  )
  .transform((list) =>
    list.split(",").map((part) => {
      const [value = "", metric = null] = part.split("=").reverse();
      return { metric, value: Number(value) };
    }),
  );

const taskNames = z
  .union([z.string(), z.number()])
  .transform((value) => wordList(String(value)))
  .pipe(z.array(z.string()).min(1, "expected ids of tasks, separated by commas"));

export const traceSelectionShape = {
  by: text.regex(/^[\w.-]+$/, "expected the name of a score").optional(),
  band: oneOf(BANDS).optional(),
  minScore: scores.optional(),
  maxScore: scores.optional(),
  bestOfEpochs: z.boolean().default(false),
  failed: z.boolean().default(false),
  ids: taskNames.optional(),
  limit: wholeNumber(1).optional(),
};

const shape = z.object(traceSelectionShape);

/** Throws a UserError for flags that contradict each other. */
export function readTraceSelection(flags: z.output<typeof shape>): TraceSelection {
  const { by, band, minScore = [], maxScore = [], bestOfEpochs, failed, ids, limit } = flags;
  for (const { metric, value } of minScore) {
    const max = maxScore.find((bound) => bound.metric === metric)?.value;
    if (max === undefined || value <= max) continue;
    const name = metric === null ? "" : `${metric}=`;
    throw contradiction(`--min-score ${name}${value} is above --max-score ${name}${max}.`, "Swap them.");
  }
  if (failed && (minScore.length > 0 || maxScore.length > 0 || band !== undefined)) {
    throw contradiction(
      "--failed asks for tasks without a score, --band, --min-score and --max-score for tasks with one.",
      "Export them one after the other.",
    );
  }
  const bounds = [
    ...minScore.map(({ metric, value }) => ({ metric, min: value })),
    ...maxScore.map(({ metric, value }) => ({ metric, max: value })),
  ];
  return {
    by: by ?? null,
    band: band ?? null,
    bounds,
    failedOnly: failed,
    ids: ids ?? null,
    bestOfEpochs,
    limit: limit ?? null,
  };
}

function contradiction(message: string, hint: string): UserError {
  return new UserError("flags_contradict", message, hint);
}
