/** What a report's page knows of runs over task suites. */

import type { SuiteAnalysis } from "../../domain/runs/suite-analysis.js";

/** The totals of a run over a suite, and their analysis. */
export interface SuiteFigures extends SuiteAnalysis {
  readonly name: string;
  /** Tasks that have a score. */
  readonly graded: number;
  readonly states: Readonly<Record<string, { readonly tasks: number; readonly graded: number }>>;
}

/** Tool, snapshot, tags, applications, action number, counterpart. */
export type SuiteTaskRow = readonly [
  string,
  string,
  readonly string[],
  readonly string[],
  number | null,
  string | null,
];

/** State, why it is not solved, tool calls; null: not known, of a results file. */
export type SuiteOutcomeRow = readonly [string, string, number | null];

/** A picture that the agent left behind. */
export interface PictureView {
  readonly path: string;
  /** Of a notebook: the index of the cell that shows it, from 0. */
  readonly cell: number | null;
  readonly width: number;
  readonly height: number;
  /** A PNG in base64. */
  readonly data: string;
}
