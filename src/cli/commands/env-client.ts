// The command `env client`: writes a trainer's Python client of the training environment.
import { z } from "zod";
import { commandLine } from "../../platform/command-line.js";
import { file, oneOf } from "../../platform/flag-values.js";
import { TRAINERS, writeEnvironmentClient } from "../../server/environment-clients.js";
import { defineCommand } from "../flags/define-command.js";

const schema = z.object({
  for: oneOf(TRAINERS).meta({ description: "Trainer: trl, verifiers or art" }),
  output: file.optional().meta({
    placeholder: "PATH",
    description: "Output file, or output folder for verifiers [default: art_e_trl.py, art_e_mail or art_e_rollout.py]",
    alias: "o",
  }),
});

const NEXT = {
  trl: "GRPOTrainer(environment_factory=MailEnvironment, train_dataset=mail_dataset(), reward_funcs=mail_reward, ...)",
  verifiers: 'pip install -e FOLDER, then verifiers.load_environment("art-e-mail")',
  art: "rollout(model, row) for each row of mail_rows()",
} as const;

export const environmentClientCommand = defineCommand(schema, async (flags, { out }) => {
  const path = await writeEnvironmentClient(flags.for, "--output", flags.output);
  out.result({ trainer: flags.for, path }, () =>
    [
      `Wrote ${path}`,
      `Start the environment: ${commandLine`art-e env serve -s train`}`,
      `In Python: ${NEXT[flags.for]}`,
    ].join("\n"),
  );
});
