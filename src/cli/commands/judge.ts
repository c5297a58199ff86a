import { z } from "zod";
import { EXIT, UserError } from "../../platform/errors.js";
import { calibrationText } from "../../reports/run-text.js";
import type { Command } from "../command.js";
import { declaredIn, readFlags, text } from "../read-flags.js";
import { judgeShape } from "../scoring-flags.js";

const schema = z.object({
  labels: text.meta({ description: "JSON lines with question, gold, answer and a person's label" }),
  ...judgeShape,
});

export const calibrateCommand: Command = {
  ...declaredIn(schema, ["labels"]),
  async run(argv, context) {
    const { out } = context;
    const options = readFlags("judge calibrate", schema, argv);
    const { calibrateJudge } = await import("../../runs/calibrate.js");
    const { judge, figures, shortfall } = await calibrateJudge(options, context);
    out.result({ judge, ...figures }, () => calibrationText(judge, figures));
    if (figures.unscored === figures.labels) {
      const why = shortfall?.replace(/^art-e: /, "") ?? "There was no answer to judge";
      throw new UserError("judge_silent", `${why}.`, "Nothing can be compared until the judge answers.", EXIT.failed);
    }
    if (shortfall !== null) out.note(`${shortfall}.`);
    return EXIT.done;
  },
};
