import { attributeDrift, type Change, type WatchCounts } from "../src/statistics/drift.js";
import { seededRandom } from "../src/statistics/seeded-random.js";
import { table } from "../src/text/format.js";

/**
 * Simulates watches of a rubric (`evals watch`): a population of traces, a judge that is mostly consistent, 30 anchors,
 * a reference sample, and a fresh run per watch. In the middle of some streams, the judge or the agent changes.
 */

const ANCHORS = 30;
const REPEATS = 4;
const REFERENCE = 200;
const FRESH = 100;
const WATCHES = 20;
/** Watches before the change. */
const CHANGE_AT = 3;
const PASS_RATE = 0.8;

export interface DriftSetting {
  readonly name: string;
  /** Fraction of the traces that the judge judges differently each time, at random. */
  readonly noisy: number;
  /** Fraction of the passing traces that the changed judge fails, and of the failing ones that it passes. */
  readonly judge?: { readonly fails: number; readonly passes: number };
  /** Pass rate of the changed agent. */
  readonly agent?: number;
  /** Traces in a fresh run. */
  readonly fresh?: number;
}

const DRIFT_SETTINGS: readonly DriftSetting[] = [
  { name: "no change", noisy: 0 },
  { name: "no change, 5% noisy", noisy: 0.05 },
  { name: "no change, 15% noisy", noisy: 0.15 },
  { name: "judge: flips 20%", noisy: 0.02, judge: { fails: 0.2, passes: 0.2 } },
  { name: "judge: flips 20%, 10% noisy", noisy: 0.1, judge: { fails: 0.2, passes: 0.2 } },
  { name: "judge: fails 20% of what passed", noisy: 0.02, judge: { fails: 0.2, passes: 0 } },
  { name: "judge: fails 10%", noisy: 0.02, judge: { fails: 0.1, passes: 0 } },
  { name: "agent: pass rate 0.50", noisy: 0.02, agent: 0.5 },
  { name: "agent: pass rate 0.50, 10% noisy", noisy: 0.1, agent: 0.5 },
  { name: "agent: pass rate 0.60, 20 fresh", noisy: 0.02, agent: 0.6, fresh: 20 },
  { name: "agent: pass rate 0.70", noisy: 0.02, agent: 0.7 },
  { name: "both: 0.50, and fails 20%", noisy: 0.02, agent: 0.5, judge: { fails: 0.2, passes: 0 } },
  { name: "both: 0.50, and flips 20%", noisy: 0.02, agent: 0.5, judge: { fails: 0.2, passes: 0.2 } },
];

export interface DriftLine {
  readonly setting: DriftSetting;
  readonly streams: number;
  /** Fraction of the streams with this finding in the first watch after the change. */
  readonly atOnce: Readonly<Record<Change, number>>;
  /** Fraction of the streams with this first finding other than `none`, and with none. */
  readonly first: Readonly<Record<Change, number>>;
  /** Fraction with this finding in any watch. */
  readonly ever: Readonly<Record<Change, number>>;
  /** Median number of watches from the change to the first finding, or null if less than half have one. */
  readonly delay: number | null;
}

function benchDrift(streams: number): DriftLine[] {
  return DRIFT_SETTINGS.map((setting, i) => simulateDrift(setting, streams, i + 1));
}

export function simulateDrift(setting: DriftSetting, streams: number, seed: number): DriftLine {
  const zero: Record<Change, number> = { none: 0, judge: 0, agent: 0, both: 0, unclear: 0 };
  const [atOnce, first, ever] = [{ ...zero }, { ...zero }, { ...zero }];
  const delays: number[] = [];
  for (let i = 0; i < streams; i++) {
    const findings = simulateStream(setting, seededRandom(seed * 1_000_003 + i));
    const at = findings.findIndex((change) => change !== "none");
    atOnce[findings[CHANGE_AT] ?? "none"] += 1 / streams;
    first[findings[at] ?? "none"] += 1 / streams;
    for (const change of new Set(findings)) ever[change] += 1 / streams;
    delays.push(at < 0 ? Number.POSITIVE_INFINITY : at - CHANGE_AT + 1);
  }
  const median = delays.toSorted((a, b) => a - b)[Math.floor(streams / 2)] ?? Number.POSITIVE_INFINITY;
  return { setting, streams, atOnce, first, ever, delay: Number.isFinite(median) ? median : null };
}

/** A trace as the judge sees it. */
interface SimulatedTrace {
  /** Probability that the unchanged judge passes it: 0 or 1, or 0.5 for a noisy one. */
  readonly passes: number;
  /** The same for the changed judge. */
  readonly passesLater: number;
}

/** Returns the finding after each watch. */
function simulateStream({ noisy, judge, agent, fresh = FRESH }: DriftSetting, random: (limit: number) => number) {
  const chance = (p: number) => random(1_000_000) < p * 1_000_000;
  const draw = (passRate: number): SimulatedTrace => {
    if (chance(noisy)) return { passes: 0.5, passesLater: 0.5 };
    const passes = Number(chance(passRate));
    const flips = chance(passes === 1 ? (judge?.fails ?? 0) : (judge?.passes ?? 0));
    return { passes, passesLater: flips ? 1 - passes : passes };
  };
  const traces = (n: number, passRate: number) => Array.from({ length: n }, () => draw(passRate));
  const reference = traces(REFERENCE, PASS_RATE);
  const anchors = reference.slice(0, ANCHORS).map((trace) => ({ ...trace, stored: chance(trace.passes) }));
  const judgeAnchors = (isChanged: boolean) =>
    anchors.map(({ stored, passes, passesLater }) => chance(isChanged ? passesLater : passes) !== stored);
  const baseline = {
    repeats: Array.from({ length: REPEATS }, () => judgeAnchors(false)),
    reference: { successes: reference.filter(({ passes }) => chance(passes)).length, n: REFERENCE },
  };
  const watches: WatchCounts[] = [];
  return Array.from({ length: WATCHES }, (_, i) => {
    const isChanged = i >= CHANGE_AT;
    const run = traces(fresh, isChanged ? (agent ?? PASS_RATE) : PASS_RATE);
    const pass = (some: readonly SimulatedTrace[]) => ({
      successes: some.filter(({ passes, passesLater }) => chance(isChanged ? passesLater : passes)).length,
      n: some.length,
    });
    const watch: WatchCounts = { anchors: judgeAnchors(isChanged), fresh: pass(run), rejudged: null };
    const found = attributeDrift(baseline, [...watches, watch]).changed;
    watches.push(found === "none" ? watch : { ...watch, rejudged: pass(traces(REFERENCE, PASS_RATE)) });
    return attributeDrift(baseline, watches).changed;
  });
}

export function printDriftBench(streams: number, isJson: boolean): void {
  const lines = benchDrift(streams);
  if (isJson) {
    console.log(JSON.stringify(lines, null, 2));
    return;
  }
  const percent = (fraction: number) => `${(100 * fraction).toFixed(1)}%`;
  console.log(
    [
      `${streams} streams of ${WATCHES} watches each: ${ANCHORS} anchors, ${REFERENCE} reference traces, ${FRESH} fresh traces per watch, pass rate ${PASS_RATE}. The change comes after watch ${CHANGE_AT}.`,
      "",
      table(
        [
          "",
          ...["judge", "agent", "both", "unclear"].map((change) => `${change} at once`),
          "any change",
          "judge ever",
          "agent ever",
          "both ever",
          "watches until found",
        ],
        lines.map(({ setting, atOnce, first, ever, delay }) => [
          setting.name,
          ...[atOnce.judge, atOnce.agent, atOnce.both, atOnce.unclear].map(percent),
          ...[1 - first.none, ever.judge, ever.agent, ever.both].map(percent),
          delay === null ? "-" : String(delay),
        ]),
      ),
    ].join("\n"),
  );
}
