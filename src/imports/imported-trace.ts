import type { ToolSpec } from "../domain/models/model.js";
import type { ChatTrace } from "../domain/runs/chat.js";
import type { Trace } from "../domain/runs/trace.js";

/** Of a task with a gold answer or a grade; of a chat where the file has neither. */
export type ImportedTrace = Trace | ChatTrace;

/** What is read from one file. */
export interface ImportSource {
  /** Where in the file, for errors. */
  traces(): AsyncIterable<{ readonly where: string; readonly trace: ImportedTrace }>;
  /** What the model was told of its tools, as far as was read. */
  tools(): readonly ToolSpec[];
  /** What traces lack that this program's own have, by what it is. */
  lacking(): Readonly<Record<string, number>>;
}
