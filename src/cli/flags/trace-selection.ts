// Flags that select traces of a run by score, epoch and task.
import { z } from "zod";
import { listText, oneOf, text, toggle, wholeNumber, withTraits, words } from "../../platform/flag-values.js";
import type { TraceSelection } from "../../trace-formats/export-traces.js";
import { BANDS } from "../../traces/score-bands.js";
import { contradiction } from "./define-command.js";

/** A score for the default metric, such as `0.5`, or scores per metric, such as `METRIC=VALUE,METRIC=VALUE`. */
const scores = listText
  .regex(
    /^(?:[\w.-]+=)?-?\d+(?:\.\d+)?(?:,[\w.-]+=-?\d+(?:\.\d+)?)*$/,
    "expected a score such as 0.5, or METRIC=VALUE,METRIC=VALUE",
  )
  .transform((list) =>
    list.split(",").map((part) => {
      const [value = "", metric = null] = part.split("=").reverse();
      return { metric, value: Number(value) };
    }),
  );

const taskIds = withTraits(words, { completes: "tasks" }).pipe(
  z.array(z.string()).min(1, "expected ids of tasks, separated by commas"),
);

export const traceSelectionShape = {
  by: text
    .regex(/^[\w.-]+$/, "expected the name of a score")
    .optional()
    .meta({
      placeholder: "SCORE",
      description: "Score for the next four flags [default: accuracy, the headline score]",
    }),
  band: oneOf(BANDS)
    .optional()
    .meta({ description: "Only traces with a high (> 0.8), medium (0.5 to 0.8) or low (< 0.5) score" }),
  minScore: scores.optional().meta({
    placeholder: "N",
    description: "Minimum score, such as 0.5, or minimums by name, such as readGold=1,judgeCorrect=1",
  }),
  maxScore: scores.optional().meta({ placeholder: "N", description: "Maximum score" }),
  bestOfEpochs: toggle.meta({ description: "Only the best repeat of each question" }),
  failed: toggle.meta({ description: "Only failed tasks" }),
  ids: taskIds.optional().meta({ description: "Only these tasks: 3,7" }),
  limit: wholeNumber(1)
    .optional()
    .meta({ description: "Maximum number of traces, in the order of task ids", alias: "l" }),
};

const shape = z.object(traceSelectionShape);

/** Returns the selected traces. Throws a UserError for flags that contradict each other. */
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
      "--failed cannot be combined with --band, --min-score or --max-score, because failed tasks do not have scores.",
      "Export them separately.",
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
