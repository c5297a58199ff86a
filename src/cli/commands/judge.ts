import { z } from "zod";
import { EXIT, UserError } from "../../platform/errors.js";
import { calibrationText } from "../../reports/run-text.js";
import { defineCommand, file } from "../flags/read-flags.js";
import { judgeShape } from "../flags/scoring-flags.js";

export const calibrateCommand = defineCommand(
  z.object({
    labels: file.meta({ description: "JSON Lines file with question, gold, answer and a person's label" }),
    ...judgeShape,
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
