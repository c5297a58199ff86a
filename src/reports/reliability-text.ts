import {
  DIMENSIONS,
  type ReliabilityCard,
  type ReliabilityOfRun,
  type ReliabilityRow,
} from "../analysis/reliability.js";
import { count, estimate, table } from "../text/format.js";

/** Formats a reliability card, one line per property with its definition. */
export function reliabilityText(card: ReliabilityOfRun): string {
  const { missing } = card;
  return [
    reliabilityTitle(card),
    "",
    table(
      ["", "", "value (95%)", "definition"],
      rowsInOrder(card).map((row) => [row.dimension, row.name, estimate(row.estimate), definitionText(row)]),
    ),
    ...(missing.length === 0 ? [] : ["", ...missing]),
  ].join("\n");
}

export function reliabilityTitle({ runId, scorer, questions, tasks }: ReliabilityOfRun): string {
  return `Reliability of ${runId}: ${scorer}, ${count(questions)} questions, ${count(tasks)} tasks`;
}

export function rowsInOrder({ rows }: ReliabilityCard): ReliabilityRow[] {
  return DIMENSIONS.flatMap((dimension) => rows.filter((row) => row.dimension === dimension));
}

export function definitionText({ definition, source }: ReliabilityRow): string {
  return `${definition} (${source})`;
}
