import { readFileSync, statSync } from "node:fs";
import { basename, extname } from "node:path";
import { UserError } from "../../../domain/errors.js";
import { type EvalDefinition, evalDefinitionSchema } from "../../../domain/evals/eval-definition.js";
import { withoutMain } from "../../../evalgen/code/python-program.js";
import { FEATURES } from "../../../evalgen/features/feature-table.js";
import { describePython } from "../../../evalgen/python/describe-python.js";

const MAX_BYTES = 16_000_000;

/** Reads an eval's JSON file, or a Python file with an `eval_function`. Nothing in it is executed. */
export function readEvalFile(path: string): EvalDefinition {
  const isPython = extname(path) === ".py";
  try {
    if (statSync(path).size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    const text = readFileSync(path, "utf8");
    return readDefinition(isPython ? fromPython(text, basename(path, ".py")) : JSON.parse(text));
  } catch (cause) {
    const { message } = cause as Error;
    throw new UserError(
      "eval_file_unusable",
      `${path} is no eval: ${/[.!?]$/.test(message) ? message : `${message}.`}`,
      isPython
        ? "A file NAME.py defines eval_function(task, task_metadata, trace, ctx). See docs/evals.md."
        : "See docs/evals.md for what a file holds.",
      2,
      { cause },
    );
  }
}

function readDefinition(value: unknown): EvalDefinition {
  const { data, error } = evalDefinitionSchema.safeParse(value);
  if (data === undefined) {
    const [issue] = error.issues;
    throw new Error(`${issue?.path.join(".") || "the document"}: ${issue?.message}`);
  }
  if (data.kind === "rules") {
    const unknown = data.pass.all.find(({ feature }) => !Object.hasOwn(FEATURES, feature));
    if (unknown !== undefined)
      throw new Error(`there is no feature "${unknown.feature}"; there are ${Object.keys(FEATURES).join(", ")}`);
  }
  return data;
}

function fromPython(text: string, name: string): unknown {
  const code = withoutMain(text);
  const described = describePython(code);
  if (described === null) throw new Error("it defines no eval_function with four parameters");
  const { criterion, usesMetadata } = described;
  return {
    name,
    version: 1,
    kind: "python",
    reference: usesMetadata,
    criterion: criterion ?? `What ${name}.py checks.`,
    origin: { by: "person", seed: null, labels: null, parent: null },
    code,
  };
}
