import { DIMENSIONS, type ReliabilityCard } from "../analysis/reliability.js";
import { count, estimate, table } from "../text/format.js";

interface ReliabilityOfRun extends ReliabilityCard {
  readonly runId: string;
  readonly scorer: string;
  readonly questions: number;
  readonly tasks: number;
}

/** Formats a reliability card, one line per property with its definition. */
export function reliabilityText({ runId, scorer, questions, tasks, rows, missing }: ReliabilityOfRun): string {
  const inOrder = DIMENSIONS.flatMap((dimension) => rows.filter((row) => row.dimension === dimension));
  return [
    `Reliability of ${runId}: ${scorer}, ${count(questions)} questions, ${count(tasks)} tasks`,
    "",
    table(
      ["", "", "value (95%)", "definition"],
      inOrder.map((row) => [row.dimension, row.name, estimate(row.estimate), row.definition]),
    ),
    ...(missing.length === 0 ? [] : ["", ...missing]),
  ].join("\n");
}
