import { z } from "zod";
import { calibrate } from "../app/score/calibrate-judge.js";
import { createJudge, JUDGE_CONCURRENCY } from "../app/score/create-judge.js";
import { anyCheapModel, judgeSettings } from "../app/score/judge-settings.js";
import { readLabels } from "../app/score/read-labels.js";
import { EXIT, UserError } from "../domain/errors.js";
import { calibrationText } from "../reports/text/calibration-text.js";
import { count } from "../reports/text/format-number.js";
import type { Command } from "./cli/command.js";
import { openProgress } from "./cli/progress.js";
import { oneOf, readFlags, text } from "./cli/read-flags.js";
import { JUDGE_FLAGS, judgeShape } from "./flags/judge-flags.js";

const JUDGE_TIMEOUT_MS = 180_000;

const schema = z.object({ action: oneOf(["calibrate"]), labels: text, ...judgeShape });

export const judgeCommand: Command = {
  positionals: {
    action: { type: "string", describe: "calibrate" },
    labels: { type: "string", describe: "JSON lines with question, gold, answer and a person's label" },
  },
  flags: JUDGE_FLAGS,
  async run(argv, { settings, out, signal }) {
    const flags = readFlags("judge", schema, argv);
    const items = readLabels(flags.labels);
    const judge = judgeSettings(flags, null, anyCheapModel(settings.env), settings.env);
    if (judge === null) {
      throw new UserError(
        "judge_missing",
        "There is no judge to calibrate.",
        "Name one: --judge provider/model, or set the key of a provider.",
      );
    }
    const ready = await createJudge(judge, settings, { timeoutMs: JUDGE_TIMEOUT_MS, throttle: null, note: out.note });
    const progress = openProgress(settings, "Judging", items.length);
    const told = (judged: number) => progress.update(judged, `${count(judged)}/${count(items.length)}`);
    const figures = await calibrate(items, ready.judge, JUDGE_CONCURRENCY, told, signal).finally(() => progress.stop());
    out.result({ judge, ...figures }, () => calibrationText(judge, figures));
    const shortfall = ready.shortfall();
    if (figures.unscored === figures.labels) {
      const why = shortfall?.replace(/^art-e: /, "") ?? "There was no answer to judge";
      throw new UserError(
        "judge_silent",
        `${why}.`,
        "There is nothing to compare: see to the judge first.",
        EXIT.failed,
      );
    }
    if (shortfall !== null) out.note(`${shortfall}.`);
    return EXIT.done;
  },
};
