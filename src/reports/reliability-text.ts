// A reliability card as terminal text.
import {
  DIMENSIONS,
  type ReliabilityCard,
  type ReliabilityOfRun,
  type ReliabilityRow,
} from "../analysis/reliability.js";
import { counted, estimate, table } from "../text/format.js";

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
    ...definitionsOf(card).map(({ term, text }) => `  ${term}: ${text}`),
  ].join("\n");
}

export function reliabilityTitle({ runId, scorer, questions, tasks }: ReliabilityOfRun): string {
  return `Reliability of ${runId}: ${scorer}, ${counted(questions, "question")}, ${counted(tasks, "task")}`;
}

export function rowsInOrder({ rows }: ReliabilityCard): ReliabilityRow[] {
  return DIMENSIONS.flatMap((dimension) => rows.filter((row) => row.dimension === dimension));
}

/** Returns each definition of a card once. */
export function definitionsOf(card: ReliabilityCard) {
  const definitions = rowsInOrder(card).map(({ dimension, name, term = name, definition, source }) => {
    return { dimension, term, text: `${definition} (${source})` };
  });
  return definitions.filter(
    ({ term, text }, i) => i === definitions.findIndex((one) => one.term === term && one.text === text),
  );
}
