import type { EvalDefinition } from "../../domain/evals/eval-definition.js";
import { pythonModule } from "./python-program.js";

/** promptfoo calls `get_assert(output, context)`; what it knows of a trace depends on the provider. */
const GET_ASSERT = `

def get_assert(output, context):
    # The trace: what the provider returns as metadata.trace, or the variable "trace"; else the output alone.
    import json

    variables = context.get("vars") or {}
    metadata = (context.get("providerResponse") or {}).get("metadata") or {}
    exported = metadata.get("trace") or variables.get("trace") or {"answer": output, "ending": "answered"}
    if isinstance(exported, str):
        exported = json.loads(exported)
    facts = exported.get("task") or {}
    asked = variables.get("question") or facts.get("question") or context.get("prompt") or ""
    given = {"user_message": asked, "task_id": exported.get("taskId"), "suite": facts.get("suite")}
    gold = {"expected_output": variables.get("answer") or facts.get("answer")}
    score, feedback = eval_function(given, gold, exported, None)
    if score is None:
        return {"pass": True, "score": 1.0, "reason": f"does not apply: {feedback}"}
    return {"pass": score >= 0.5, "score": score, "reason": feedback}
`;

/** The files of evals for promptfoo: a Python file for each that is code, and the assertions for its configuration. */
export function promptfooFiles(definitions: readonly EvalDefinition[]): Map<string, string> {
  const files = new Map<string, string>();
  for (const definition of definitions) {
    if (definition.kind !== "rubric")
      files.set(`${definition.name}.py`, `${pythonModule(definition).trimEnd()}\n${GET_ASSERT}`);
  }
  const assertions = definitions.map((definition) => {
    const { name } = definition;
    // promptfoo fills in braces: a rubric's own must not be taken for a variable.
    return definition.kind === "rubric"
      ? { type: "llm-rubric", metric: name, value: `{% raw %}${definition.rubric}{% endraw %}` }
      : { type: "python", metric: name, value: `file://${name}.py` };
  });
  // JSON is YAML too.
  files.set("promptfoo-assertions.json", `${JSON.stringify({ assert: assertions }, null, 2)}\n`);
  return files;
}
