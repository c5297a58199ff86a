import type { EvalDefinition } from "../../domain/evals/eval-definition.js";
import { inspectSource } from "./inspect-scorer.js";
import { promptfooFiles } from "./promptfoo-assertions.js";
import { pythonProgram } from "./python-program.js";

export const EVAL_FORMATS = ["json", "python", "promptfoo", "inspect"] as const;

export type EvalFormat = (typeof EVAL_FORMATS)[number];

/** The files of evals in a format, by name. */
export function evalFiles(definitions: readonly EvalDefinition[], format: EvalFormat): Map<string, string> {
  if (format === "promptfoo") return promptfooFiles(definitions);
  return new Map(
    definitions.map((definition) => [`${definition.name}${ENDINGS[format]}`, WRITERS[format](definition)]),
  );
}

const ENDINGS = { json: ".json", python: ".py", inspect: "_scorer.py" } as const;

const WRITERS: Readonly<Record<keyof typeof ENDINGS, (definition: EvalDefinition) => string>> = {
  json: (definition) => `${JSON.stringify(definition, null, 2)}\n`,
  python: pythonProgram,
  inspect: inspectSource,
};
