import { z } from "zod";
import type { Ranking } from "../../app/evals/rank-traces.js";
import { EXIT } from "../../domain/errors.js";
import { stripControls } from "../../platform/strip-controls.js";
import { share } from "../../reports/text/format-number.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";
import { readFlags, text, wholeNumber } from "../cli/read-flags.js";
import { CRITERION_FLAGS, criterionShape, SEED_FLAGS, seedShape } from "./eval-flags.js";

const schema = z.object({
  run: text.default("latest"),
  limit: wholeNumber(0, 1_000_000).default(20),
  ...criterionShape,
  ...seedShape,
});

/** Features that are named, and characters of a question. */
const FEATURES_SHOWN = 3;
const QUESTION_CHARS = 70;

export const rankTracesCommand: Command = {
  positionals: { run: { type: "string", describe: "A run: its id, the beginning of it, or latest [default: latest]" } },
  flags: {
    limit: { alias: "l", type: "number", requiresArg: true, describe: "Traces to list; 0: all [default: 20]" },
    ...CRITERION_FLAGS,
    ...SEED_FLAGS,
  },
  async run(argv, { settings, out }) {
    const { limit, ...options } = readFlags("evals rank", schema, argv);
    const { rankTraces } = await import("../../app/evals/rank-traces.js");
    const ranking = await rankTraces(options, settings);
    const traces = limit === 0 ? ranking.traces : ranking.traces.slice(0, limit);
    out.result({ ...ranking, traces }, () => rankingText({ ...ranking, traces }, ranking.traces.length));
    return EXIT.done;
  },
};

function rankingText({ good, bad, area, shuffledArea, weights, traces }: Ranking, total: number): string {
  const heaviest = weights.slice(0, FEATURES_SHOWN).map(({ feature, weight }) => `${feature} ${signed(weight)}`);
  const isChance = area === null || (shuffledArea !== null && area <= shuffledArea);
  return [
    `Fitted to the training half: ${good} good, ${bad} bad. Most weight: ${heaviest.join(", ")}.`,
    `Area under the ROC curve, by cross-validation: ${share(area)}; with shuffled labels up to ${share(shuffledArea)}.`,
    ...(isChance ? ["That is no better than chance: this order says nothing."] : []),
    "",
    table(
      ["bad", "label", "trace", "question"],
      traces.map(({ score, label, traceId, question }) => [
        share(score),
        label ?? "-",
        traceId,
        shorten(stripControls(question).replace(/\s+/g, " ")),
      ]),
    ),
    ...(traces.length < total ? ["", `${total - traces.length} more: --limit 0 lists all.`] : []),
  ].join("\n");
}

function signed(weight: number): string {
  return `${weight < 0 ? "" : "+"}${weight.toFixed(2)}`;
}

function shorten(text: string): string {
  return text.length > QUESTION_CHARS ? `${text.slice(0, QUESTION_CHARS - 1)}…` : text;
}
