// The commands that create evals: from labels, templates, cases, or a model.
import { z } from "zod";
import type { Candidate } from "../../../evals/choose-templates.js";
import { criterionFlag, criterionNameSchema, OVERALL } from "../../../evals/criteria.js";
import { EVAL_LANGUAGES, evalNameSchema } from "../../../evals/definition.js";
import type { GeneratedVariation, Generation } from "../../../evals/generate.js";
import type { Suggestion } from "../../../evals/suggest.js";
import { commandLine } from "../../../platform/command-line.js";
import {
  modelName,
  numberAbove,
  oneOf,
  price,
  runName,
  shapeOf,
  text,
  toggle,
  wholeNumber,
} from "../../../platform/flag-values.js";
import { compact } from "../../../platform/optional-values.js";
import { bandText } from "../../../reports/band-text.js";
import { evalLabel, otherSourcesText } from "../../../reports/eval-text.js";
import { SEVERAL } from "../../../reports/mode-text.js";
import { JUDGE_FLAGS } from "../../../runs/run-flags.js";
import { share, table, usd } from "../../../text/format.js";
import { contradiction, defineCommand } from "../../flags/define-command.js";
import { criterionShape, seedShape } from "../../flags/eval-flags.js";

type SavedVariation = Pick<GeneratedVariation, "rounds" | "ended"> & {
  readonly stored: NonNullable<GeneratedVariation["saved"]>["stored"];
  readonly best: NonNullable<GeneratedVariation["best"]>;
};

const suggestEvalsSchema = z.object({
  modes: toggle.meta({ description: "Suggest per failure mode: a template, a rubric, or a fix in the prompt" }),
  cases: toggle.meta({ description: "Also create regression cases from good answers to questions with a gold answer" }),
  criterion: criterionNameSchema
    .optional()
    .meta({ placeholder: "NAME", description: "Criterion (failure mode) of the labels [default: overall]" }),
  ...seedShape,
});

export const suggestEvalsCommand = defineCommand(suggestEvalsSchema, async (argv, { settings, out }) => {
  const flags = { ...argv, criterion: argv.criterion ?? OVERALL };
  if (flags.modes) {
    if (flags.cases || argv.criterion !== undefined) {
      throw contradiction("--modes cannot be combined with --cases or --criterion.", "Remove one of them.");
    }
    const { adviseModes } = await import("../../../error-analysis/advise-modes.js");
    const { adviceText } = await import("../../../reports/mode-text.js");
    const { advice, coded } = await adviseModes(flags, settings);
    out.result(advice, () => adviceText(advice, coded));
    return;
  }
  const { suggestEvals } = await import("../../../evals/suggest.js");
  const suggestion = await suggestEvals(flags, settings);
  const { candidates, ...rest } = suggestion;
  const rows = candidates.map(({ measured: { template }, ...candidate }) => ({ ...template, ...candidate }));
  out.result({ ...rest, candidates: rows }, () => suggestionText(suggestion, flags.criterion));
});

function suggestionText({ good, bad, sources = {}, tooFew, candidates, evals }: Suggestion, criterion: string): string {
  if (tooFew !== null) {
    return [
      `${tooFew} Only regression cases were made.`,
      "",
      ...evals.map((saved) => savedLine(saved, criterion)),
    ].join("\n");
  }
  const acceptedCandidates = candidates.filter(({ rejection }) => rejection === null);
  const rejectedCandidates = candidates.filter(({ rejection }) => rejection !== null);
  const lines = [
    `Training half: ${good} good, ${bad} bad${otherSourcesText(sources)}. The figures are cross-validated within it.`,
    "",
    acceptedCandidates.length === 0
      ? "No template separates good from bad traces better than chance."
      : chosenTable(acceptedCandidates),
    ...acceptedCandidates.flatMap(({ measured, detection }) =>
      detection.isOneOfSeveral ? [`${measured.template.name}: ${SEVERAL}`] : [],
    ),
    "",
    "Not chosen:",
    ...rejectedLines(rejectedCandidates),
  ];
  if (evals.length > 0) lines.push("", "Saved:", ...evals.map((saved) => savedLine(saved, criterion)));
  return lines.join("\n");
}

/** Returns one line per rejection reason, with the names of the rejected templates. */
function rejectedLines(candidates: readonly Candidate[]): string[] {
  const names = new Map<string, string[]>();
  for (const { measured, rejection } of candidates) {
    names.set(rejection ?? "", [...(names.get(rejection ?? "") ?? []), measured.template.name]);
  }
  return [...names].map(([reason, some]) => `  ${reason}: ${some.join(", ")}`);
}

function chosenTable(candidates: readonly Candidate[]): string {
  return table(
    ["eval", "alignment", "coverage", "false failures", "chance", "fails where"],
    candidates.map(({ measured: { template }, alignment, chance, cut }) => [
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

function savedLine({ stored: { definition, status }, isNew }: Suggestion["evals"][number], criterion: string): string {
  const label = evalLabel(definition);
  const next =
    definition.kind === "cases"
      ? commandLine`art-e evals use ${label}`
      : `${commandLine`art-e evals test ${label}`}${criterionFlag(criterion)}`;
  return `  ${label}${isNew ? "" : ` (already exists: ${status})`}   next: ${next}`;
}

const casesSchema = z.object({
  run: runName.default("latest").meta({ description: "Run id, the start of an id, a run name, or latest" }),
  by: text.optional().meta({
    placeholder: "SCORE",
    description: "Score that decides the bands [default: labels, otherwise accuracy, the headline score]",
  }),
  ...criterionShape,
});

export const bandCasesCommand = defineCommand(casesSchema, async ({ by = null, ...flags }, { settings, out }) => {
  const { makeBandArtifacts } = await import("../../../evals/band-artifacts.js");
  const artifacts = await makeBandArtifacts({ ...flags, by }, settings);
  const { evals, ...rest } = artifacts;
  const saved = evals.map(({ stored: { definition, status }, isNew }) => {
    const cases = definition.kind === "cases" ? definition.cases.length : null;
    return { name: definition.name, version: definition.version, kind: definition.kind, cases, status, isNew };
  });
  out.result({ ...rest, evals: saved }, () => bandText(artifacts, flags.criterion));
});

const { noJudge: _, ...ADD_JUDGE_FLAGS } = JUDGE_FLAGS;

const JUDGE_NAMES = Object.keys(ADD_JUDGE_FLAGS) as (keyof typeof ADD_JUDGE_FLAGS)[];

const addEvalSchema = z.object({
  name: evalNameSchema.optional().meta({ description: "Name of a template, or of the new eval" }),
  atMost: z.number().optional().meta({ description: "Threshold for a template without its own" }),
  contains: z.array(text).default([]).meta({ placeholder: "TEXT", description: "The answer contains this text" }),
  lacks: z.array(text).default([]).meta({ placeholder: "TEXT", description: "The answer does not contain this text" }),
  matches: z
    .array(text)
    .default([])
    .meta({ placeholder: "REGEX", description: "The answer matches this regular expression ((?i) ignores case)" }),
  isJson: toggle.meta({ description: "The answer is JSON" }),
  jsonKey: z.array(text).default([]).meta({ description: "The answer is JSON with this top-level key" }),
  rubric: text
    .optional()
    .meta({ placeholder: "MODEL", description: "Model that checks the criterion's sentence, as provider/name" }),
  ...shapeOf(ADD_JUDGE_FLAGS),
  judge: modelName.optional().meta({
    description: "Judge of answers: provider/model, art:provider/model, or a run for its judge",
  }),
  examples: wholeNumber(0, 20)
    .default(0)
    .meta({ description: "With --judge: number of labeled answers of the training half in its prompt" }),
  ...seedShape,
  criterion: criterionNameSchema
    .optional()
    .meta({ placeholder: "NAME", description: "Criterion of the eval (see evals criteria)" }),
});

export const addEvalCommand = defineCommand(addEvalSchema, async (flags, { settings, out }) => {
  const { name, atMost: bound = null, rubric: rubricModel = null, criterion } = flags;
  const assertions = compact([
    ...flags.contains.map((contains) => ({ contains })),
    ...flags.lacks.map((lacks) => ({ lacks })),
    ...flags.matches.map((matches) => ({ matches })),
    (flags.isJson || flags.jsonKey.length > 0) && { json: flags.jsonKey },
  ]);
  const { examples, seed, ...others } = flags;
  const isJudge = examples > 0 || JUDGE_NAMES.some((flag) => flags[flag] !== undefined);
  const judge = isJudge ? { options: { ...others, noJudge: false }, examples, seed } : null;
  const kinds = [bound !== null, rubricModel !== null, judge !== null, assertions.length > 0].filter(Boolean).length;
  if (kinds > 1 || (name === undefined && kinds > 0)) {
    throw contradiction(
      kinds > 1
        ? "--at-most, --rubric, --judge and conditions on the answer cannot be combined."
        : "evals add: NAME is required.",
      "Pass one of them: art-e evals add NAME --contains TEXT.",
    );
  }
  if (name === undefined) {
    const { TEMPLATES } = await import("../../../evals/templates.js");
    const templates = TEMPLATES.map((one) => ({ name: one.name, bound: one.bound, criterion: one.criterion }));
    out.result(templates, () =>
      table(
        ["template", "needs", "criterion"],
        templates.map((one) => [one.name, one.bound === "cut" ? "--at-most" : "-", one.criterion]),
      ),
    );
    return;
  }
  const { addEval } = await import("../../../evals/add-eval.js");
  const { stored, isNew } = await addEval({ name, bound, assertions, rubricModel, judge, criterion }, settings);
  out.result({ ...stored.definition, status: stored.status, isNew }, () =>
    savedLine({ stored, isNew }, criterion ?? OVERALL).trim(),
  );
});
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
  const { generateEvals } = await import("../../../evals/generate.js");
  const generation = await generateEvals(flags, context);
  const { variations, ...rest } = generation;
  context.out.result({ ...rest, variations: variations.map(toJson) }, () =>
    generationText(generation, flags.criterion),
  );
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

function generationText(
  { good, bad, sources = {}, criteria, variations, calls, spentUsd }: Generation,
  criterion: string,
): string {
  const saved = variations.flatMap((one) =>
    one.saved === null || one.best === null ? [] : [{ ...one, stored: one.saved.stored, best: one.best }],
  );
  const lines = [
    `Training half: ${good} good, ${bad} bad${otherSourcesText(sources)}. The figures below are based on these labels, which the model saw, so they do not validate the evals.`,
    "",
    "Criteria:",
    ...criteria.map((sentence) => `  ${oneLine(sentence)}`),
    "",
    saved.length === 0 ? "Nothing saved." : savedTable(saved),
  ];
  if (saved.length < variations.length) lines.push("", "Not saved:");
  for (const { variation, rejection } of variations) {
    if (rejection !== null) lines.push(`  ${variation}: ${oneLine(rejection)}`);
  }
  lines.push("", `${calls} ${calls === 1 ? "call" : "calls"}, ${usd(spentUsd)}.`);
  const [first] = saved;
  if (first !== undefined) {
    const test = commandLine`art-e evals test ${first.stored.definition.name}`;
    lines.push(`Next: ${test}${criterionFlag(criterion)}`);
  }
  return lines.join("\n");
}

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
