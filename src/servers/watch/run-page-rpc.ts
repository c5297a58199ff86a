import type { RunProcessState } from "../../domain/runs/run-progress.js";

/** What the thread of a run's page is started with. */
export interface RunPageData {
  /** Path of the database. */
  readonly path: string;
  readonly version: string;
  /** Null: no token is needed. */
  readonly token: string | null;
}

export type RunPageCall =
  /** Answered by the address of the page. */
  | { readonly type: "open" }
  | { readonly type: "process_state"; readonly runId: string; readonly state: RunProcessState }
  /** The run has ended: what is open gets its last state. */
  | { readonly type: "end" };

export type RunPageAnswer = string | null;
