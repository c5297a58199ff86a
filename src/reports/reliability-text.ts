// A reliability card as terminal text.
import type { ReliabilityCard, ReliabilityOfRun } from "../analysis/reliability.js";
import { counted, estimate, table } from "../text/format.js";

/** Formats a reliability card: its figures, the reasons for missing ones, and the definition of each property. */
export function reliabilityText(card: ReliabilityOfRun): string {
  return [
    reliabilityTitle(card),
    "",
    table(
      ["", "", "value (95%)"],
      card.rows.map(({ dimension, name, estimate: figure }) => [dimension, name, estimate(figure)]),
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

/** Returns each definition of a card once. */
export function definitionsOf({ rows }: ReliabilityCard) {
  const definitions = rows.map(({ dimension, name, term = name, definition, source }) => {
    return { dimension, term, text: `${definition} (${source})` };
  });
  return definitions.filter(
    ({ term, text }, i) => i === definitions.findIndex((one) => one.term === term && one.text === text),
  );
}
