import type { ToolSpec } from "../domain/models/model.js";
import type { RunSettings } from "../domain/runs/benchmark-result.js";
import type { ChatTrace } from "../domain/runs/chat.js";
import type { RunStatus } from "../domain/runs/run-status.js";
import type { Trace } from "../domain/runs/trace.js";

/** Of a task with a gold answer or a grade; of a chat where the file has neither. */
export type ImportedTrace = Trace | ChatTrace;

/** What such chats lack. */
export const NO_GOLD = "no gold answer, so they are kept as chats";

/** What a file says of the run that its traces are of; absent: nothing. */
export interface RunFacts {
  readonly status?: RunStatus | undefined;
  /** ISO 8601. */
  readonly startedAt?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly split?: string | undefined;
  readonly dataset?: { readonly source: string; readonly revision: string | null } | undefined;
  readonly corpusFingerprint?: string | undefined;
  readonly settings?: Partial<RunSettings> | undefined;
}

/** What is read from one file. */
export interface ImportSource {
  /** Where in the file, for errors. */
  traces(): AsyncIterable<{ readonly where: string; readonly trace: ImportedTrace }>;
  /** What the model was told of its tools, as far as was read. */
  tools(): readonly ToolSpec[];
  /** Of the run of the trace that was read last. */
  run(): RunFacts;
  /** What traces lack that this program's own have, by what it is. */
  lacking(): Readonly<Record<string, number>>;
}
