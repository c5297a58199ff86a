import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "../../src/platform/json.js";
import type { FunctionCall, Metric, SuiteDialect, SuiteTask, TaskEvaluation } from "../../src/tasks/suite-task.js";

type Loose = Record<string, JsonValue | undefined>;

const EXAMPLES = { flowbook: "examples", spider2v: "evaluation_examples/examples", harbor: "." };

/** Reads a task as far as its evaluation needs, without checking it. */
export function readTaskForGrading(suiteRoot: string, dialect: SuiteDialect, tool: string, id: string): SuiteTask {
  const folder = join(suiteRoot, EXAMPLES[dialect], tool, id);
  const file = JSON.parse(readFileSync(join(folder, `${id}.json`), "utf8"));
  return {
    id,
    dialect,
    tool,
    folder,
    instruction: String(file.instruction),
    snapshot: String(file.snapshot),
    source: [],
    relatedApps: [],
    tags: file.tags ?? [],
    actionNumber: null,
    counterpart: null,
    config: [],
    evaluation: dialect === "flowbook" ? readFlowbook(file.evaluation) : readSpider2v(file.evaluator),
  };
}

function readFlowbook(evaluation: Loose): TaskEvaluation {
  const options = (evaluation.arguments ?? {}) as JsonObject;
  const metric = { func: String(evaluation.func), result: null, expected: null, options };
  return { postconfig: [], metrics: [metric], conjunction: "and" };
}

function readSpider2v(evaluator: Loose): TaskEvaluation {
  const functions = [evaluator.func].flat() as string[];
  const isList = Array.isArray(evaluator.func);
  const at = (value: JsonValue | undefined, i: number) => (isList ? (value as JsonValue[] | undefined)?.[i] : value);
  const metrics = functions.map(
    (func, i): Metric => ({
      func,
      result: toCall(at(evaluator.result, i)),
      expected: toCall(at(evaluator.expected, i)),
      options: (at(evaluator.options, i) ?? {}) as JsonObject,
    }),
  );
  const postconfig = ((evaluator.postconfig ?? []) as { type: string; parameters: JsonObject }[]).map(
    ({ type, parameters }) => ({ func: type, arguments: parameters }),
  );
  return { postconfig, metrics, conjunction: evaluator.conj === "or" ? "or" : "and" };
}

function toCall(getter: JsonValue | undefined): FunctionCall | null {
  if (typeof getter !== "object" || getter === null) return null;
  const { type, ...rest } = getter as Record<string, JsonValue>;
  return { func: String(type), arguments: rest };
}
