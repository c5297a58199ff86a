// Tests an eval from templates on all labels, although the choice has seen them: by cross-fitting.
import type { Db } from "../../store/open-store.js";
import { chooseTemplates } from "../choose-templates.js";
import type { EvalOf, StoredEval } from "../definition.js";
import { type LabeledTrace, tracesLabeledAfter } from "../effective-labels.js";
import { dealByHash } from "../split-questions.js";
import { madeForModeAt } from "../store.js";
import { measureTemplates, selectTraces } from "../suggest/measure-templates.js";
import { TEMPLATES, templateEval } from "../templates.js";

const PARTS = 5;

/** Returns the form of an eval that judges a labeled trace: as chosen without the part of the trace's question. */
type FormWithout = (labeled: Pick<LabeledTrace, "question">) => EvalOf<"rules">;

/**
 * Returns the forms of an eval that was chosen among the templates by the labels of a mode, or null for other evals.
 * The labeled questions are divided into five parts. A trace is judged by the template as chosen, and with the
 * threshold as fitted, by the labels of the other four parts (cross-fitting, Chernozhukov et al. 2018,
 * https://arxiv.org/abs/1608.00060). Where they do not choose the template, the trace passes, so a choice that hangs
 * on a few labels looks worse than the eval is, never better. Traces that were labeled after the choice are judged by
 * the eval itself, unless their question was labeled before.
 */
export function crossFittedForms(
  db: Db,
  { id, definition }: Pick<StoredEval, "id" | "definition">,
  criterion: string,
): FormWithout | null {
  const chosenAt = madeForModeAt(db, { id }, criterion);
  if (definition.kind !== "rules" || definition.origin.by !== "templates" || chosenAt === null) return null;
  const template = TEMPLATES.find(({ name }) => name === definition.name);
  if (template === undefined) return null;
  const seed = definition.origin.seed ?? 0;
  const later = tracesLabeledAfter(db, criterion, chosenAt);
  const measured = measureTemplates(db, criterion, seed, ({ traceId }) => !later.has(traceId));
  const { questions, bad } = measured.labels;
  const badQuestions = new Set(questions.filter((_, i) => bad[i]));
  const partOf = dealByHash(questions, (question) => badQuestions.has(question), PARTS, seed);
  const passesAll = { ...definition, pass: { all: [{ feature: template.feature, at_most: Number.MAX_VALUE }] } };
  const forms = Array.from({ length: PARTS }, (_, part) => {
    const others = questions.flatMap((question, i) => (partOf.get(question) === part ? [] : [i]));
    const { templates, labels } = selectTraces(measured, others);
    const chosen = chooseTemplates(templates, labels, seed).find((one) => one.measured.template === template);
    if (chosen === undefined || chosen.rejection !== null) return passesAll;
    return { ...definition, pass: templateEval(template, chosen.cut ?? 0, definition.origin).pass };
  });
  return ({ question }) => forms[partOf.get(question) ?? PARTS] ?? definition;
}
