import type { DateRange, PositionRange } from "../date-range.js";
import type { Ranking } from "./score-mail.js";

/** Terms that all mail of a range counts as holding, as a signal implies them. */
export interface ImpliedTerms {
  readonly range: PositionRange;
  /** Indices of the terms. */
  readonly terms: readonly number[];
}

export function impliedTerms(
  { terms, signals }: Ranking,
  positions: (period: DateRange) => PositionRange,
): ImpliedTerms[] {
  return signals.flatMap(({ implies, periods }) =>
    periods.map((period) => ({
      range: positions(period),
      terms: terms.flatMap((word, term) => (implies?.(word, { date: period.after }) ? [term] : [])),
    })),
  );
}
