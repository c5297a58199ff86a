import { createInterface } from "node:readline";
import { z } from "zod";
import type { Candidate } from "../../evals/choose-templates.js";
import { criterionNameSchema, listCriteria, sentenceSchema, writeCriterion } from "../../evals/criteria.js";
import { EVAL_LANGUAGES, type EvaluatedTrace, evalNameSchema } from "../../evals/definition.js";
import type { GeneratedVariation, Generation } from "../../evals/generate.js";
import type { Labelling, TraceToLabel } from "../../evals/labelling.js";
import type { AnnotatorAgreement, EvalLabel, LabelSummary, TraceLabel } from "../../evals/labels.js";
import type { Suggestion } from "../../evals/suggest.js";
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { evalLabel } from "../../reports/eval-text.js";
import { traceText } from "../../reports/trace-text.js";
import { estimateText } from "../../reports/wording.js";
import { share, table, usd } from "../../text/format.js";
import { askedOf } from "../../traces/trace.js";
import type { CommandContext } from "../command.js";
import {
  contradiction,
  defineCommand,
  file,
  numberAbove,
  oneOf,
  price,
  runId,
  text,
  wholeNumber,
} from "../flags/read-flags.js";
import { criterionShape, seedShape } from "./evals.js";

const suggestEvalsSchema = z.object({
  name: evalNameSchema.default("suggested").meta({ description: "Name of the eval with all chosen conditions" }),
  cases: z
    .boolean()
    .default(false)
    .meta({ description: "Also create regression cases from good answers to questions with a gold answer" }),
  ...criterionShape,
  ...seedShape,
});

export const suggestEvalsCommand = defineCommand(suggestEvalsSchema, async (flags, { settings, out }) => {
  const { suggestEvals } = await import("../../evals/suggest.js");
  const suggestion = await suggestEvals(flags, settings);
  const { candidates, ...rest } = suggestion;
  const listed = candidates.map(({ measured: { template }, ...candidate }) => ({ ...template, ...candidate }));
  out.result({ ...rest, candidates: listed }, () => suggestionText(suggestion));
});

function suggestionText({ good, bad, candidates, together, evals }: Suggestion): string {
  const chosen = candidates.filter(({ rejection }) => rejection === null);
  const tried = candidates.filter(({ rejection }) => rejection !== null);
  return [
    `Training half: ${good} good, ${bad} bad. Figures are by cross-validation in it.`,
    ...(chosen.length === 0
      ? ["", "No template tells good from bad here better than chance."]
      : ["", chosenTable(chosen)]),
    ...(chosen.length < 2
      ? []
      : [
          "",
          `Together: alignment ${share(together.alignment)}, coverage ${share(together.coverage)}, false failures ${share(together.falseFailures)}`,
        ]),
    "",
    "Not chosen:",
    ...rejectedLines(tried),
    ...(evals.length === 0 ? [] : ["", "Saved:", ...evals.map(savedLine)]),
  ].join("\n");
}

/** Returns one line per rejection reason, with the names of the rejected templates. */
function rejectedLines(tried: readonly Candidate[]): string[] {
  const names = new Map<string, string[]>();
  for (const { measured, rejection } of tried) {
    names.set(rejection ?? "", [...(names.get(rejection ?? "") ?? []), measured.template.name]);
  }
  return [...names].map(([reason, some]) => `  ${reason}: ${some.join(", ")}`);
}

function chosenTable(chosen: readonly Candidate[]): string {
  return table(
    ["eval", "alignment", "coverage", "false failures", "chance", "fails where"],
    chosen.map(({ measured: { template }, alignment, chance, cut }) => [
      template.name,
      share(alignment.alignment),
      share(alignment.coverage),
      share(alignment.falseFailures),
      share(chance),
      template.bound === "cut"
        ? `${template.feature} > ${cut}`
        : "at_least" in template.bound
          ? `${template.feature} < ${template.bound.at_least}`
          : `${template.feature} > ${template.bound.at_most}`,
    ]),
  );
}

function savedLine({ stored: { definition, status }, isNew }: Suggestion["evals"][number]): string {
  const label = evalLabel(definition);
  const next =
    definition.kind === "cases" ? commandLine`art-e evals use ${label}` : commandLine`art-e evals test ${label}`;
  return `  ${label}${isNew ? "" : ` (was there: ${status})`}   next: ${next}`;
}

const annotatorName = text.max(100, "expected at most 100 characters");

const labelTracesSchema = z.object({
  run: runId.optional().meta({ description: "Run id, the start of an id, or latest [default: latest]" }),
  from: text
    .optional()
    .meta({ description: "Take labels from feedback, judge, scores, or a JSON Lines file instead of asking" }),
  score: text.optional().meta({
    placeholder: "SCORE",
    description:
      "With --from scores: the score (above 0.8 is good, below 0.5 is bad) [default: the run's headline score, such as judgeCorrect]",
  }),
  chats: z.boolean().default(false).meta({ description: "Label chats instead of a run" }),
  hard: z
    .boolean()
    .default(false)
    .meta({ description: "Label hard cases, which are excluded from all figures, instead of a random sample" }),
  annotator: annotatorName.optional().meta({
    placeholder: "NAME",
    description: "Name of the annotator. Also shows traces labeled by others, to measure agreement",
  }),
  ...criterionShape,
  ...seedShape,
});

export const labelTracesCommand = defineCommand(labelTracesSchema, async (flags, context) => {
  const { from, run, chats, hard, score, criterion, seed, annotator = null } = flags;
  if (score !== undefined && from !== "scores") {
    throw contradiction("--score goes with --from scores.", "Give both, or neither.");
  }
  if (chats && (run !== undefined || from !== undefined)) {
    throw contradiction("--chats goes with neither a run nor --from.", "Give one of them.");
  }
  if (hard && from !== undefined) {
    throw contradiction("--hard does not go with --from.", "Give one of them.");
  }
  const { importLabels } = await import("../../evals/import-labels.js");
  if (from !== undefined) {
    const imported = await importLabels({ ...flags, from }, context.settings);
    const { labels, unlabelled, score: by } = imported;
    context.out.result(imported, () => `${by === undefined ? "" : `By ${by}: `}${countsText(labels, unlabelled)}`);
    return;
  }
  const { withStore } = await import("../../store/open-store.js");
  const { openLabelling } = await import("../../evals/labelling.js");
  await withStore(context.settings, async (db) => {
    const options = { run: chats ? null : (run ?? "latest"), criterion, seed, annotator, hard };
    const labelling = await openLabelling(db, options);
    if (labelling.sentence !== null) context.out.note(`Good is: ${labelling.sentence}`);
    context.out.note(`On a page: ${commandLine`art-e serve`}, then Label, or /#label/${labelling.runId ?? "chats"}.`);
    const labelled = await askLabels(labelling, context);
    printSummary(labelled, labelling.summary(), context);
  });
});

/** Labels needed per kind (good or bad). Half of them are held out, and fewer than ten per kind are not informative. */
const WANTED_LABELS = 20;

function printSummary(labelled: number, summary: LabelSummary, { out }: CommandContext): void {
  const { labels, selfAgreement, betweenAnnotators } = summary;
  out.result({ labelled, ...summary }, () =>
    [
      `Labelled ${labelled}. In all: ${countsText(labels, 0)}`,
      ...(selfAgreement.n === 0
        ? []
        : [`Self-agreement over ${selfAgreement.n} asked again: ${estimateText(selfAgreement)}`]),
      ...(betweenAnnotators.n === 0
        ? []
        : [`Agreement between annotators over ${betweenAnnotators.n}: ${estimateText(betweenAnnotators)}`]),
      Math.min(labels.good, labels.bad) < WANTED_LABELS
        ? `Evals are chosen and proved by some ${WANTED_LABELS} good and ${WANTED_LABELS} bad traces: go on with the same command.`
        : `Next: ${commandLine`art-e evals suggest`}`,
    ].join("\n"),
  );
}

function countsText(labels: LabelSummary["labels"], unlabelled: number): string {
  const { good, bad, neutral, skip } = labels;
  return [
    `${good} good, ${bad} bad`,
    ...(neutral + skip === 0 ? [] : [`left out: ${neutral} neutral, ${skip} skipped`]),
    ...(unlabelled === 0 ? [] : [`without a label: ${unlabelled}`]),
  ].join("; ");
}

const generateEvalsSchema = z.object({
  model: text.meta({ description: "Model that writes the evals, as provider/name" }),
  price: price.optional().meta({ description: "Price in US dollars per million tokens: IN,OUT[,CACHED]" }),
  maxCost: numberAbove(0, 10_000).default(1).meta({ placeholder: "USD", description: "Maximum cost in US dollars" }),
  name: evalNameSchema
    .optional()
    .meta({ placeholder: "NAME", description: "Prefix of the eval names [default: the criterion, or generated]" }),
  language: oneOf(EVAL_LANGUAGES).default("python").meta({ description: "Language of the evals" }),
  rounds: wholeNumber(0, 3)
    .default(3)
    .meta({ description: "Number of times to rewrite each eval based on contradicting labels, up to 3" }),
  ...criterionShape,
  ...seedShape,
});

export const generateEvalsCommand = defineCommand(generateEvalsSchema, async (flags, context) => {
  const { generateEvals } = await import("../../evals/generate.js");
  const generation = await generateEvals(flags, context);
  const { variations, ...rest } = generation;
  context.out.result({ ...rest, variations: variations.map(toJson) }, () => generationText(generation));
});

function toJson({ variation, best, rounds, ended, rejection, saved }: GeneratedVariation) {
  const { alignment, coverage, falseFailures, failedOn } = best?.measured ?? {};
  return {
    variation,
    name: saved?.stored.definition.name ?? null,
    version: saved?.stored.definition.version ?? null,
    kind: best?.draft.kind ?? null,
    criterion: best?.draft.criterion ?? null,
    alignment,
    coverage,
    falseFailures,
    failedOn,
    rounds,
    ended,
    rejection,
  };
}

function generationText({ good, bad, criteria, variations, calls, spentUsd }: Generation): string {
  const saved = variations.flatMap((one) =>
    one.saved === null || one.best === null ? [] : [{ ...one, stored: one.saved.stored, best: one.best }],
  );
  return [
    `Training half: ${good} good, ${bad} bad. The figures below are on these labels, which the model saw: no proof.`,
    "",
    "Criteria:",
    ...criteria.map((criterion) => `  ${oneLine(criterion)}`),
    ...(saved.length === 0 ? ["", "Nothing is saved."] : ["", savedTable(saved)]),
    ...(saved.length === variations.length ? [] : ["", "Not saved:"]),
    ...variations.flatMap(({ variation, rejection }) =>
      rejection === null ? [] : [`  ${variation}: ${oneLine(rejection)}`],
    ),
    "",
    `${calls} ${calls === 1 ? "call" : "calls"}, ${usd(spentUsd)}.`,
    ...saved
      .slice(0, 1)
      .map(({ stored: { definition } }) => `Next: ${commandLine`art-e evals test ${definition.name}`}`),
  ].join("\n");
}

type SavedVariation = Pick<GeneratedVariation, "rounds" | "ended"> & {
  readonly stored: NonNullable<GeneratedVariation["saved"]>["stored"];
  readonly best: NonNullable<GeneratedVariation["best"]>;
};

function savedTable(saved: readonly SavedVariation[]): string {
  return table(
    ["eval", "kind", "alignment", "coverage", "false failures", "versions", "ended"],
    saved.map(({ stored: { definition }, best: { measured }, rounds, ended }) => [
      evalLabel(definition),
      definition.kind,
      share(measured.alignment),
      share(measured.coverage),
      share(measured.falseFailures),
      String(rounds),
      oneLine(ended),
    ]),
  );
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").slice(0, 200);
}

const KEYS: Readonly<Record<string, EvalLabel>> = {
  g: "good",
  good: "good",
  b: "bad",
  bad: "bad",
  s: "skip",
  skip: "skip",
};

const PROMPT = "g good, b bad, s skip, each with a reason if you like (b wrong year); t whole trace, q quit > ";

/**
 * Shows one trace after another on stderr and reads one label per line from stdin. Saves each label immediately.
 * Returns the number of labels.
 */
async function askLabels(labelling: Labelling, { signal, out }: CommandContext): Promise<number> {
  if (labelling.waiting === 0) {
    throw new UserError(
      "labels_complete",
      "Every trace has a person's label.",
      "Label another run, or another --criterion.",
    );
  }
  const lines = createInterface({ input: process.stdin, terminal: false });
  const stop = () => lines.close();
  signal.addEventListener("abort", stop, { once: true });
  const replies = lines[Symbol.asyncIterator]();
  let labelled = 0;
  try {
    for (const item of labelling.traces()) {
      const reply = await ask(item, `${labelled + 1}/${labelling.waiting}`, replies, out.note);
      if (reply === null) break;
      labelling.save(item, reply.label, reply.note);
      labelled++;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    lines.close();
  }
  return labelled;
}

interface Reply {
  readonly label: EvalLabel;
  readonly note: string | null;
}

/** Returns the annotator's reply, or null if the annotator quits or the input ends. */
async function ask(
  { trace, isRepeat }: TraceToLabel,
  position: string,
  replies: AsyncIterator<string>,
  note: (text: string) => void,
): Promise<Reply | null> {
  note(`\n${position}${isRepeat ? "  asked again" : ""}  ${trace.traceId}\n${summaryOf(trace)}`);
  for (;;) {
    process.stderr.write(PROMPT);
    const { value, done } = await replies.next();
    const line = done === true ? "q" : value.trim();
    const [, key = "", reason = ""] = /^(\S+)\s*(.*)$/s.exec(line) ?? [];
    const label = KEYS[key.toLowerCase()];
    if (label !== undefined) return { label, note: reason === "" ? null : reason };
    if (key === "q" || key === "quit") return null;
    if (key === "t") note(traceText(trace));
    else note(`"${line}" is none of g, b, s, t and q.`);
  }
}

/** Returns the most requested facts of a trace: the question, the answer, its sources, and the correct answer. */
function summaryOf(trace: EvaluatedTrace): string {
  const gold = trace.kind === "chat" ? null : trace.kind === "suite" ? trace.grade.reason : trace.task.answer;
  return [
    `Question:  ${askedOf(trace)}`,
    `Answer:    ${trace.answer ?? `none (${trace.ending})`}`,
    `Sources:   ${trace.sources.join(", ") || "none"}`,
    ...(gold === null ? [] : [`Gold:      ${gold}`]),
  ].join("\n");
}

const listLabelsSchema = z.object({
  traces: z.array(text).default([]).meta({ description: "Only labels of these traces" }),
  annotator: annotatorName.optional().meta({ placeholder: "NAME", description: "Only labels by this annotator" }),
  delete: z.boolean().default(false).meta({ description: "Delete the labels of the traces or the annotator" }),
  output: file.optional().meta({ description: "Write the labels to a file that --from accepts", alias: "o" }),
  ...criterionShape,
});

export const listLabelsCommand = defineCommand(
  listLabelsSchema,
  async ({ criterion, traces, annotator = null, output, ...flags }, { settings, out }) => {
    if (flags.delete && traces.length === 0 && annotator === null) {
      throw new UserError(
        "labels_unnamed",
        "--delete requires traces or --annotator.",
        "Specify the traces or the annotator whose labels to delete.",
      );
    }
    const { withStore } = await import("../../store/open-store.js");
    const { agreementOfAnnotators, allLabels, deleteLabels } = await import("../../evals/labels.js");
    const { getTrace } = await import("../../traces/traces-store.js");
    await withStore(settings, async (db) => {
      const ids = traces.length === 0 ? null : traces.map((name) => getTrace(db, name).traceId);
      if (flags.delete) {
        const deleted = deleteLabels(db, criterion, ids, annotator);
        out.result({ deleted }, () => `${deleted} ${deleted === 1 ? "label" : "labels"} of ${criterion} deleted.`);
        return;
      }
      const labels = allLabels(db, criterion).filter(
        (label) => (ids?.includes(label.traceId) ?? true) && (annotator === null || label.annotator === annotator),
      );
      if (output !== undefined) {
        const { labelLine } = await import("../../evals/import-labels.js");
        const { writeFileAtomically } = await import("../../platform/files.js");
        await writeFileAtomically(
          output,
          labels.map((label) => `${labelLine(label)}\n`),
        );
      }
      const agreement = agreementOfAnnotators(db, criterion);
      out.result({ criterion, labels, agreement, output: output ?? null }, () =>
        output === undefined ? labelsText(labels, agreement) : `${output}: ${labels.length} labels`,
      );
    });
  },
);

function labelsText(labels: readonly TraceLabel[], agreement: readonly AnnotatorAgreement[]): string {
  if (labels.length === 0) return "There are no labels.";
  return [
    table(
      ["trace", "label", "by", "drawn", "given", "why"],
      labels.map(({ traceId, label, source, annotator, isRepeat, drawn, createdAt, note }) => [
        ...[traceId, label, annotator ?? source, isRepeat ? "asked again" : drawn, createdAt.slice(0, 16)],
        oneLine(note ?? "").slice(0, 60),
      ]),
    ),
    ...(agreement.length === 0
      ? []
      : [
          "",
          table(
            ["annotators", "traces of both", "same label (95 %)", "kappa (95 %)"],
            agreement.map(({ annotators, agreement: rate, kappa }) => [
              ...[annotators.join(" and "), String(rate.n), estimateText(rate), estimateText(kappa)],
            ]),
          ),
        ]),
  ].join("\n");
}

const criteriaSchema = z.object({
  name: criterionNameSchema.optional().meta({ description: "Criterion" }),
  sentence: sentenceSchema
    .optional()
    .meta({ description: "One sentence about what a good trace does. Replaces an existing one" }),
});

export const criteriaCommand = defineCommand(criteriaSchema, async ({ name, sentence }, { settings, out }) => {
  if (name !== undefined && sentence !== undefined) {
    const { withStore } = await import("../../store/open-store.js");
    await withStore(settings, (db) => writeCriterion(db, name, sentence));
  }
  const criteria = (await listCriteria(settings)).filter((one) => name === undefined || one.name === name);
  if (name !== undefined && criteria.length === 0) {
    throw new UserError(
      "criterion_unknown",
      `There is no criterion "${name}".`,
      `Write it: ${commandLine`art-e evals criteria ${name} ${"What a good trace does."}`}`,
    );
  }
  out.result(criteria, () =>
    criteria.length === 0
      ? "There are no criteria."
      : table(
          ["criterion", "labelled traces", "a good trace"],
          criteria.map((one) => [one.name, String(one.labelled), one.sentence ?? "-"]),
        ),
  );
});

const addEvalSchema = z.object({
  name: evalNameSchema.optional().meta({ description: "Name of a template, or of the new eval" }),
  atMost: z.number().optional().meta({ description: "Threshold for a template without its own" }),
  contains: z.array(text).default([]).meta({ placeholder: "TEXT", description: "The answer contains this text" }),
  lacks: z.array(text).default([]).meta({ placeholder: "TEXT", description: "The answer does not contain this text" }),
  matches: z
    .array(text)
    .default([])
    .meta({ placeholder: "REGEX", description: "The answer matches this regular expression ((?i) ignores case)" }),
  isJson: z.boolean().default(false).meta({ description: "The answer is JSON" }),
  jsonKey: z.array(text).default([]).meta({ description: "The answer is JSON with this top-level key" }),
  rubric: text
    .optional()
    .meta({ placeholder: "MODEL", description: "Model that checks the criterion's sentence, as provider/name" }),
  criterion: criterionNameSchema
    .optional()
    .meta({ placeholder: "NAME", description: "Criterion of the eval (see evals criteria)" }),
});

export const addEvalCommand = defineCommand(addEvalSchema, async (flags, { settings, out }) => {
  const { name, atMost: bound = null, rubric: rubricModel = null, criterion } = flags;
  const assertions = [
    ...flags.contains.map((contains) => ({ contains })),
    ...flags.lacks.map((lacks) => ({ lacks })),
    ...flags.matches.map((matches) => ({ matches })),
    ...(flags.isJson || flags.jsonKey.length > 0 ? [{ json: flags.jsonKey }] : []),
  ];
  const kinds = [bound !== null, rubricModel !== null, assertions.length > 0].filter((isGiven) => isGiven).length;
  if (kinds > 1 || (name === undefined && kinds > 0)) {
    throw contradiction(
      kinds > 1 ? "--at-most, --rubric and what is said of the answer do not go together." : "The eval has no name.",
      "An eval is one of them: art-e evals add NAME --contains TEXT.",
    );
  }
  if (name === undefined) {
    const { TEMPLATES } = await import("../../evals/templates.js");
    const listed = TEMPLATES.map((one) => ({ name: one.name, bound: one.bound, criterion: one.criterion }));
    out.result(listed, () =>
      table(
        ["template", "needs", "criterion"],
        listed.map((one) => [one.name, one.bound === "cut" ? "--at-most" : "-", one.criterion]),
      ),
    );
    return;
  }
  const { addEval } = await import("../../evals/add-eval.js");
  const { stored, isNew } = await addEval({ name, bound, assertions, rubricModel, criterion }, settings);
  out.result({ ...stored.definition, status: stored.status, isNew }, () => savedLine({ stored, isNew }).trim());
});
