import { barList } from "../charts/bar-list.js";
import { OUTCOME_WORDS, spaceWords } from "../display-texts.js";
import type { SuiteFigures } from "../report-suite.js";
import { type Child, h } from "../shared/dom.js";

/** How the tasks of a suite ended, by how good what they left behind was. */
export function taskStatesChart(runId: string, tasks: number, { profile }: SuiteFigures): Child[] {
  const states = [...new Set(profile.map(({ state }) => state))];
  const bars = states.map((state) => ({
    label: spaceWords(state),
    filters: { run: runId, state },
    parts: profile
      .filter((cell) => cell.state === state)
      .map(({ band, tasks: count }) => ({
        ...{ tasks: count, className: `outcome-${band}`, filters: { run: runId, state, outcome: band } },
        words: `${spaceWords(state)}; ${OUTCOME_WORDS[band]}`,
      })),
  }));
  return [h("h3", {}, "State"), barList(bars, tasks)];
}
