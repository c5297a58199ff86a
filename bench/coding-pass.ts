import { adviseModes } from "../src/error-analysis/advise-modes.js";
import { openCoding, saveNote } from "../src/error-analysis/coding.js";
import { changeModes, readTaxonomy } from "../src/error-analysis/modes.js";
import { sampledUnseenLabels } from "../src/evals/effective-labels.js";
import { openLabeling } from "../src/evals/labeling.js";
import { firstDraw } from "../src/evals/labels.js";
import { PassTally } from "../src/evals/pass-rates.js";
import { getEval, saveDraft } from "../src/evals/store.js";
import { evalSuggester } from "../src/evals/suggest.js";
import { TEMPLATES } from "../src/evals/templates.js";
import { testEval } from "../src/evals/test-eval.js";
import { contextOf } from "../src/library/options/context.js";
import type { AppSettings } from "../src/platform/app-context.js";
import { UserError } from "../src/platform/errors.js";
import type { Db } from "../src/store/open-store.js";
import { openRowWriter, toResultRow } from "../src/traces/result-writer.js";
import type { QuestionTrace } from "../src/traces/trace.js";
import { finished, saveRun } from "../test/traces/saved-runs.js";
import {
  chance,
  cleanTraces,
  FAULTS,
  isAccepted,
  isWithin,
  mean,
  ratesOnUnlabeled,
  ruleOf,
  type TrueRates,
  WITH_TEMPLATE,
  WITHOUT_TEMPLATE,
  withDatabase,
} from "./planted-traces.js";

/**
 * Measures one coding pass over a run with several failure modes: a person notes the first thing that went wrong in
 * each drawn trace, groups the notes into modes, and follows the advice for each mode. The program draws the traces,
 * chooses the templates and accepts their evals, which are then measured on the traces that nobody labeled.
 */

export const RUN = "run_planted";
const TRACES = 700;
const PASS = 150;
/** Fraction of the traces with each mode. A trace has at most one. */
const MODE_RATE = 0.08;
const MODES_WITH_TEMPLATE = 4;
const MODES_WITHOUT_TEMPLATE = 2;
/** True rates that an accepted eval should have. */
const WANTED = 0.85;

/** Whether a fault can be one of several in a run. Some need a change in all traces, and one is a failed task. */
const isSuited = (name: string) => FAULTS[name]?.all === undefined && name !== "comes_to_an_end";

interface Condition {
  /** Whether likely failures were drawn more often. */
  readonly enriched: boolean;
  /** Probability that a person's note about a trace is wrong. */
  readonly errors: number;
  /** Fraction of the tasks that ended in an error of the model. */
  readonly failed: number;
  /**
   * Who looks at the coded traces again: nobody, the same person at those with a mode, or a second person at all of
   * them. Then the second label counts, or the disagreements are adjudicated.
   */
  readonly again: "nobody" | "same person" | "second person" | "adjudicated";
}

const CONDITIONS: readonly Condition[] = [false, true].flatMap((enriched): readonly Condition[] => [
  { enriched, errors: 0, failed: 0, again: "nobody" },
  { enriched, errors: 0.05, failed: 0, again: "nobody" },
  { enriched, errors: 0.05, failed: 0, again: "same person" },
  { enriched, errors: 0.05, failed: 0.4, again: "same person" },
  // Two people disagree about 15% of the traces.
  { enriched, errors: 0.078, failed: 0, again: "second person" },
  { enriched, errors: 0.078, failed: 0, again: "adjudicated" },
]);

export interface CodingLine extends Condition {
  readonly sets: number;
  /** Mean number of traces labeled with a mode. */
  readonly labeledBad: number;
  /** Fractions of the modes with a template whose own template was chosen, and accepted. */
  readonly chosen: number;
  readonly accepted: number;
  /** Fraction of the modes with a template that have an accepted eval with true rates of at least 0.85. */
  readonly found: number;
  /** Fraction of the sets in which at least three of four modes are found. */
  readonly setsWithThree: number;
  /** Number of accepted evals with a true rate below 0.85, including those for modes without a template. */
  readonly misleading: number;
  /** Mean rates of the accepted evals on unlabeled traces. */
  readonly tpr: number | null;
  readonly tnr: number | null;
}

/** Earlier seeds were used while the program was improved. */
const FIRST_SEED = 1_001;

/** `texts`: traces of the demo, as JSON. `seeds`: runs per condition. */
export async function benchCodingPasses(texts: readonly string[], seeds: number): Promise<readonly CodingLine[]> {
  const base = cleanTraces(texts);
  const passes: CodingLine[] = [];
  for (const condition of CONDITIONS) passes.push(await codingLine(base, condition, seeds));
  return passes;
}

async function codingLine(base: readonly QuestionTrace[], condition: Condition, seeds: number): Promise<CodingLine> {
  const sets: (readonly ModeResult[])[] = [];
  for (let i = 0; i < seeds; i++) sets.push(await codedSet(base, condition, FIRST_SEED + i));
  const all = sets.flat();
  const withTemplate = all.filter(({ hasTemplate }) => hasTemplate);
  const fraction = (is: (one: ModeResult) => boolean) => withTemplate.filter(is).length / withTemplate.length;
  const accepted = all.flatMap((one) => one.accepted);
  const found = (set: readonly ModeResult[]) => set.filter((one) => one.hasTemplate && isFound(one)).length;
  return {
    ...condition,
    sets: sets.length,
    labeledBad: mean(withTemplate.map(({ labeledBad }) => labeledBad)) ?? 0,
    chosen: fraction(({ isChosen }) => isChosen),
    accepted: fraction((one) => one.isOwnAccepted),
    found: fraction(isFound),
    setsWithThree: sets.filter((set) => found(set) >= 3).length / sets.length,
    misleading: accepted.filter((rates) => !isRight(rates)).length,
    tpr: mean(accepted.flatMap(({ tpr }) => tpr ?? [])),
    tnr: mean(accepted.flatMap(({ tnr }) => tnr ?? [])),
  };
}

function isFound({ accepted }: ModeResult): boolean {
  return accepted.some(isRight);
}

function isRight({ tpr, tnr }: TrueRates): boolean {
  return (tpr ?? 0) >= WANTED && (tnr ?? 0) >= WANTED;
}

interface ModeResult {
  readonly hasTemplate: boolean;
  readonly labeledBad: number;
  /** Whether the mode's own template was chosen, and accepted. */
  readonly isChosen: boolean;
  readonly isOwnAccepted: boolean;
  /** Rates on unlabeled traces of every accepted eval for the mode. */
  readonly accepted: readonly TrueRates[];
}

/** One run with its coding pass, labels and evals. */
function codedSet(base: readonly QuestionTrace[], condition: Condition, seed: number): Promise<readonly ModeResult[]> {
  return withDatabase(async (db, settings) => {
    const random = chance(seed);
    const modes = drawModes(random);
    const modeOf = savePlantedRun(db, base, { modes, rate: MODE_RATE, failed: condition.failed }, random);
    const person = notesOf(modeOf, condition.errors, random);
    await codePass(db, { ...condition, notes: person(), repeated: person(), notesAgain: person(), modeOf, seed });
    const { advice } = await adviseModes({ seed }, settings);
    const results: ModeResult[] = [];
    for (const one of advice.filter(({ mode }) => modes.includes(mode.name))) {
      results.push(await resultOf(one));
    }
    return results;

    async function resultOf(one: (typeof advice)[number]): Promise<ModeResult> {
      const { name, traces } = one.mode;
      const templates = one.kind === "template" ? one.templates.filter(({ version }) => version !== null) : [];
      const accepted: TrueRates[] = [];
      let isOwnAccepted = false;
      for (const template of templates) {
        const version = `${template.name}@${template.version}`;
        if (!(await isAccepted(version, name, settings))) continue;
        isOwnAccepted ||= template.name === name;
        accepted.push(await ratesOnUnlabeled(db, version, (id) => modeOf.get(id) === name, TRACES));
      }
      const isChosen = templates.some((template) => template.name === name);
      return { hasTemplate: name in WITH_TEMPLATE, labeledBad: traces, isChosen, isOwnAccepted, accepted };
    }
  });
}

/** Each set has other modes. */
function drawModes(random: () => number): string[] {
  const some = (names: readonly string[], count: number) => {
    const left = [...names];
    return Array.from({ length: count }, () => left.splice(Math.floor(random() * left.length), 1)).flat();
  };
  const suited = Object.keys(WITH_TEMPLATE).filter(isSuited);
  return [...some(suited, MODES_WITH_TEMPLATE), ...some(Object.keys(WITHOUT_TEMPLATE), MODES_WITHOUT_TEMPLATE)];
}

const FAILED_TASK = "failed_task";

/**
 * Saves a run and returns the mode of each trace, or null for a good one. The tasks have a score that is often, but not
 * always, lower for a trace with a mode.
 */
function savePlantedRun(
  db: Db,
  base: readonly QuestionTrace[],
  { modes, rate, failed }: { readonly modes: readonly string[]; readonly rate: number; readonly failed: number },
  random: () => number,
): ReadonlyMap<string, string | null> {
  saveRun(db, RUN);
  const save = openRowWriter(db);
  const modeOf = new Map<string, string | null>();
  db.exec("BEGIN");
  for (let i = 0; i < TRACES; i++) {
    const traceId = `planted_${String(i).padStart(4, "0")}`;
    const one = base[i % base.length] as QuestionTrace;
    const other = base[Math.floor(random() * base.length)] ?? one;
    const mode = modes[Math.floor(random() / rate)] ?? null;
    const isFailed = mode === null && random() < failed / (1 - rate * modes.length);
    modeOf.set(traceId, isFailed ? FAILED_TASK : mode);
    const fault = isFailed ? FAULTS.comes_to_an_end : FAULTS[mode ?? ""];
    const task = { ...one.task, id: i, question: `${one.task.question} (${i})`, message_ids: [] };
    const trace = { ...one, traceId, runId: RUN, taskId: i, task, ...fault?.bad({ ...one, task }, other) };
    const score = isFailed ? null : mode === null ? Math.sqrt(random()) : random();
    const { result } = finished(RUN, i, score, traceId);
    const { answer, ending } = trace;
    const row = { ...result, question: task.question, agentAnswer: answer ?? "", ending };
    const scores = { semanticScore: { value: score } };
    save(toResultRow({ ...trace, scores }, row));
  }
  db.exec("COMMIT");
  return modeOf;
}

/** What a person notes about each trace: its mode, or null for nothing. */
type Notes = ReadonlyMap<string, string | null>;

/**
 * Returns a function that draws a person's notes. A wrong note misses a mode, takes it for another one, or sees one in
 * a good trace.
 */
export function notesOf(modeOf: Notes, errors: number, random: () => number): () => Notes {
  const modes = [...new Set(modeOf.values())].filter((mode) => mode !== null);
  const wrong = (mode: string | null) => {
    const others = modes.filter((other) => other !== mode);
    if (mode !== null && (others.length === 0 || random() < 0.5)) return null;
    return others[Math.floor(random() * others.length)] ?? null;
  };
  return () => new Map([...modeOf].map(([id, mode]) => [id, random() < errors ? wrong(mode) : mode]));
}

interface Pass extends Pick<Condition, "enriched" | "again"> {
  readonly notes: Notes;
  /** The second notes, by the same person, for traces that the pass shows again. */
  readonly repeated: Notes;
  /** What the person who looks again thinks of each trace. */
  readonly notesAgain: Notes;
  readonly modeOf: Notes;
  readonly seed: number;
}

/** Notes, modes, and the labels of the people who look again. */
export async function codePass(
  db: Db,
  { enriched, notes, repeated, again, notesAgain, modeOf, seed }: Pass,
): Promise<void> {
  const { queue } = await openCoding(db, { run: RUN, limit: PASS, seed, enriched });
  db.exec("BEGIN");
  const noteOf = ({ traceId, isRepeat }: (typeof queue)[number]) => (isRepeat ? repeated : notes).get(traceId) ?? null;
  for (const draw of queue) saveNote(db, { ...draw, note: noteOf(draw), annotator: "ann" });
  const modes = new Set(queue.flatMap((draw) => noteOf(draw) ?? []));
  for (const mode of modes) changeModes(db, { action: "assign", mode, notes: [mode] });
  db.exec("COMMIT");
  if (again === "nobody") return;
  const coded = new Set(queue.map(({ traceId }) => traceId));
  for (const criterion of modes) {
    const options = { criterion, annotator: null, seed };
    if (again === "same person") await label(db, { ...options, confirm: true }, notesAgain, coded);
    else await label(db, { ...options, annotator: "ben" }, notesAgain, coded);
    if (again === "adjudicated") await label(db, { ...options, adjudicate: true }, modeOf, coded);
  }
}

/** Labels the coded traces among the queued ones, each as drawn for the pass. */
async function label(
  db: Db,
  options: Omit<Parameters<typeof openLabeling>[1], "run" | "enriched">,
  notes: Notes,
  coded: ReadonlySet<string>,
): Promise<void> {
  const labeling = await openLabeling(db, { run: RUN, enriched: false, ...options });
  db.exec("BEGIN");
  for (const item of labeling.queue) {
    if (item.isRepeat || !coded.has(item.traceId)) continue;
    const draw = firstDraw(db, item.traceId, options.criterion);
    labeling.save({ ...item, ...draw }, notes.get(item.traceId) === options.criterion ? "bad" : "good", null);
  }
  db.exec("COMMIT");
}

/** Figures about a run from coding passes. */
export interface RateLine extends Pick<Condition, "enriched" | "errors"> {
  /** Whether the eval was chosen by the labels of each draw. Otherwise, it was given before. */
  readonly chosen: boolean;
  /** Fraction of bad traces in the run. */
  readonly bad: number;
  readonly draws: number;
  /** Fraction of the draws in which the interval of the mode's rate contains the fraction of bad traces. */
  readonly modeRate: number;
  /** Fraction of the draws with a corrected rate of the eval. */
  readonly corrected: number;
  /** Fraction of these draws in which its interval contains the fraction of good traces. */
  readonly correctedRate: number | null;
}

const MODE = "wrong";
const TRUE_POSITIVES = 0.92;
const FALSE_POSITIVES = 0.15;

/** An eval with errors (has_source, against another truth), and one mode, in `draws` passes over the same run. */
export async function benchCorrectedRates(texts: readonly string[], draws: number): Promise<readonly RateLine[]> {
  const base = cleanTraces(texts);
  const lines: RateLine[] = [];
  for (const enriched of [false, true])
    for (const bad of [0.05, 0.3, 0.6])
      for (const errors of [0, 0.05])
        for (const chosen of [false, true]) lines.push(await rateLine(base, { enriched, bad, errors, chosen }, draws));
  return lines;
}

function rateLine(
  base: readonly QuestionTrace[],
  { enriched, bad, errors, chosen }: Pick<RateLine, "enriched" | "bad" | "errors" | "chosen">,
  draws: number,
): Promise<RateLine> {
  return withDatabase(async (db, settings) => {
    const random = chance(Math.round(100 * (bad + 10 * errors)));
    const passes = new Map<string, boolean>();
    const clean = base.map((one) => ({ ...one, messages: [], toolCalls: [] }));
    const modeOf = savePlantedRun(db, clean, { modes: [MODE], rate: bad, failed: 0 }, random);
    const blank = db.prepare("UPDATE traces SET trace = json_set(trace, '$.sources', json('[]')) WHERE id = ?");
    for (const [id, mode] of modeOf) {
      passes.set(id, random() < (mode === null ? TRUE_POSITIVES : FALSE_POSITIVES));
      if (passes.get(id) === false) blank.run(id);
    }
    const template = TEMPLATES.find(({ name }) => name === "has_source");
    if (template === undefined) throw new Error("unknown template has_source");
    if (!chosen) saveDraft(db, ruleOf(template), "2026-01-01T00:00:00.000Z");
    const isBad = [...modeOf.values()].filter((mode) => mode !== null).length / modeOf.size;
    const person = notesOf(modeOf, errors, random);
    const counts = { modeRate: 0, corrected: 0, held: 0 };
    for (let seed = 1; seed <= draws; seed++) {
      // Resets the labels, because a question's half is otherwise permanent.
      for (const name of ["coded_modes", "coding_notes", "failure_modes", "eval_labels", "eval_traces"])
        db.exec(`DELETE FROM ${name}`);
      for (const name of ["eval_questions", "eval_tests", ...(chosen ? ["evals"] : [])]) db.exec(`DELETE FROM ${name}`);
      const again = errors === 0 ? "nobody" : "second person";
      await codePass(db, { enriched, again, notes: person(), repeated: person(), notesAgain: person(), modeOf, seed });
      const rate = readTaxonomy(db, RUN).modes[0]?.rate;
      if (rate !== undefined && isWithin(rate, isBad)) counts.modeRate++;
      const corrected = await correctedRate(db, passes, { chosen, seed }, settings);
      if (corrected === null) continue;
      counts.corrected++;
      if (isWithin(corrected, 1 - isBad)) counts.held++;
    }
    const { modeRate, corrected, held } = counts;
    return {
      enriched,
      bad,
      errors,
      chosen,
      draws,
      modeRate: modeRate / draws,
      corrected: corrected / draws,
      correctedRate: corrected === 0 ? null : held / corrected,
    };
  });
}

/** Returns null if the eval is not chosen or cannot be tested. */
async function correctedRate(
  db: Db,
  passes: ReadonlyMap<string, boolean>,
  { chosen, seed }: { readonly chosen: boolean; readonly seed: number },
  settings: AppSettings,
) {
  try {
    if (chosen) {
      const { evals } = evalSuggester(db, seed)(MODE);
      if (!evals.some(({ stored }) => stored.definition.name === "has_source")) return null;
    }
    const options = { name: "has_source", criterion: MODE, thresholds: "usable" } as const;
    const { test } = await testEval(options, contextOf(settings));
    const tally = new PassTally();
    for (const [id, passed] of passes) tally.add(id, Number(passed), id);
    return tally.figures(test.agreement, sampledUnseenLabels(db, MODE, getEval(db, "has_source"))).corrected;
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}
