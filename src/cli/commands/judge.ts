import { z } from "zod";
import { EXIT, UserError } from "../../platform/errors.js";
import { file, runName, shapeOf } from "../../platform/flag-values.js";
import { calibrationText } from "../../reports/run-text.js";
import { JUDGE_FLAGS } from "../../runs/run-flags.js";
import { defineCommand } from "../flags/define-command.js";

export const calibrateCommand = defineCommand(
  z.object({
    labels: file.meta({ description: "JSON Lines file with question, gold, answer and a person's label" }),
    run: runName.optional().meta({
      description: "Also correct the rate of correct answers of this run, which the same judge graded",
    }),
    ...shapeOf(JUDGE_FLAGS),
  }),
  async (options, context) => {
    const { out } = context;
    const { calibrateJudge } = await import("../../runs/calibrate-judge.js");
    const { judge, figures, run, shortfall } = await calibrateJudge(options, context);
    out.result({ judge, ...figures, run }, () => calibrationText(judge, figures, run));
    if (figures.unscored === figures.labels) {
      const why = shortfall?.replace(/^art-e: /, "") ?? "The judge returned no verdict";
      throw new UserError("judge_silent", `${why}.`, "Check the judge's model and key.", EXIT.failed);
    }
    if (shortfall !== null) out.note(`${shortfall}.`);
  },
);
