import { z } from "zod";
import { EXIT, UserError } from "../../platform/errors.js";
import { file, shapeOf } from "../../platform/flag-values.js";
import { calibrationText } from "../../reports/run-text.js";
import { JUDGE_FLAGS } from "../../runs/run-flags.js";
import { defineCommand } from "../flags/define-command.js";

export const calibrateCommand = defineCommand(
  z.object({
    labels: file.meta({ description: "JSON Lines file with question, gold, answer and a person's label" }),
    ...shapeOf(JUDGE_FLAGS),
  }),
  async (options, context) => {
    const { out } = context;
    const { calibrateJudge } = await import("../../runs/calibrate-judge.js");
    const { judge, figures, shortfall } = await calibrateJudge(options, context);
    out.result({ judge, ...figures }, () => calibrationText(judge, figures));
    if (figures.unscored === figures.labels) {
      const why = shortfall?.replace(/^art-e: /, "") ?? "There was no answer to judge";
      throw new UserError("judge_silent", `${why}.`, "Nothing can be compared until the judge answers.", EXIT.failed);
    }
    if (shortfall !== null) out.note(`${shortfall}.`);
  },
);
