// The types of options, results and traces under the names that users see. Here they come from zod schemas. Users do
// not have zod, so the build writes their declarations from the same schemas (`library-types.ts`).
import type { z } from "zod";
import type { LibraryFlagName, questionSchema, runSchema } from "../runs/run-flags.js";

export type { Question } from "../tasks/question.js";
export type { BenchmarkResult } from "../traces/run-totals.js";
export type { TaskResult } from "../traces/task-result.js";
export type {
  ChatTrace,
  QuestionTrace,
  SuiteTrace,
  ToolCallRecord as ToolCall,
  Trace,
  Turn,
} from "../traces/trace.js";

/** The flags that select questions, as options. */
export interface QuestionSelection extends Omit<Partial<z.input<typeof questionSchema>>, "ids"> {
  readonly ids?: readonly number[];
}

/** Options with another form than on the command line. */
interface OptionForms {
  readonly concurrency: number | "auto";
  readonly maxFailures: number | string;
  readonly price: { readonly input: number; readonly output: number; readonly cached?: number };
}

/** Flags of `art-e run` as options. */
type FlagOptions<Name extends keyof z.input<typeof runSchema>> = {
  readonly [K in Name]?: K extends keyof OptionForms
    ? OptionForms[K]
    : Exclude<z.input<typeof runSchema>[K], undefined>;
};

/** The flags that a resumed run can have again. */
export interface SessionOptions extends FlagOptions<LibraryFlagName<"session">> {}

/** The flags of a new run. */
export interface RunOptions extends FlagOptions<LibraryFlagName<"new">> {}
