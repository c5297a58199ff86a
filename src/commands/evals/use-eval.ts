import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { EVAL_NAME } from "./eval-flags.js";

const schema = z.object({ name: text, anyway: z.boolean().default(false) });

export const useEvalCommand: Command = {
  positionals: { name: EVAL_NAME },
  flags: { anyway: { type: "boolean", describe: "Even if it has not passed a test" } },
  async run(argv, { settings, out }) {
    const { name, anyway } = readFlags("evals use", schema, argv);
    const { useEval } = await import("../../app/evals/manage-evals.js");
    const { stored, former } = await useEval(name, anyway, settings);
    const { definition } = stored;
    const retired = former === null ? null : former.definition.version;
    out.result({ name: definition.name, version: definition.version, retired }, () =>
      [
        `${definition.name}@${definition.version} is in use${retired === null ? "" : `; version ${retired} is retired`}.`,
        `Run it: art-e evals run ${definition.name}`,
        ...(definition.reference ? ["It sees gold answers, so chats are not scored by it."] : []),
      ].join("\n"),
    );
    return EXIT.done;
  },
};
