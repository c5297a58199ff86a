import { table } from "../src/text/format.js";
import { benchCodingPasses, type CodingBench } from "./coding-pass.js";
import { benchEnrichedLabels, type EnrichedLine } from "./enriched-labels.js";
import { benchEstimators, type EstimatorLine } from "./eval-estimators.js";
import { benchEvals, demoTraces, type EvalBenchLine } from "./evals.js";
import { benchPlantedFaults, type PlantedBench } from "./planted-faults.js";

/** The standard error of a coverage of 95% is 1.1%. */
const ESTIMATOR_DRAWS = 400;
const ENRICHED_SETS = 10;

/** The speed of evals over `traces` traces, and what the program concludes from labels, with `seeds` sets each. */
export async function printEvalsBench(traces: number, seeds: number, asJson: boolean): Promise<void> {
  const speed = benchEvals(traces);
  const estimators = benchEstimators(ESTIMATOR_DRAWS);
  const texts = demoTraces();
  const planted = await benchPlantedFaults(texts, seeds);
  const enriched = await benchEnrichedLabels(texts, ENRICHED_SETS * seeds);
  const coding = await benchCodingPasses(texts, seeds);
  if (asJson) return console.log(JSON.stringify({ speed, estimators, planted, enriched, coding }, null, 2));
  const planting = [plantedTable(planted), enrichedTable(enriched), codingTables(coding)];
  console.log([evalTable(speed), estimatorTable(estimators), ...planting].join("\n\n"));
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

function codingTables({ passes, rates }: CodingBench): string {
  const share = (value: number | null) => (value === null ? "-" : value.toFixed(3));
  const percent = (value: number) => `${Math.round(value * 100)}%`;
  const drawOf = ({ enriched }: { readonly enriched: boolean }) => (enriched ? "enriched" : "random");
  return [
    table(
      [
        "draw",
        "wrong notes",
        "failed tasks",
        "second look",
        "runs",
        "bad per mode",
        "chosen",
        "accepted",
        "found",
        "3 of 4 found",
        "misleading",
        "TPR",
        "TNR",
      ],
      passes.map((line) => [
        drawOf(line),
        percent(line.errors),
        percent(line.failed),
        line.again,
        String(line.sets),
        line.labeledBad.toFixed(1),
        share(line.chosen),
        share(line.accepted),
        share(line.found),
        share(line.setsWithThree),
        String(line.misleading),
        share(line.tpr),
        share(line.tnr),
      ]),
    ),
    "",
    table(
      ["draw", "bad traces", "wrong notes", "draws", "mode's rate holds", "corrected rates", "corrected rate holds"],
      rates.map((line) => [
        drawOf(line),
        percent(line.bad),
        percent(line.errors),
        String(line.draws),
        share(line.modeRate),
        share(line.corrected),
        share(line.correctedRate),
      ]),
    ),
  ].join("\n");
}
