import { z } from "zod";
import { EVAL_FORMATS, evalFiles } from "../../evals/as-python.js";
import { type EvalDefinition, type Proof, proofOf, scoreNameOf, THRESHOLD_NAMES } from "../../evals/definition.js";
import { criterionNameSchema, OVERALL } from "../../evals/labels.js";
import type { UncaughtTrace } from "../../evals/test-eval.js";
import type { DescribedEval } from "../../evals/use-evals.js";
import { commandLine } from "../../platform/command-line.js";
import { EXIT, UserError } from "../../platform/errors.js";
import { agreementTable, contradictionLines, evalTestText } from "../../reports/eval-text.js";
import { estimateText } from "../../reports/text.js";
import type { EvalRun } from "../../runs/evals-over-run.js";
import { share, table } from "../../text/format.js";
import type { Command } from "../command.js";
import { declaredIn, oneOf, readFlags, text, wholeNumber } from "../read-flags.js";

const runEvalsSchema = z.object({
  names: z
    .array(text)
    .min(1, "expected the name of an eval")
    .meta({ description: "Evals that are in use; NAME@2 names a version" }),
  run: text.optional().meta({ description: "Its id, the beginning of it, or latest [default: latest]" }),
  trace: text.optional().meta({ description: "One trace instead, of a run or a chat; nothing is saved" }),
});

export const runEvalsCommand: Command = {
  ...declaredIn(runEvalsSchema, ["names"]),
  async run(argv, context) {
    const { names, run, trace } = readFlags("evals run", runEvalsSchema, argv);
    const { runEvalsOnTrace, runEvalsOverRun } = await import("../../runs/evals-over-run.js");
    if (trace !== undefined) {
      if (run !== undefined) {
        throw new UserError("flags_contradict", "--trace does not go with --run.", "Give one of them.");
      }
      const told = await runEvalsOnTrace(names, trace, context);
      context.out.result(
        told.map(({ definition: { name, version }, outcome }) => ({ name, version, ...outcome })),
        () =>
          table(
            ["eval", "score", "why"],
            told.map(({ definition: { name, version }, outcome: { score, reason, error } }) => [
              `${name}@${version}`,
              share(score),
              error === null ? reason : `it failed: ${error}`,
            ]),
          ),
      );
      return EXIT.done;
    }
    const done = await runEvalsOverRun(names, run ?? "latest", context);
    const evals = done.evals.map(({ stored: { definition }, ...figures }) => ({
      name: definition.name,
      version: definition.version,
      reference: definition.reference,
      ...figures,
    }));
    context.out.result({ ...done, evals }, () => runText(done));
    return EXIT.done;
  },
};

function runText({ runId, traces, evals }: EvalRun): string {
  return [
    `${traces} traces of ${runId}`,
    "",
    table(
      ["score", "passed", "failed", "does not apply", "errors", "pass rate (95 %)", "corrected", "false alarms"],
      evals.map(
        ({
          stored: { definition },
          proof,
          passed,
          failed,
          notApplicable,
          errors,
          passRate,
          corrected,
          falseAlarms,
        }) => [
          scoreNameOf(definition),
          String(passed),
          String(failed),
          String(notApplicable),
          String(errors),
          estimateText(passRate),
          corrected === null ? UNPROVED[proof] : estimateText(corrected),
          falseAlarms === null ? UNPROVED[proof] : estimateText(falseAlarms),
        ],
      ),
    ),
    ...evals.flatMap(({ stored: { definition }, errors, firstError }) =>
      firstError === null ? [] : ["", `${scoreNameOf(definition)} failed on ${errors} traces, first: ${firstError}`],
    ),
  ].join("\n");
}

/** Why there is no corrected rate. */
const UNPROVED: Readonly<Record<Proof, string>> = {
  none: "not tested",
  stale: "test is stale",
  passed: "-",
  rejected: "-",
};

const importEvalsSchema = z.object({
  files: z
    .array(text)
    .min(1, "expected files or folders")
    .meta({ description: "Files or folders that evals export wrote, or Python files with an eval_function" }),
});

export const importEvalsCommand: Command = {
  ...declaredIn(importEvalsSchema, ["files"]),
  async run(argv, { settings, out }) {
    const { files } = readFlags("evals import", importEvalsSchema, argv);
    const { importEvals } = await import("../../evals/files.js");
    const imported = await importEvals(files, settings);
    out.result(
      imported.map(({ path, stored: { definition, status }, isNew }) => ({
        path,
        name: definition.name,
        version: definition.version,
        status,
        isNew,
      })),
      () =>
        imported
          .map(({ path, stored: { definition, status }, isNew }) => {
            const label = `${definition.name}@${definition.version}`;
            return `${path}: ${label}${isNew ? "" : ` (was there: ${status})`}`;
          })
          .join("\n"),
    );
    return EXIT.done;
  },
};

const exportEvalsSchema = z.object({
  names: z.array(text).default([]).meta({ description: "Evals in use, or NAME@2 [default: all that are not retired]" }),
  output: text.default("evals").meta({ description: "Folder to write to", alias: "o" }),
  format: oneOf(EVAL_FORMATS)
    .default("json")
    .meta({ description: "json, to import again; python, promptfoo or inspect, as code" }),
});

export const exportEvalsCommand: Command = {
  ...declaredIn(exportEvalsSchema, ["names"]),
  async run(argv, { settings, out }) {
    const { names, output, format } = readFlags("evals export", exportEvalsSchema, argv);
    const { evalsToExport, writeFolder } = await import("../../evals/files.js");
    const definitions = await evalsToExport(names, settings);
    const files = await writeFolder(output, evalFiles(definitions, format));
    out.result({ files }, () => files.join("\n"));
    return EXIT.done;
  },
};

const listEvalsSchema = z.object({ all: z.boolean().default(false).meta({ description: "Retired versions too" }) });

export const listEvalsCommand: Command = {
  ...declaredIn(listEvalsSchema),
  async run(argv, { settings, out }) {
    const { all } = readFlags("evals list", listEvalsSchema, argv);
    const { describeEvals } = await import("../../evals/use-evals.js");
    const evals = await describeEvals(all, settings);
    out.result(
      evals.map(({ stored: { definition, status, createdAt }, test }) => ({ ...definition, status, createdAt, test })),
      () =>
        evals.length === 0 ? `There are no evals. Make some: ${commandLine`art-e evals suggest`}` : evalTable(evals),
    );
    return EXIT.done;
  },
};

/** Also of one name's versions. */
function evalTable(evals: readonly DescribedEval[]): string {
  return table(
    ["eval", "status", "kind", "test", "TPR", "TNR", "kappa", "criterion"],
    evals.map(({ stored: { definition, status }, test }) => [
      `${definition.name}@${definition.version}`,
      status,
      definition.reference ? `${definition.kind}, reference` : definition.kind,
      proofOf(test),
      share(test?.report.agreement.truePositiveRate.value ?? null),
      share(test?.report.agreement.trueNegativeRate.value ?? null),
      share(test?.report.agreement.kappa.value ?? null),
      definition.criterion,
    ]),
  );
}

/** A version of an eval. */
const _EVAL_NAME = { type: "string", describe: "Its name; NAME@2 names a version" } as const;

export const criterionShape = {
  criterion: criterionNameSchema
    .default(OVERALL)
    .meta({ description: "The failure mode that the labels are about [default: overall]" }),
};

export const seedShape = {
  seed: wholeNumber(0, 2 ** 31)
    .default(1)
    .meta({ description: "Of everything that is drawn" }),
};

const useEvalSchema = z.object({
  name: text.meta({ description: "Its name; NAME@2 names a version" }),
  anyway: z.boolean().default(false).meta({ description: "Even if it has not passed a test" }),
  criterion: criterionNameSchema
    .optional()
    .meta({ description: "What it is used for, where it was tested for several criteria" }),
});

export const useEvalCommand: Command = {
  ...declaredIn(useEvalSchema, ["name"]),
  async run(argv, { settings, out }) {
    const flags = readFlags("evals use", useEvalSchema, argv);
    const { useEval } = await import("../../evals/use-evals.js");
    const { stored, former } = await useEval(flags, settings);
    const { definition } = stored;
    const retired = former === null ? null : former.definition.version;
    out.result({ name: definition.name, version: definition.version, retired }, () =>
      [
        `${definition.name}@${definition.version} is in use${retired === null ? "" : `; version ${retired} is retired`}`,
        `Run it: ${commandLine`art-e evals run ${definition.name}`}`,
        ...(definition.reference ? ["It sees gold answers, so chats are not scored by it."] : []),
      ].join("\n"),
    );
    return EXIT.done;
  },
};

const testEvalSchema = z.object({
  name: text.meta({ description: "Its name; NAME@2 names a version" }),
  thresholds: oneOf(THRESHOLD_NAMES).default("usable").meta({ description: "usable, or gate (stricter)" }),
  ...criterionShape,
});

export const testEvalCommand: Command = {
  ...declaredIn(testEvalSchema, ["name"]),
  async run(argv, context) {
    const { testEval } = await import("../../evals/test-eval.js");
    const { stored, test } = await testEval(readFlags("evals test", testEvalSchema, argv), context);
    const { name, version } = stored.definition;
    const passed = test.rejections.length === 0;
    context.out.result({ name, version, passed, ...test }, () => evalTestText(stored, test));
    return passed ? EXIT.done : EXIT.gate;
  },
};

const showEvalSchema = z.object({
  name: text.meta({ description: "Its name; NAME@2 names a version" }),
  code: z.boolean().default(false).meta({ description: "As a function to read" }),
});

/** Code and rubrics as they were written, the rest as in an eval's file. */
function definitionLines(definition: EvalDefinition): string[] {
  const { code, rubric, ...facts } = { code: null, rubric: null, ...definition };
  const written = code ?? rubric;
  return [JSON.stringify(facts, null, 2), ...(written === null ? [] : ["", written.trimEnd()])];
}

export const showEvalCommand: Command = {
  ...declaredIn(showEvalSchema, ["name"]),
  async run(argv, { settings, out }) {
    const { name, code } = readFlags("evals show", showEvalSchema, argv);
    const { describeEval } = await import("../../evals/use-evals.js");
    const { stored, test, versions } = await describeEval(name, settings);
    const { definition, status, createdAt } = stored;
    const { readableFunction } = await import("../../evals/as-python.js");
    if (code) {
      const source = readableFunction(definition);
      out.result({ name: definition.name, version: definition.version, code: source }, () => source);
      return EXIT.done;
    }
    out.result({ ...definition, status, createdAt, test }, () =>
      [
        test === null
          ? `${definition.name}@${definition.version}: ${definition.criterion}`
          : evalTestText(stored, test.report, test.isStale),
        "",
        ...definitionLines(definition),
        "",
        evalTable(versions),
      ].join("\n"),
    );
    return EXIT.done;
  },
};

const reviewEvalSchema = z.object({
  name: text.optional().meta({ description: "Its name; NAME@2 names a version" }),
  ...criterionShape,
});

/** Traces that are listed; --json lists all. */
const LISTED = 20;

export const reviewEvalCommand: Command = {
  ...declaredIn(reviewEvalSchema, ["name"]),
  async run(argv, context) {
    const { out } = context;
    const { name, criterion } = readFlags("evals review", reviewEvalSchema, argv);
    const { reviewEval, reviewUncaught } = await import("../../evals/test-eval.js");
    if (name === undefined) {
      const uncaught = await reviewUncaught(criterion, context);
      out.result(uncaught, () => uncaughtText(uncaught));
      return EXIT.done;
    }
    const { stored, agreement, contradictions } = await reviewEval(name, criterion, context);
    const { definition } = stored;
    out.result({ name: definition.name, version: definition.version, agreement, contradictions }, () =>
      [
        `${definition.name}@${definition.version} on the training half, which it may have been made from:`,
        "",
        agreementTable(agreement),
        ...(contradictions.length === 0 ? ["", "No label contradicts it."] : contradictionLines(contradictions)),
      ].join("\n"),
    );
    return EXIT.done;
  },
};

function uncaughtText(uncaught: readonly UncaughtTrace[]): string {
  if (uncaught.length === 0) return "Every bad trace of the training half is failed by some eval.";
  const more = uncaught.length - LISTED;
  return [
    `Bad traces of the training half that no eval fails: ${uncaught.length}. What they share is the next criterion.`,
    ...uncaught
      .slice(0, LISTED)
      .map(
        ({ traceId, note }) =>
          `  ${commandLine`art-e show ${traceId}`}${note === null ? "" : `  (${note.replace(/\s+/g, " ").slice(0, 100)})`}`,
      ),
    ...(more > 0 ? [`  ... and ${more} more; --json lists all`] : []),
  ].join("\n");
}

const retireEvalSchema = z.object({ name: text.meta({ description: "Its name; NAME@2 names a version" }) });

export const retireEvalCommand: Command = {
  ...declaredIn(retireEvalSchema, ["name"]),
  async run(argv, { settings, out }) {
    const { name } = readFlags("evals retire", retireEvalSchema, argv);
    const { retireEval } = await import("../../evals/use-evals.js");
    const { definition } = await retireEval(name, settings);
    out.result(
      { name: definition.name, version: definition.version, status: "retired" },
      () => `${definition.name}@${definition.version} is retired.`,
    );
    return EXIT.done;
  },
};

const refineEvalSchema = z.object({
  name: text.meta({ description: "Its name; NAME@2 names a version" }),
  ...criterionShape,
  ...seedShape,
});

export const refineEvalCommand: Command = {
  ...declaredIn(refineEvalSchema, ["name"]),
  async run(argv, { settings, out }) {
    const { name, criterion, seed } = readFlags("evals refine", refineEvalSchema, argv);
    const { refineEval } = await import("../../evals/suggest.js");
    const { parent, refined } = await refineEval(name, criterion, seed, settings);
    const label = `${parent.definition.name}@${parent.definition.version}`;
    const { readableFunction } = await import("../../evals/as-python.js");
    out.result({ parent: label, refined: refined?.definition ?? null }, () =>
      refined === null
        ? `The training labels give no reason to change ${label}.`
        : [
            `${refined.definition.name}@${refined.definition.version}, from ${label}:`,
            "",
            readableFunction(refined.definition),
            "",
            `Next: ${commandLine`art-e evals test ${refined.definition.name}@${refined.definition.version}`}`,
          ].join("\n"),
    );
    return EXIT.done;
  },
};
