// The command `eval-search`: measures how well searches find gold emails.
import { z } from "zod";
import { shapeOf, wholeNumber } from "../../platform/flag-values.js";
import type { SearchQuality } from "../../questions/measure-search.js";
import { QUESTION_FLAGS } from "../../runs/run-flags.js";
import { count, estimate, summaryBox } from "../../text/format.js";
import { defineCommand } from "../flags/define-command.js";

export const evalSearchCommand = defineCommand(
  z.object({
    ...shapeOf(QUESTION_FLAGS),
    limit: wholeNumber(0).default(0).meta({ description: "Maximum number of questions (0 = all)", alias: "l" }),
  }),
  async (flags, context) => {
    const { refuseContradictions } = await import("../../questions/dataset.js");
    refuseContradictions(flags);
    const { measureMailSearch } = await import("../../questions/measure-search.js");
    const { quality, source } = await measureMailSearch(flags, context);
    context.out.result(quality, () => qualityText(quality, source));
  },
);

function qualityText(quality: SearchQuality, source: string): string {
  const { p50, p95, p99 } = quality.latencyMs;
  const ms = (value: number | null) => (value === null ? "-" : `${value.toFixed(2)} ms`);
  const missed = quality.missed.length === 0 ? "none" : quality.missed.slice(0, 20).join(", ");
  return summaryBox(`ART-E Search Quality (${source})`, [
    ["Questions", count(quality.questions)],
    ["Hit@1", estimate(quality.estimates.recallAt1)],
    ["Hit@5", estimate(quality.estimates.recallAt5)],
    ["Hit@10", estimate(quality.estimates.recallAt10)],
    ["MRR@10", estimate(quality.estimates.mrrAt10)],
    ["Latency p50 / p95 / p99", `${ms(p50)} / ${ms(p95)} / ${ms(p99)}`],
    ["Not among the first ten", missed + (quality.missed.length > 20 ? ", ..." : "")],
  ]);
}
