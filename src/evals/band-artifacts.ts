// `art-e evals cases`: patterns, failure modes and cases from the score bands of a run. Unlike `evals suggest`, it
// needs no statistics: one trace is enough for a case.
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { compact } from "../platform/optional-values.js";
import { type Db, limitPageCache, withStore } from "../store/open-store.js";
import type { TaskId } from "../tasks/question.js";
import { isScored, scorerForBands } from "../traces/headline-score.js";
import { getRun, type RunRow } from "../traces/runs-store.js";
import { BANDS, type Band, bandOf } from "../traces/score-bands.js";
import type { QuestionTrace, Trace } from "../traces/trace.js";
import { countScores, readTraces, selectTraceIds } from "../traces/traces-store.js";
import { addGoldCopies, BAND_RULES, type BandRule, brokenText, requireHigherIsBetter } from "./band-rules.js";
import { modeFlag } from "./criteria.js";
import { BY_TEMPLATES, type CaseOrigin, type EvalDraft, MAX_CASES, type RegressionCase } from "./definition.js";
import { type EffectiveLabel, effectiveLabels } from "./effective-labels.js";
import { viewOf } from "./features.js";
import type { EvalLabel } from "./labels.js";
import { containsTerm, hasGold, keyTermsOf, regressionCaseOf } from "./run-evals/run-rules.js";
import { type SavedEval, saveDraft } from "./store.js";
import { TEMPLATES, templateEval } from "./templates.js";

interface BandOptions {
  readonly run: string;
  /** The score that decides the band, or null for labels and, for unlabeled traces, the run's score with bands. */
  readonly by: string | null;
  readonly criterion: string;
}

/** How many of a band's traces meet or break a rule, of those that it applies to. */
export interface RuleCount {
  readonly name: string;
  /** A sentence about a good trace. */
  readonly sentence: string;
  readonly traces: number;
  readonly applies: number;
  /** Up to three examples. */
  readonly examples: readonly string[];
}

/** What a trace of the medium band lacks. */
interface Opportunity {
  readonly trace: string;
  readonly task: TaskId;
  readonly basis: string;
  readonly missing: readonly string[];
}

export interface BandArtifacts {
  readonly runId: string;
  /** The score of unlabeled traces, or null if the run has no score with bands. */
  readonly scorer: string | null;
  readonly counts: Readonly<Record<Band | "unscored", number>>;
  /** Number of traces whose band a label decided. */
  readonly labeled: number;
  readonly high: {
    /** Rules that at least half of the good traces meet. */
    readonly patterns: readonly RuleCount[];
    readonly tools: readonly { readonly tool: string; readonly traces: number }[];
    /** Good answers, as examples. */
    readonly positive: readonly CaseOrigin[];
    readonly regression: readonly RegressionCase[];
  };
  readonly medium: {
    /** Rules that these traces meet although they are not good. */
    readonly partialSuccesses: readonly RuleCount[];
    readonly opportunities: readonly Opportunity[];
    readonly edge: readonly RegressionCase[];
  };
  readonly low: {
    /** Broken rules, most frequent first. */
    readonly failureModes: readonly RuleCount[];
    /** Number of traces that break no rule. */
    readonly unexplained: number;
    readonly bugs: readonly RegressionCase[];
    /** Names of templates that bad traces break more often than good ones. */
    readonly targeted: readonly string[];
  };
  /** Number of traces without a case, per reason. */
  readonly withoutCase: Readonly<Record<string, number>>;
  readonly evals: readonly SavedEval[];
}

interface RuleTally {
  readonly rule: BandRule;
  readonly met: Record<Band, string[]>;
  readonly broken: Record<Band, string[]>;
}

interface Sorted {
  readonly band: Band | "unscored";
  readonly basis: string;
  readonly isLabel: boolean;
}

/**
 * Sorts a run's traces into bands, describes each band, and saves its cases and targeted evals as drafts. Throws a
 * UserError if no trace has a label or a score.
 */
export function makeBandArtifacts(options: BandOptions, settings: AppSettings): Promise<BandArtifacts> {
  return withStore(settings, (db) => {
    limitPageCache(db);
    const run = getRun(db, options.run);
    const { read, scorer } = readBands(db, run, options);
    if (BANDS.every((band) => read.counts[band] === 0)) throw unsorted(run, options);
    const { counts, labeled, cases, positive, opportunities, withoutCase } = read;
    const targeted = targetedRules(read.rules).map(({ name }) => name);
    const now = new Date().toISOString();
    const evals = draftsOf(cases, targeted).map((draft) => saveDraft(db, draft, now));
    return {
      runId: run.id,
      scorer,
      counts,
      labeled,
      high: {
        patterns: ruleCounts(read.rules, "high", "met"),
        tools: [...read.tools]
          .map(([tool, traces]) => ({ tool, traces }))
          .toSorted((a, b) => b.traces - a.traces || a.tool.localeCompare(b.tool)),
        positive,
        regression: cases.high,
      },
      medium: { partialSuccesses: ruleCounts(read.rules, "medium", "met"), opportunities, edge: cases.medium },
      low: {
        failureModes: ruleCounts(read.rules, "low", "broken"),
        unexplained: read.unexplained,
        bugs: cases.low,
        targeted,
      },
      withoutCase: Object.fromEntries(withoutCase),
      evals,
    };
  });
}

/** Only ids and cases stay in memory, because a run can have tens of thousands of traces. */
class BandReader {
  readonly counts = { high: 0, medium: 0, low: 0, unscored: 0 };
  readonly rules: RuleTally[] = BAND_RULES.map((rule) => ({ rule, met: perBand(), broken: perBand() }));
  readonly tools = new Map<string, number>();
  readonly cases: Record<Band, RegressionCase[]> = perBand();
  readonly positive: CaseOrigin[] = [];
  readonly opportunities: Opportunity[] = [];
  readonly withoutCase = new Map<string, number>();
  labeled = 0;
  unexplained = 0;
  private readonly tasksWithCase: Record<Band, Set<TaskId>> = { high: new Set(), medium: new Set(), low: new Set() };

  constructor(
    private readonly runId: string,
    private readonly frequencyOf: (word: string) => number,
  ) {}

  add(trace: Trace, { band, basis, isLabel }: Sorted): void {
    this.counts[band]++;
    if (band === "unscored") return;
    if (isLabel) this.labeled++;
    const broken = this.applyRules(trace, band);
    if (band === "high") {
      for (const tool of new Set(trace.toolCalls.map(({ name }) => name))) {
        this.tools.set(tool, (this.tools.get(tool) ?? 0) + 1);
      }
    }
    if (band === "medium") {
      this.opportunities.push({ trace: trace.traceId, task: trace.taskId, basis, missing: broken });
    }
    if (band === "low" && broken.length === 0) this.unexplained++;
    const reason = this.addCase(trace, band, basis);
    if (reason !== null) this.withoutCase.set(reason, (this.withoutCase.get(reason) ?? 0) + 1);
  }

  private applyRules(trace: Trace, band: Band): string[] {
    const view = viewOf(trace);
    return compact(
      this.rules.map(({ rule, met, broken }) => {
        const result = rule.check(trace, view);
        if (result === null) return null;
        (result.holds ? met : broken)[band].push(trace.traceId);
        return result.holds ? null : brokenText(rule, result.detail);
      }),
    );
  }

  /** Returns why the trace does not get a case, or null if it does. */
  private addCase(trace: Trace, band: Band, basis: string): string | null {
    if (trace.kind === "suite") return "graded by its suite";
    if (!hasGold(trace)) return "no gold answer";
    if (this.tasksWithCase[band].has(trace.taskId)) return "the task already has a case";
    if (this.cases[band].length >= MAX_CASES) return `more than ${MAX_CASES} cases`;
    const regressionCase = band === "high" ? regressionCaseOf(trace, this.frequencyOf) : keyTermCase(trace);
    if (regressionCase === null) return band === "high" ? "nothing in common with the gold answer" : "no key terms";
    const from = originOf(this.runId, trace, band, basis, regressionCase.must_contain);
    // The answer would pass its own case.
    if (band !== "high" && from.missing.length === 0) return "the answer contains all key terms";
    this.tasksWithCase[band].add(trace.taskId);
    this.cases[band].push({ ...regressionCase, from });
    if (band === "high") this.positive.push(from);
    return null;
  }
}

function perBand<T>(): Record<Band, T[]> {
  return { high: [], medium: [], low: [] };
}

/** A word that occurs in more emails than this is common. Counting stops at this number. */
const COMMON = 1_000;

/** Returns a function that counts the emails that contain a word in any of its forms, up to `COMMON`. */
function wordFrequency(db: Db): (word: string) => number {
  const count = db
    .prepare("SELECT count(*) FROM (SELECT rowid FROM emails_fts WHERE emails_fts MATCH ? LIMIT ?)")
    .pluck();
  return (word) => count.get(`"${word.replaceAll('"', "")}"`, COMMON) as number;
}

function readBands(db: Db, run: RunRow, options: BandOptions) {
  const counts = countScores(db, run.id);
  const labels = options.by === null ? labelsByTrace(db, options.criterion) : new Map<string, EffectiveLabel>();
  const usual = scorerForBands(null, counts, run.id);
  // A run can be labeled without having the score that usually decides the band.
  const scorer = options.by !== null || isScored(usual, counts) ? scorerForBands(options.by, counts, run.id) : null;
  if (scorer !== null) requireHigherIsBetter("--by", scorer);
  const read = new BandReader(run.id, wordFrequency(db));
  const ids = selectTraceIds(db, { runId: run.id });
  const withCopies = addGoldCopies(db);
  for (const trace of readTraces(db, ids)) {
    read.add(withCopies(trace), sorted(trace, labels.get(trace.traceId), scorer));
  }
  return { read, scorer };
}

function labelsByTrace(db: Db, criterion: string): Map<string, EffectiveLabel> {
  return new Map(effectiveLabels(db, criterion).map((label) => [label.traceId, label]));
}

const BAND_OF_LABEL: Readonly<Record<EvalLabel, Sorted["band"]>> = {
  good: "high",
  neutral: "medium",
  bad: "low",
  // The person was unsure, so the score must not decide instead.
  skip: "unscored",
};

/** A label decides before the score, because a person or a judge saw more than word overlap. */
function sorted(trace: Trace, label: EffectiveLabel | undefined, scorer: string | null): Sorted {
  if (label !== undefined) {
    const note = label.note === null ? "" : `: ${label.note}`;
    const basis = `labeled ${label.label} (${label.source})${note}`;
    return { band: BAND_OF_LABEL[label.label], basis, isLabel: true };
  }
  const score = scorer === null ? null : (trace.scores[scorer]?.value ?? null);
  const basis = score === null ? "" : `${scorer} ${Number(score.toFixed(3))}`;
  return { band: bandOf(score), basis, isLabel: false };
}

function unsorted({ id }: RunRow, { criterion }: BandOptions): UserError {
  return new UserError(
    "scores_missing",
    `Cannot make cases from ${id}: none of its traces has a label or a headline score.`,
    `Pass another score with --by, or label some traces: ${commandLine`art-e evals label ${id}`}${modeFlag(criterion)}.`,
  );
}

/** The case of a medium or low trace requires all key terms of the gold answer. */
function keyTermCase(trace: QuestionTrace): RegressionCase | null {
  const terms = keyTermsOf(trace.task.answer);
  return terms.length === 0 ? null : { task: trace.taskId, must_contain: terms, must_cite: [] };
}

function originOf(run: string, trace: QuestionTrace, band: Band, basis: string, terms: readonly string[]): CaseOrigin {
  const { question, answer: gold } = trace.task;
  const missing = terms.filter((term) => !containsTerm(trace.answer ?? "", term));
  return { run, trace: trace.traceId, band, basis, question, gold, answer: trace.answer, missing };
}

const EXAMPLES = 3;

/**
 * Returns the rules that a band's traces meet or break, the most frequent first. A rule that fewer than half of them
 * meet does not count as met.
 */
function ruleCounts(rules: readonly RuleTally[], band: Band, outcome: "met" | "broken"): RuleCount[] {
  return rules
    .flatMap(({ rule: { name, sentence }, ...tally }): RuleCount[] => {
      const ids = tally[outcome][band];
      const applies = tally.met[band].length + tally.broken[band].length;
      if (ids.length === 0 || (outcome === "met" && ids.length * 2 < applies)) return [];
      return [{ name, sentence, traces: ids.length, applies, examples: ids.slice(0, EXAMPLES) }];
    })
    .toSorted((a, b) => b.traces - a.traces);
}

/** Returns the templates that low traces break more often than high ones. */
function targetedRules(rules: readonly RuleTally[]): BandRule[] {
  const rateOf = ({ met, broken }: RuleTally, band: Band) =>
    broken[band].length / Math.max(1, met[band].length + broken[band].length);
  return rules
    .filter((tally) => tally.rule.isTemplate && rateOf(tally, "low") > rateOf(tally, "high"))
    .map(({ rule }) => rule);
}

/** The saved suites of cases, one per band. */
const SUITES: Readonly<Record<Band, Pick<EvalDraft<"cases">, "name" | "criterion" | "scoring">>> = {
  high: {
    name: "regression_cases",
    criterion:
      "The answer contains what a good answer to the same question contained, and cites an email with the answer.",
  },
  medium: {
    name: "edge_cases",
    criterion: "The answer contains the key terms of the gold answer, which an earlier answer did not contain in full.",
    scoring: "fraction",
  },
  low: {
    name: "bug_reproductions",
    criterion: "The answer contains the key terms of the gold answer to a question that was answered wrongly before.",
    scoring: "fraction",
  },
};

function draftsOf(cases: Readonly<Record<Band, RegressionCase[]>>, targeted: readonly string[]): EvalDraft[] {
  const suites = BANDS.filter((band) => cases[band].length > 0).map(
    (band): EvalDraft<"cases"> => ({
      ...SUITES[band],
      kind: "cases",
      reference: true,
      cases: cases[band],
      origin: BY_TEMPLATES,
    }),
  );
  const rules = TEMPLATES.filter(({ name }) => targeted.includes(name)).map((template) =>
    templateEval(template, 0, BY_TEMPLATES),
  );
  return [...suites, ...rules];
}
