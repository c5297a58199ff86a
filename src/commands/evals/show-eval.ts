import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { EvalDefinition } from "../../domain/evals/eval-definition.js";
import { evalTestText } from "../../reports/text/evals/eval-test-text.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { EVAL_NAME } from "./eval-flags.js";
import { evalTable } from "./list-evals.js";

const schema = z.object({ name: text, code: z.boolean().default(false) });

/** Code and rubrics as they were written, the rest as in an eval's file. */
function definitionLines(definition: EvalDefinition): string[] {
  const { code, rubric, ...facts } = { code: null, rubric: null, ...definition };
  const written = code ?? rubric;
  return [JSON.stringify(facts, null, 2), ...(written === null ? [] : ["", written.trimEnd()])];
}

export const showEvalCommand: Command = {
  positionals: { name: EVAL_NAME },
  flags: { code: { type: "boolean", describe: "As a function to read" } },
  async run(argv, { settings, out }) {
    const { name, code } = readFlags("evals show", schema, argv);
    const { describeEval } = await import("../../app/evals/manage-evals.js");
    const { stored, test, versions } = await describeEval(name, settings);
    const { definition, status, createdAt } = stored;
    const { readableFunction } = await import("../../evalgen/code/readable-function.js");
    if (code) {
      const source = readableFunction(definition);
      out.result({ name: definition.name, version: definition.version, code: source }, () => source);
      return EXIT.done;
    }
    out.result({ ...definition, status, createdAt, test }, () =>
      [
        test === null
          ? `${definition.name}@${definition.version}: ${definition.criterion}`
          : evalTestText(stored, test.report),
        "",
        ...definitionLines(definition),
        "",
        evalTable(versions),
      ].join("\n"),
    );
    return EXIT.done;
  },
};
