// Functions that check and type the modules and functions that art-e calls. Modules of tools and evals add this file
// alone, in their own processes.
import type { JsonObject, JsonSchema, JsonValue } from "../platform/json-value.js";
import type { Scorer } from "./benchmark-config.js";
import type { Trace } from "./published-types.js";

/** The parts of a task that an eval can use. */
export interface EvalInput {
  readonly question: string;
  readonly inbox: string | null;
  /** Date of the question, as YYYY-MM-DD. */
  readonly date: string | null;
  readonly taskId: number | string | null;
  readonly suite: string | null;
  /** The gold answer and scores. Present only if the module has the line `export const reference = true`. */
  readonly reference?: JsonObject;
}

export interface EvalResult {
  /** 0 to 1, or null if the eval does not apply to the trace. */
  readonly score: number | null;
  readonly reason: string;
}

/** Judges an answer. `output` is the answer, or an empty text without one. */
export type EvalFunction = (
  input: EvalInput,
  output: string,
  trace: Pick<Trace, "messages" | "toolCalls">,
) => EvalResult | Promise<EvalResult>;

/** A module for `art-e tools add NAME --module FILE`. */
export interface ToolModule {
  readonly name?: string;
  readonly description?: string;
  /** JSON Schema of the arguments. */
  readonly parameters?: JsonSchema;
  /** Returns the result for the model. An error's message is shown to the model. */
  call(args: never, context: ToolModuleContext): JsonValue | undefined | Promise<JsonValue | undefined>;
}

/** The task in which a tool is called. */
export interface ToolModuleContext {
  /** Address of the mailbox, or null for a task without one. */
  readonly inbox: string | null;
  /** ISO 8601. Mail from this time on must stay invisible. Null without a limit. */
  readonly cutoff: string | null;
}

/** Types the default export of a module for `art-e evals add FILE`. Throws a TypeError unless it is a function. */
export function defineEval(run: EvalFunction): EvalFunction {
  requireTypes("defineEval", { eval: [run, "function"] });
  return run;
}

/** Types the default export of a module for `art-e tools add --module FILE`. Throws a TypeError if it is invalid. */
export function defineTool<T extends ToolModule>(tool: T): T {
  requireTypes("defineTool", { tool: [tool, "object"] });
  const { name = "", description = "", parameters = {}, call } = tool;
  requireTypes("defineTool", {
    name: [name, "string"],
    description: [description, "string"],
    parameters: [parameters, "object"],
    call: [call, "function"],
  });
  return tool;
}

/** Types a scorer for `runArtEBenchmark`. Throws a TypeError if it is invalid. */
export function defineScorer(scorer: Scorer): Scorer {
  requireTypes("defineScorer", { scorer: [scorer, "object"] });
  const { name, score } = scorer;
  requireTypes("defineScorer", { name: [name, "string"], score: [score, "function"] });
  return scorer;
}

type TypeName = "function" | "object" | "string";

/** JavaScript does not check the types. Arrays and null are not objects here. */
function requireTypes(definer: string, values: Readonly<Record<string, readonly [value: unknown, type: TypeName]>>) {
  for (const [name, [value, type]] of Object.entries(values)) {
    const found = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
    if (found !== type) throw new TypeError(`${definer}: ${name}: expected ${type}, got ${found}`);
  }
}
