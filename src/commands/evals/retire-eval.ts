import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { EVAL_NAME } from "./eval-flags.js";

const schema = z.object({ name: text });

export const retireEvalCommand: Command = {
  positionals: { name: EVAL_NAME },
  flags: {},
  async run(argv, { settings, out }) {
    const { name } = readFlags("evals retire", schema, argv);
    const { retireEval } = await import("../../app/evals/manage-evals.js");
    const { definition } = await retireEval(name, settings);
    out.result(
      { name: definition.name, version: definition.version, status: "retired" },
      () => `${definition.name}@${definition.version} is retired.`,
    );
    return EXIT.done;
  },
};
