// The command `reliability`: the reliability card of a run.
import { z } from "zod";
import { text, withTraits } from "../../platform/flag-values.js";
import { reliabilityText } from "../../reports/reliability-text.js";
import { defineCommand } from "../flags/define-command.js";

export const reliabilityCommand = defineCommand(
  z.object({
    runs: withTraits(z.array(text).default([]), { completes: "runs" }).meta({
      description:
        "Run with several epochs, and perturbed repeats of it [default: latest, and its newest repeat of each perturbation]",
    }),
    metric: text.optional().meta({
      placeholder: "SCORE",
      description: "Score from 0 to 1 [default: the headline score, or taskSolved for a suite]",
    }),
  }),
  async (flags, context) => {
    const { reliabilityOfRun } = await import("../../results/reliability-of-run.js");
    const card = await reliabilityOfRun(flags, context);
    context.out.result(card, () => reliabilityText(card));
  },
);
