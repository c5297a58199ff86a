// Tests evals from templates on all labels, although the choice has seen them: by cross-fitting.
import type { Db } from "../../store/open-store.js";
import { type Candidate, chooseTemplates } from "../choose-templates.js";
import type { Condition, StoredEval } from "../definition.js";
import { labelsOfHalf } from "../effective-labels.js";
import { type MeasuredOutcome, withoutPassOfFailure } from "../eval-outcome.js";
import { isMissed } from "../run-evals/run-rules.js";
import { dealByHash, type Half } from "../split-questions.js";
import { madeForModeAt } from "../store.js";
import { measureTemplates, selectTraces, TraceMeasurements } from "../suggest/measure-templates.js";
import { conditionOf, type EvalTemplate, TEMPLATES } from "../templates.js";
import { type HalfRun, halfRun } from "./run-on-half.js";

const PARTS = 5;

/** An eval that was chosen among the templates by the labels of a mode. */
export interface ChosenEval {
  readonly condition: Condition;
  readonly template: EvalTemplate;
  readonly criterion: string;
  readonly seed: number;
  /** When the labels chose it. */
  readonly chosenAt: string;
}

/** Returns the choice that an eval results from, or null if labels did not choose it among the templates. */
export function chosenEval(
  db: Db,
  { id, definition }: Pick<StoredEval, "id" | "definition">,
  criterion: string,
): ChosenEval | null {
  const chosenAt = madeForModeAt(db, { id }, criterion);
  if (definition.kind !== "rules" || definition.origin.by !== "templates" || chosenAt === null) return null;
  const template = TEMPLATES.find(({ name }) => name === definition.name);
  const [condition] = definition.pass.all;
  if (template === undefined || condition === undefined) return null;
  return { condition, template, criterion, seed: definition.origin.seed ?? 0, chosenAt };
}

/** The templates as chosen without each part of the labels. */
interface Choices {
  readonly partOf: ReadonlyMap<string, number>;
  readonly withoutPart: readonly (readonly Candidate[])[];
}

/**
 * Tests the evals that were chosen among the templates. The questions that were labeled at the time of the choice are
 * divided into five parts. A trace is judged by the template as chosen, and with the threshold as fitted, by the labels
 * of the other four parts at that time (cross-fitting, Chernozhukov et al. 2018, https://arxiv.org/abs/1608.00060).
 * If they do not choose the template, the trace passes, so a choice that depends on a few labels looks worse than the
 * eval is. Traces that were labeled after the choice are judged by the eval itself, unless their question was labeled
 * before. Each trace is measured once, and each choice repeated once, for all evals.
 */
export class CrossFitting {
  private readonly measurements: TraceMeasurements;
  private readonly choices = new Map<string, Choices>();

  constructor(private readonly db: Db) {
    this.measurements = new TraceMeasurements(db);
  }

  /** Compares an eval with people's labels of one half, or of both. */
  test(chosen: ChosenEval, half: Half | null): HalfRun {
    const { template, criterion, condition } = chosen;
    const { partOf, withoutPart } = this.choicesOf(chosen);
    const conditions = withoutPart.map((candidates) => {
      const candidate = candidates.find(({ measured }) => measured.template === template);
      return candidate?.rejection === null ? conditionOf(template, candidate.cut ?? 0) : null;
    });
    const labels = labelsOfHalf(this.db, criterion, half);
    const judged = labels.flatMap(({ question, ...label }) => {
      if (label.source !== "person") return [];
      const part = partOf.get(question);
      const outcome = this.outcomeOf(
        label.traceId,
        template,
        part === undefined ? condition : (conditions[part] ?? null),
      );
      return outcome === null ? [] : [{ label, question, outcome }];
    });
    return halfRun(this.db, criterion, judged, labels.filter(({ source }) => source !== "person").length);
  }

  private choicesOf({ criterion, seed, chosenAt }: ChosenEval): Choices {
    const key = JSON.stringify([criterion, seed, chosenAt]);
    const choices = this.choices.get(key) ?? this.repeatChoice(criterion, seed, chosenAt);
    this.choices.set(key, choices);
    return choices;
  }

  private repeatChoice(criterion: string, seed: number, until: string): Choices {
    const measured = measureTemplates(this.db, this.measurements, { criterion, seed, until });
    const { questions, bad } = measured.labels;
    const badQuestions = new Set(questions.filter((_, i) => bad[i]));
    const partOf = dealByHash(questions, (question) => badQuestions.has(question), PARTS, seed);
    const withoutPart = Array.from({ length: PARTS }, (_, part) => {
      const others = questions.flatMap((question, i) => (partOf.get(question) === part ? [] : [i]));
      const { templates, labels } = selectTraces(measured, others);
      return chooseTemplates(templates, labels, seed);
    });
    return { partOf, withoutPart };
  }

  /** Returns the outcome of a condition, or null if the trace cannot be read. Without a condition, the trace passes. */
  private outcomeOf(traceId: string, { feature }: EvalTemplate, condition: Condition | null): MeasuredOutcome | null {
    const trace = this.measurements.of(traceId);
    if (trace === null) return null;
    const value = trace.features[feature] ?? null;
    const score = value === null ? null : Number(condition === null || !isMissed(condition, { value }));
    const outcome = { score, reason: "", error: null, ms: trace.ms, costUsd: 0 };
    return withoutPassOfFailure(outcome, trace.ending);
  }
}
