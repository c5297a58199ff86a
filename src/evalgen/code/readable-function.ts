import type { Condition, EvalDefinition, RegressionCase } from "../../domain/evals/eval-definition.js";

/** An eval as a short function for people to read; each feature is a function of the trace. */
export function readableFunction(definition: EvalDefinition): string {
  if (definition.kind === "python") return definition.code;
  if (definition.kind === "rubric") return definition.rubric;
  const { name, criterion } = definition;
  const body = definition.kind === "rules" ? rulesBody(definition.pass.all) : casesBody(definition.cases);
  return [
    `def ${name}(trace):`,
    `    """${criterion.replaceAll('"""', "'''")}"""`,
    ...body.map((line) => `    ${line}`),
  ].join("\n");
}

function rulesBody(conditions: readonly Condition[]): string[] {
  return [
    ...conditions.flatMap((condition) => {
      const bad = "at_least" in condition ? `< ${condition.at_least}` : `> ${condition.at_most}`;
      return [
        `value = ${condition.feature}(trace)`,
        `if value is not None and value ${bad}:`,
        `    return 0.0, f"${condition.feature} is {value}"`,
      ];
    }),
    'return 1.0, "all conditions are met"',
  ];
}

function casesBody(cases: readonly RegressionCase[]): string[] {
  return [
    "cases = {",
    ...cases.map(
      ({ task, must_contain: contain, must_cite: cite }) =>
        `    ${JSON.stringify(task)}: {"must_contain": ${JSON.stringify(contain)}, "must_cite": ${JSON.stringify(cite)}},`,
    ),
    "}",
    "case = cases.get(trace.task_id)",
    "if case is None:",
    "    return None",
    'missing = [term for term in case["must_contain"] if not contains(trace.answer, term)]',
    'cited = not case["must_cite"] or any(id in trace.sources for id in case["must_cite"])',
    "return 1.0 if cited and not missing else 0.0",
  ];
}
