import {
  DIMENSIONS,
  type ReliabilityCard,
  type ReliabilityOfRun,
  type ReliabilityRow,
} from "../analysis/reliability.js";
import { estimate, table } from "../text/format.js";
import { counted } from "./wording.js";

/** Formats a reliability card: its figures, the reasons for missing ones, and the definition of each property. */
export function reliabilityText(card: ReliabilityOfRun): string {
  const rows = rowsInOrder(card);
  return [
    reliabilityTitle(card),
    "",
    table(
      ["", "", "value (95%)"],
      rows.map(({ dimension, name, estimate: figure }) => [dimension, name, estimate(figure)]),
    ),
    "",
    ...card.missing,
    "",
    "Definitions:",
    ...rows.map((row) => `  ${row.name}: ${definitionText(row)}`),
  ].join("\n");
}

export function reliabilityTitle({ runId, scorer, questions, tasks }: ReliabilityOfRun): string {
  return `Reliability of ${runId}: ${scorer}, ${counted(questions, "question")}, ${counted(tasks, "task")}`;
}

export function rowsInOrder({ rows }: ReliabilityCard): ReliabilityRow[] {
  return DIMENSIONS.flatMap((dimension) => rows.filter((row) => row.dimension === dimension));
}

export function definitionText({ definition, source }: ReliabilityRow): string {
  return `${definition} (${source})`;
}
