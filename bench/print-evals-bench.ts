import { table } from "../src/text/format.js";
import { benchCodingPasses, benchCorrectedRates, type CodingLine, type RateLine } from "./coding-pass.js";
import { benchEnrichedLabels, benchGoodJudge, type EnrichedLine, type JudgeAcceptance } from "./enriched-labels.js";
import { benchEstimators, type EstimatorLine } from "./eval-estimators.js";
import { benchEvals, demoTraces, type EvalBenchLine } from "./evals.js";
import { benchPlantedFaults, type PlantedBench } from "./planted-faults.js";

/** The standard error of a coverage of 95% is 1.1%. */
const ESTIMATOR_DRAWS = 400;
const ENRICHED_SETS = 10;
const JUDGE_SETS = 400;

const DRAWS_PER_SEED = 20;

interface Part {
  readonly lines: unknown;
  readonly text: string;
}

function partOf<T>(lines: T, textOf: (lines: T) => string): Part {
  return { lines, text: textOf(lines) };
}

/** What `evals` measures, each over `traces` traces of the demo or with `seeds` sets of labels per condition. */
const PARTS = {
  speed: (_texts, { traces }) => partOf(benchEvals(traces), evalTable),
  estimators: () => partOf(benchEstimators(ESTIMATOR_DRAWS), estimatorTable),
  planted: async (texts, { seeds }) => partOf(await benchPlantedFaults(texts, seeds), plantedTable),
  enriched: async (texts, { seeds }) => {
    const lines = { sets: await benchEnrichedLabels(texts, ENRICHED_SETS * seeds), judge: benchGoodJudge(JUDGE_SETS) };
    return partOf(lines, ({ sets, judge }) => `${enrichedTable(sets)}\n\n${judgeTable(judge)}`);
  },
  coding: async (texts, { seeds }) => partOf(await benchCodingPasses(texts, seeds), codingTable),
  rates: async (texts, { seeds }) => partOf(await benchCorrectedRates(texts, DRAWS_PER_SEED * seeds), ratesTable),
} satisfies Record<
  string,
  (texts: readonly string[], options: { readonly traces: number; readonly seeds: number }) => Part | Promise<Part>
>;

export const EVAL_PARTS = Object.keys(PARTS) as (keyof typeof PARTS)[];

/** Measures some parts and prints their tables, or all lines as JSON. */
export async function printEvalsBench(
  parts: readonly (keyof typeof PARTS)[],
  options: { readonly traces: number; readonly seeds: number },
  asJson: boolean,
): Promise<void> {
  const texts = demoTraces();
  const measured: [string, Part][] = [];
  for (const part of parts) measured.push([part, await PARTS[part](texts, options)]);
  if (asJson) {
    const lines = Object.fromEntries(measured.map(([part, { lines }]) => [part, lines]));
    return console.log(JSON.stringify(lines, null, 2));
  }
  console.log(measured.map(([, { text }]) => text).join("\n\n"));
}

function evalTable(lines: readonly EvalBenchLine[]): string {
  const whole = (value: number) => Math.round(value).toLocaleString("en-US");
  return table(
    ["evals over demo traces", "traces/s", "traces per CPU second"],
    lines.map(({ what, tracesPerSecond, tracesPerCpuSecond }) => [
      what,
      whole(tracesPerSecond),
      whole(tracesPerCpuSecond),
    ]),
  );
}

function estimatorTable(lines: readonly EstimatorLine[]): string {
  const rows = lines.map(({ labels, errors, bad, estimator, coverage, width }) => [
    labels,
    `${Math.round(errors * 100)}%`,
    `${Math.round(bad * 100)}%`,
    estimator,
    coverage.toFixed(3),
    width.toFixed(3),
  ]);
  return table(["labels", "wrong labels", "bad traces", "estimator", "coverage", "width"], rows);
}

function enrichedTable(lines: readonly EnrichedLine[]): string {
  const rows = lines.map(({ signal, draw, errors, sets, good, bad, enough, accepted }) => [
    signal,
    draw,
    `${Math.round(errors * 100)}%`,
    String(sets),
    good.toFixed(1),
    bad.toFixed(1),
    enough.toFixed(2),
    accepted.toFixed(2),
  ]);
  return table(
    [
      "120 labels, 10% bad, seen by",
      "draw",
      "wrong labels",
      "label sets",
      "good per half",
      "bad per half",
      "enough in both",
      "perfect eval accepted",
    ],
    rows,
  );
}

function judgeTable(lines: readonly JudgeAcceptance[]): string {
  const rows = lines.map(({ bad, labels, sets, accepted }) => [
    `${Math.round(bad * 100)}%`,
    String(labels),
    String(sets),
    accepted.toFixed(2),
  ]);
  return table(["bad traces", "enriched labels", "label sets", "judge right about 95% accepted"], rows);
}

function plantedTable({ faults, found, notFound, shuffled, generated, intervals }: PlantedBench): string {
  const share = (value: number | null) => (value === null ? "-" : value.toFixed(3));
  return [
    table(
      ["wrong labels", "label sets", "chosen", "accepted", "TPR", "TNR"],
      faults.map(({ noise, sets, chosen, accepted, tpr, tnr }) => [
        share(noise),
        String(sets),
        share(chosen / sets),
        share(accepted / sets),
        share(tpr),
        share(tnr),
      ]),
    ),
    `Found in every set without wrong labels: ${found.length} of ${found.length + notFound.length} faults. Not found: ${notFound.join(", ") || "none"}.`,
    `Shuffled labels: a template was chosen in ${shuffled.chosen} of ${shuffled.sets} sets, and accepted in ${shuffled.accepted}.`,
    generated === null
      ? "Evals written by a model were not tested because no sandbox is available."
      : `Shuffled labels: an eval written by a model was saved in ${generated.chosen} of ${generated.sets} sets, and accepted in ${generated.accepted}.`,
    "",
    table(
      ["labels", "draws", "TPR's interval holds", "TNR's interval holds"],
      intervals.map(({ labels, draws, tpr, tnr }) => [String(labels), String(draws), share(tpr), share(tnr)]),
    ),
  ].join("\n");
}

const shareText = (value: number | null) => (value === null ? "-" : value.toFixed(3));
const percent = (value: number) => `${Math.round(value * 100)}%`;
const drawOf = ({ enriched }: { readonly enriched: boolean }) => (enriched ? "enriched" : "random");

function codingTable(lines: readonly CodingLine[]): string {
  const head = ["draw", "wrong notes", "failed tasks", "second look", "runs", "bad per mode", "chosen", "accepted"];
  return table(
    [...head, "found", "3 of 4 found", "misleading", "TPR", "TNR"],
    lines.map((line) => [
      drawOf(line),
      percent(line.errors),
      percent(line.failed),
      line.again,
      String(line.sets),
      line.labeledBad.toFixed(1),
      shareText(line.chosen),
      shareText(line.accepted),
      shareText(line.found),
      shareText(line.setsWithThree),
      String(line.misleading),
      shareText(line.tpr),
      shareText(line.tnr),
    ]),
  );
}

function ratesTable(lines: readonly RateLine[]): string {
  const head = ["draw", "bad traces", "wrong notes", "eval", "draws", "mode's rate holds", "corrected rates"];
  return table(
    [...head, "corrected rate holds"],
    lines.map((line) => [
      drawOf(line),
      percent(line.bad),
      percent(line.errors),
      line.chosen ? "chosen" : "given",
      String(line.draws),
      shareText(line.modeRate),
      shareText(line.corrected),
      shareText(line.correctedRate),
    ]),
  );
}
