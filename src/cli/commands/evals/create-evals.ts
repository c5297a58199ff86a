// The commands that create evals: from labels, with a model, from cases, templates or files.
import { existsSync } from "node:fs";
import { z } from "zod";
import { criterionNameSchema, modeFlag, OVERALL } from "../../../evals/criteria.js";
import { EVAL_LANGUAGES, evalNameSchema } from "../../../evals/definition.js";
import type { GeneratedVariation, GenerateOptions, Generation } from "../../../evals/generate.js";
import type { SavedEval } from "../../../evals/store.js";
import { commandLine } from "../../../platform/command-line.js";
import { UserError } from "../../../platform/errors.js";
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
import { oneLine } from "../../../reports/figure-text.js";
import { JUDGE_FLAGS } from "../../../runs/run-flags.js";
import { counted, share, table, usd } from "../../../text/format.js";
import type { CommandContext } from "../../command.js";
import { contradiction, defineCommand } from "../../flags/define-command.js";
import { modeShape, oneModeShape, seedShape } from "../../flags/eval-flags.js";

type SavedVariation = Pick<GeneratedVariation, "rounds" | "ended"> & {
  readonly stored: NonNullable<GeneratedVariation["saved"]>["stored"];
  readonly best: NonNullable<GeneratedVariation["best"]>;
};

const suggestEvalsSchema = z.object({
  ...oneModeShape,
  ...seedShape,
  model: text.optional().meta({
    description: "Let this model write evals for the mode (provider/name) instead of choosing templates",
  }),
  price: price.optional().meta({ description: "Price in US dollars per million tokens: IN,OUT[,CACHED]" }),
  maxCost: numberAbove(0, 10_000).default(1).meta({ placeholder: "USD", description: "Maximum cost in US dollars" }),
  name: evalNameSchema.optional().meta({
    placeholder: "NAME",
    description: "With --model: prefix of the eval names [default: the mode, or generated]",
  }),
  language: oneOf(EVAL_LANGUAGES).default("python").meta({ description: "With --model: language of the evals" }),
  rounds: wholeNumber(0, 3).default(3).meta({
    description: "With --model: number of times to rewrite each eval based on contradicting labels, up to 3",
  }),
});

export const suggestEvalsCommand = defineCommand(suggestEvalsSchema, async ({ model, ...flags }, context) => {
  if (model !== undefined) return writeWithModel({ ...flags, model, criterion: flags.mode ?? OVERALL }, context);
  if (flags.name !== undefined || flags.price !== undefined) {
    throw contradiction("--name and --price require --model.", "Add --model provider/name, or remove them.");
  }
  const { adviseModes } = await import("../../../error-analysis/advise-modes.js");
  const { adviceText } = await import("../../../reports/mode-text.js");
  const { settings, out } = context;
  const { advice, pass } = await adviseModes(flags, settings);
  out.result(advice, () => adviceText(advice, pass, settings.verbose));
});

/** Says whether an eval is new, and how to go on. */
function savedText({ stored: { definition, status }, isNew }: SavedEval, mode: string): string {
  const label = evalLabel(definition);
  const known = isNew ? label : `${label} already exists (${status})`;
  const next =
    definition.kind === "cases"
      ? commandLine`art-e evals use ${label}`
      : `${commandLine`art-e evals test ${label}`}${modeFlag(mode)}`;
  return `${known}\nNext: ${next}`;
}

const casesSchema = z.object({
  run: runName.default("latest").meta({ description: "Run id, the start of an id, a run name, or latest" }),
  by: text.optional().meta({
    placeholder: "SCORE",
    description: "Score that decides the bands [default: labels, otherwise accuracy, the headline score]",
  }),
  ...modeShape,
});

export const bandCasesCommand = defineCommand(casesSchema, async ({ run, by = null, mode }, { settings, out }) => {
  const { makeBandArtifacts } = await import("../../../evals/band-artifacts.js");
  const artifacts = await makeBandArtifacts({ run, by, criterion: mode }, settings);
  const { evals, ...rest } = artifacts;
  const saved = evals.map(({ stored: { definition, status }, isNew }) => {
    const cases = definition.kind === "cases" ? definition.cases.length : null;
    return { name: definition.name, version: definition.version, kind: definition.kind, cases, status, isNew };
  });
  out.result({ ...rest, evals: saved }, () => bandText(artifacts, mode));
});

const { noJudge: _, ...ADD_JUDGE_FLAGS } = JUDGE_FLAGS;

const JUDGE_NAMES = Object.keys(ADD_JUDGE_FLAGS) as (keyof typeof ADD_JUDGE_FLAGS)[];

const addEvalSchema = z.object({
  names: z.array(text).default([]).meta({
    description:
      "Name of a template or of the new eval; or files or folders (JSON from evals export, Python, TypeScript)",
  }),
  atMost: z.number("expected a number").optional().meta({ description: "Threshold for a template without its own" }),
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
    .meta({ description: "With --judge: number of labeled answers in its prompt, none of them held out for tests" }),
  ...seedShape,
  mode: criterionNameSchema.optional().meta({ placeholder: "NAME", description: "Failure mode of the eval" }),
});

export const addEvalCommand = defineCommand(addEvalSchema, async ({ names, ...flags }, context) => {
  const { settings, out } = context;
  const { atMost: bound = null, rubric: rubricModel = null, mode } = flags;
  const assertions = compact([
    ...flags.contains.map((contains) => ({ contains })),
    ...flags.lacks.map((lacks) => ({ lacks })),
    ...flags.matches.map((matches) => ({ matches })),
    (flags.isJson || flags.jsonKey.length > 0) && { json: flags.jsonKey },
  ]);
  const { examples, seed, ...others } = flags;
  const isJudge = examples > 0 || JUDGE_NAMES.some((flag) => flags[flag] !== undefined);
  const kinds = [bound !== null, rubricModel !== null, isJudge, assertions.length > 0].filter(Boolean).length;
  const [first] = names;
  if (kinds > 1 || (kinds > 0 && names.length !== 1)) {
    throw contradiction(
      kinds > 1
        ? "--at-most, --rubric, --judge and conditions on the answer cannot be combined."
        : "evals add: NAME is required.",
      `Pass one of them: ${commandLine`art-e evals add NAME --contains TEXT`}.`,
    );
  }
  const { TEMPLATES } = await import("../../../evals/templates.js");
  if (first === undefined) {
    const templates = TEMPLATES.map((one) => ({ name: one.name, bound: one.bound, criterion: one.criterion }));
    out.result(templates, () =>
      table(
        ["template", "needs", "a good trace"],
        templates.map((one) => [one.name, one.bound === "cut" ? "--at-most" : "-", one.criterion]),
      ),
    );
    return;
  }
  const isTemplate = names.length === 1 && TEMPLATES.some(({ name }) => name === first);
  const isFile = names.length > 1 || existsSync(first) || !evalNameSchema.safeParse(first).success;
  if (kinds === 0 && !isTemplate && isFile) return addFiles(names, context);
  const { data: name, error } = evalNameSchema.safeParse(first);
  if (name === undefined)
    throw new UserError(
      "flag_invalid",
      `NAMES: ${error.issues[0]?.message}.`,
      `See ${commandLine`art-e evals add --help`}.`,
    );
  const { addEval } = await import("../../../evals/add-eval.js");
  const judge = isJudge ? { options: { ...others, noJudge: false }, examples, seed } : null;
  const saved = await addEval({ name, bound, assertions, rubricModel, judge, criterion: mode }, settings);
  out.result({ ...saved.stored.definition, status: saved.stored.status, isNew: saved.isNew }, () =>
    savedText(saved, mode ?? OVERALL),
  );
});

async function addFiles(paths: readonly string[], { settings, signal, out }: CommandContext): Promise<void> {
  const { importEvals } = await import("../../../evals/eval-files.js");
  const imported = await importEvals(paths, settings, signal);
  const rows = imported.map(({ path, stored: { definition, status }, isNew, validation }) => {
    const { name, version } = definition;
    return { path, name, version, status, isNew, validation };
  });
  out.result(rows, () =>
    rows
      .map(({ path, status, isNew, validation, ...one }) => {
        const known = isNew ? "" : ` (already exists: ${status})`;
        return `${path}: ${evalLabel(one)}${known}${VALIDATION_TEXT[validation ?? "kept"]}`;
      })
      .join("\n"),
  );
}

const VALIDATION_TEXT = {
  kept: "",
  "tested here": "",
  "of another version": "; ignored its test, which belongs to another version",
  changed: "; ignored its test, whose figures were changed after the export",
} as const;

async function writeWithModel(options: GenerateOptions, context: CommandContext): Promise<void> {
  const { generateEvals } = await import("../../../evals/generate.js");
  const generation = await generateEvals(options, context);
  const { variations, ...rest } = generation;
  context.out.result({ ...rest, variations: variations.map(toJson) }, () =>
    generationText(generation, context.settings.verbose),
  );
}

function toJson({ variation, best, rounds, ended, rejection, saved }: GeneratedVariation) {
  const { alignment, trueNegativeRate, falseFailureRate, failedOn } = best?.measured ?? {};
  return {
    variation,
    name: saved?.stored.definition.name ?? null,
    version: saved?.stored.definition.version ?? null,
    kind: best?.draft.kind ?? null,
    criterion: best?.draft.criterion ?? null,
    alignment,
    trueNegativeRate,
    falseFailureRate,
    failedOn,
    rounds,
    ended,
    rejection,
  };
}

function generationText(
  { good, bad, sources = {}, criteria, variations, calls, spentUsd }: Generation,
  verbose: boolean,
): string {
  const saved = variations.flatMap((one) =>
    one.saved === null || one.best === null ? [] : [{ ...one, stored: one.saved.stored, best: one.best }],
  );
  const lines = [
    `${good} good and ${bad} bad traces were read${otherSourcesText(sources)}. The model saw these labels, so their figures do not validate the evals. The other labels are held out for the test.`,
    "",
    "A good trace, according to the model:",
    ...criteria.map((sentence) => `  ${oneLine(sentence, 200)}`),
    "",
    saved.length === 0 ? "Nothing saved." : savedTable(saved, verbose),
  ];
  if (saved.length < variations.length) lines.push("", "Not saved:");
  for (const { variation, rejection } of variations) {
    if (rejection !== null) lines.push(`  ${variation}: ${oneLine(rejection, 200)}`);
  }
  lines.push("", `${counted(calls, "call")}, ${usd(spentUsd)}.`);
  if (saved.length > 0) {
    const names = saved.map(({ stored: { definition } }) => definition.name);
    lines.push(`Next: ${commandLine`art-e evals test ${names}`}`);
  }
  return lines.join("\n");
}

function savedTable(saved: readonly SavedVariation[], verbose: boolean): string {
  const more = verbose ? ["alignment", "versions", "ended"] : [];
  return table(
    ["eval", "kind", "TPR", "TNR", "false failure rate", ...more],
    saved.map(({ stored: { definition }, best: { measured }, rounds, ended }) => [
      evalLabel(definition),
      definition.kind,
      share(1 - measured.falseFailureRate),
      share(measured.trueNegativeRate),
      share(measured.falseFailureRate),
      ...(verbose ? [share(measured.alignment), String(rounds), oneLine(ended, 200)] : []),
    ]),
  );
}
