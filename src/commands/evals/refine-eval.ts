import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { CRITERION_FLAGS, criterionShape, EVAL_NAME, SEED_FLAGS, seedShape } from "./eval-flags.js";

const schema = z.object({ name: text, ...criterionShape, ...seedShape });

export const refineEvalCommand: Command = {
  positionals: { name: EVAL_NAME },
  flags: { ...CRITERION_FLAGS, ...SEED_FLAGS },
  async run(argv, { settings, out }) {
    const { name, criterion, seed } = readFlags("evals refine", schema, argv);
    const { refineEval } = await import("../../app/evals/refine-eval.js");
    const { parent, refined } = await refineEval(name, criterion, seed, settings);
    const label = `${parent.definition.name}@${parent.definition.version}`;
    const { readableFunction } = await import("../../evalgen/code/readable-function.js");
    out.result({ parent: label, refined: refined?.definition ?? null }, () =>
      refined === null
        ? `The training labels give no reason to change ${label}.`
        : [
            `${refined.definition.name}@${refined.definition.version}, from ${label}:`,
            "",
            readableFunction(refined.definition),
            "",
            `Next: art-e evals test ${refined.definition.name}@${refined.definition.version}`,
          ].join("\n"),
    );
    return EXIT.done;
  },
};
