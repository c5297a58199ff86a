import { z } from "zod";
import { EXIT } from "../../platform/errors.js";
import { TRAINERS, writeEnvironmentClient } from "../../server/environment-clients.js";
import type { Command } from "../command.js";
import { declaredIn, oneOf, readFlags, text } from "../read-flags.js";

const schema = z.object({
  for: oneOf(TRAINERS).meta({ description: "The trainer: trl, verifiers or art" }),
  output: text.optional().meta({
    description: "The file, for verifiers the folder, to write [default: art_e_trl.py, art_e_mail or art_e_rollout.py]",
    alias: "o",
  }),
});

const NEXT = {
  trl: "GRPOTrainer(environment_factory=MailEnvironment, train_dataset=mail_dataset(), reward_funcs=mail_reward, ...)",
  verifiers: 'pip install -e FOLDER, then verifiers.load_environment("art-e-mail")',
  art: "rollout(model, row) for each row of mail_rows()",
} as const;

export const environmentClientCommand: Command = {
  ...declaredIn(schema),
  async run(argv, context) {
    const flags = readFlags("env client", schema, argv);
    const path = await writeEnvironmentClient(flags.for, "--output", flags.output);
    context.out.result({ trainer: flags.for, path }, () =>
      [`Wrote ${path}`, `Start the environment: art-e env serve -s train`, `In Python: ${NEXT[flags.for]}`].join("\n"),
    );
    return EXIT.done;
  },
};
