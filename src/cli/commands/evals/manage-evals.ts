// The commands to list, test, review, activate, run, import and export evals.
import { z } from "zod";
import { EVAL_FORMATS, evalFiles, REMOVED_EVAL_FORMATS, readableFunction } from "../../../evals/as-python.js";
import { criterionNameSchema } from "../../../evals/criteria.js";
import {
  type EvalDefinition,
  scoreNameOf,
  THRESHOLD_NAMES,
  type Validation,
  validationOf,
} from "../../../evals/definition.js";
import type { UncaughtTrace } from "../../../evals/review-eval.js";
import type { DescribedEval } from "../../../evals/use-evals.js";
import { commandLine } from "../../../platform/command-line.js";
import { EXIT, UserError } from "../../../platform/errors.js";
import { evalName, file, oneOf, runName, text, toggle, withTraits } from "../../../platform/flag-values.js";
import { compact } from "../../../platform/optional-values.js";
import {
  agreementTable,
  contradictionLines,
  evalHistoryText,
  evalLabel,
  evalTestText,
  otherAgentsLines,
} from "../../../reports/eval-text.js";
import { estimateText, oneLine } from "../../../reports/figure-text.js";
import type { EvalRun } from "../../../runs/evals-over-run.js";
import { share, table } from "../../../text/format.js";
import type { CommandContext } from "../../command.js";
import { contradiction, defineCommand } from "../../flags/define-command.js";
import { criterionShape } from "../../flags/eval-flags.js";
import { differentRuns } from "../../flags/run-argument.js";

const namedEval = evalName.meta({ description: "Eval name, or NAME@VERSION" });

/** How `evalsAndRun` treats its words, as part of their description. */
export const EVAL_OR_RUN = "A name that an eval and a run share means the eval";

const runEvalsSchema = z.object({
  names: withTraits(z.array(text).min(1, "expected the name of an eval"), { completes: "evals" }).meta({
    description: `Names of evals in use, or NAME@VERSION, and optionally a run. ${EVAL_OR_RUN}`,
  }),
  run: runName.optional().meta({ description: "Run id, the start of an id, a run name, or latest [default: latest]" }),
  chats: toggle.meta({ description: "Use chats, and traces from other programs without a task, instead of a run" }),
  trace: text
    .optional()
    .meta({ placeholder: "ID", description: "Use one trace from a run or a chat. Nothing is saved" }),
});

/** Divides the words of a command into evals and a run. The run can also be in `--run`. */
export async function evalsAndRun(
  { names: words, run: flag }: { readonly names: readonly string[]; readonly run?: string | undefined },
  settings: CommandContext["settings"],
) {
  const { separateEvalsFromRuns } = await import("../../../evals/use-evals.js");
  const { evals, runs } = await separateEvalsFromRuns(words, settings);
  const [run = flag] = runs;
  if (runs.length > 1) throw contradiction(`Cannot use several runs: ${runs.join(", ")}.`, "Pass one of them.");
  if (flag !== undefined && run !== flag) throw differentRuns("RUN", runs, [flag]);
  return { names: evals, run };
}

export const runEvalsCommand = defineCommand(runEvalsSchema, async ({ chats, trace, ...flags }, context) => {
  refuseSeveral([flags.run, chats, trace]);
  const { names, run } = await evalsAndRun(flags, context.settings);
  refuseSeveral([run, chats, trace]);
  if (names.length === 0) {
    throw new UserError(
      "usage",
      `evals run: the name of an eval is required. ${run} is a run.`,
      "See art-e evals run --help.",
    );
  }
  const { runEvalsOnTrace, runEvalsOverChats, runEvalsOverRun } = await import("../../../runs/evals-over-run.js");
  if (trace !== undefined) {
    const results = await runEvalsOnTrace(names, trace, context);
    context.out.result(
      results.map(({ definition: { name, version }, outcome }) => ({ name, version, ...outcome })),
      () =>
        table(
          ["eval", "score", "why"],
          results.map(({ definition: { name, version }, outcome: { score, reason, error } }) => [
            `${name}@${version}`,
            share(score),
            error === null ? reason : `error: ${error}`,
          ]),
        ),
    );
    return;
  }
  const done = await (chats ? runEvalsOverChats(names, context) : runEvalsOverRun(names, run ?? "latest", context));
  const evals = done.evals.map(({ stored: { definition }, ...figures }) => ({
    name: definition.name,
    version: definition.version,
    reference: definition.reference,
    ...figures,
  }));
  context.out.result({ ...done, evals }, () => runText(done));
});

/** Throws a UserError if more than one of a run, `--chats` and `--trace` is specified. */
function refuseSeveral(selected: readonly (string | boolean | undefined)[]): void {
  if (selected.filter((one) => one !== undefined && one !== false).length <= 1) return;
  throw contradiction("A run, --chats and --trace cannot be combined.", "Remove one of them.");
}

function runText({ runId, traces, evals }: EvalRun): string {
  const validatedEval = evals.find(({ validation }) => validation === "passed");
  const lines = [
    runId === null ? `${traces} chats` : `${traces} traces of ${runId}`,
    "",
    table(
      [
        "score",
        "passed",
        "failed",
        "does not apply",
        "failed tasks",
        "errors",
        "pass rate (95%)",
        "corrected",
        "false alarms",
      ],
      evals.map(
        ({
          stored: { definition },
          validation,
          passed,
          failed,
          notApplicable,
          failedTasks,
          errors,
          passRate,
          corrected,
          falseAlarms,
        }) => [
          scoreNameOf(definition),
          String(passed),
          String(failed),
          String(notApplicable),
          String(failedTasks),
          String(errors),
          estimateText(passRate),
          corrected === null ? NOT_CORRECTED[validation] : estimateText(corrected),
          falseAlarms === null ? NOT_CORRECTED[validation] : estimateText(falseAlarms),
        ],
      ),
    ),
    ...labelErrorLines(evals),
    ...labelsOfRunLines(evals, runId),
    ...evals.flatMap(({ stored: { definition }, errors, firstError }) =>
      firstError === null ? [] : ["", `${scoreNameOf(definition)} failed on ${errors} traces, first: ${firstError}`],
    ),
  ];
  if (validatedEval !== undefined && runId !== null) {
    const limit = `${scoreNameOf(validatedEval.stored.definition)}:corrected=0.9`;
    lines.push("", `As a gate: ${commandLine`art-e gate ${runId} --fail-under ${limit}`}`);
  }
  return lines.join("\n");
}

/** Says how many labels are wrong, or that it is unknown, for evals with a corrected rate. */
function labelErrorLines(evals: EvalRun["evals"]): string[] {
  const corrected = evals.filter((one) => one.corrected !== null);
  if (corrected.length === 0) return [];
  const shares = corrected.map(({ stored: { definition }, labelErrors }) =>
    labelErrors === null
      ? `${definition.name}: unknown, because fewer than five traces were labeled twice`
      : `${definition.name}: about ${Math.round(labelErrors * 100)}%`,
  );
  return ["", `Wrong labels, which the corrected rates take into account: ${shares.join("; ")}`];
}

/** Says which corrected rates come from labels of the run, and which from labels of another agent. */
function labelsOfRunLines(evals: EvalRun["evals"], runId: string | null): string[] {
  return evals.flatMap(({ stored: { definition }, labelsOfRun, isWeighted, otherAgents }) => {
    if (labelsOfRun > 0)
      return [
        `The corrected rate of ${definition.name} is estimated from ${labelsOfRun} ${isWeighted ? "enriched labels of these traces by people, weighted by the probability of each draw" : "random labels of these traces by people"}.`,
      ];
    return otherAgents === null ? [] : otherAgentsLines(definition.name, otherAgents, evalRunLine(definition, runId));
  });
}

/** The command that runs an eval on a run, or on chats if `runId` is null. */
function evalRunLine({ name, version }: EvalDefinition, runId: string | null): string {
  return commandLine`art-e evals run ${`${name}@${version}`} ${runId ?? "--chats"}`;
}

/** Text shown instead of a corrected rate. */
const NOT_CORRECTED: Readonly<Record<Validation, string>> = {
  none: "not tested",
  stale: "test is stale",
  passed: "-",
  rejected: "-",
};

const importEvalsSchema = z.object({
  files: z.array(text).min(1, "expected files or folders").meta({
    description: "Files or folders from evals export, Python files with an eval_function, or TypeScript files",
  }),
});

export const importEvalsCommand = defineCommand(importEvalsSchema, async ({ files }, { settings, signal, out }) => {
  const { importEvals } = await import("../../../evals/eval-files.js");
  const imported = await importEvals(files, settings, signal);
  out.result(
    imported.map(({ path, stored: { definition, status }, isNew, validation }) => ({
      path,
      name: definition.name,
      version: definition.version,
      status,
      isNew,
      validation,
    })),
    () =>
      imported
        .map(({ path, stored: { definition, status }, isNew, validation }) => {
          const label = evalLabel(definition);
          return `${path}: ${label}${isNew ? "" : ` (already exists: ${status})`}${VALIDATION_TEXT[validation ?? "kept"]}`;
        })
        .join("\n"),
  );
});

const VALIDATION_TEXT = {
  kept: "",
  "tested here": "",
  "of another version": "; ignored its test, which belongs to another version",
  changed: "; ignored its test, whose figures were changed after the export",
} as const;

const exportEvalsSchema = z.object({
  names: withTraits(z.array(text), { completes: "evals" })
    .default([])
    .meta({ description: "Names of evals in use, or NAME@VERSION [default: all that are not retired]" }),
  output: file.default("evals").meta({ placeholder: "FOLDER", description: "Output folder", alias: "o" }),
  format: oneOf(EVAL_FORMATS, REMOVED_EVAL_FORMATS)
    .default("json")
    .meta({ description: "json (can be imported again), or code: python, typescript, inspect" }),
});

export const exportEvalsCommand = defineCommand(
  exportEvalsSchema,
  async ({ names, output, format }, { settings, out }) => {
    const { evalsToExport, writeFolder } = await import("../../../evals/eval-files.js");
    const files = await writeFolder(output, evalFiles(await evalsToExport(names, settings), format));
    out.result({ files }, () => files.join("\n"));
  },
);

const listEvalsSchema = z.object({ all: toggle.meta({ description: "Include retired versions" }) });

export const listEvalsCommand = defineCommand(listEvalsSchema, async ({ all }, { settings, out }) => {
  const { describeEvals } = await import("../../../evals/use-evals.js");
  const evals = await describeEvals(all, settings);
  out.result(
    evals.map(({ stored: { definition, status, createdAt }, test }) => ({ ...definition, status, createdAt, test })),
    () => (evals.length === 0 ? `No evals. Create some: ${commandLine`art-e evals suggest`}` : evalTable(evals)),
  );
});

function evalTable(evals: readonly DescribedEval[]): string {
  return table(
    ["eval", "status", "kind", "test", "TPR", "TNR", "criterion"],
    evals.map(({ stored: { definition, status }, test }) => [
      evalLabel(definition),
      status,
      definition.reference ? `${definition.kind}, reference` : definition.kind,
      validationOf(test),
      share(test?.report.agreement.truePositiveRate.value ?? null),
      share(test?.report.agreement.trueNegativeRate.value ?? null),
      definition.criterion,
    ]),
  );
}

const useEvalSchema = z.object({
  names: withTraits(z.array(text).min(1, "expected the name of an eval"), { completes: "evals" }).meta({
    description: "Names of evals, or NAME@VERSION",
  }),
  anyway: toggle.meta({ description: "Even without a passed test" }),
  criterion: criterionNameSchema.optional().meta({ description: "Criterion, for an eval tested for several criteria" }),
});

export const useEvalCommand = defineCommand(useEvalSchema, async ({ names, ...flags }, { settings, out }) => {
  const { useEvals } = await import("../../../evals/use-evals.js");
  const activated = (await useEvals({ names, ...flags }, settings)).map(({ stored: { definition }, former }) => ({
    definition,
    retired: former === null ? null : former.definition.version,
  }));
  out.result(
    activated.map(({ definition: { name, version }, retired }) => ({ name, version, retired })),
    () =>
      [
        ...activated.flatMap(({ definition, retired }) =>
          compact([
            `${evalLabel(definition)} is in use${retired === null ? "" : `; version ${retired} is retired`}`,
            definition.reference && "It needs gold answers, so it does not score chats.",
          ]),
        ),
        `Next: ${commandLine`art-e evals run ${activated.map(({ definition: { name } }) => name)} latest`}`,
      ].join("\n"),
  );
});

const testEvalSchema = z.object({
  name: namedEval,
  thresholds: oneOf(THRESHOLD_NAMES).default("usable").meta({ description: "Thresholds: usable, or gate (stricter)" }),
  fresh: toggle.meta({ description: "Have a rubric's model judge every trace again, without cached results" }),
  ...criterionShape,
});

export const testEvalCommand = defineCommand(testEvalSchema, async (flags, context) => {
  const { testEval } = await import("../../../evals/test-eval.js");
  const { stored, test } = await testEval(flags, context);
  const { name, version } = stored.definition;
  const passed = test.rejections.length === 0;
  context.out.result({ name, version, passed, ...test }, () => evalTestText(stored, test));
  return passed ? EXIT.done : EXIT.gate;
});

const showEvalSchema = z.object({
  name: namedEval,
  code: toggle.meta({ description: "Show the eval as a function" }),
});

/**
 * Returns an eval's definition as lines. Code and rubric are verbatim, other fields are the same as in the eval's file.
 */
function definitionLines(definition: EvalDefinition): string[] {
  const { code, rubric, ...fields } = { code: null, rubric: null, ...definition };
  const body = code ?? rubric;
  const json = JSON.stringify(fields, null, 2);
  return body === null ? [json] : [json, "", body.trimEnd()];
}

export const showEvalCommand = defineCommand(showEvalSchema, async ({ name, code }, { settings, out }) => {
  const { describeEval } = await import("../../../evals/use-evals.js");
  const { stored, test, history } = await describeEval(name, settings);
  const { definition, status, createdAt } = stored;
  if (code) {
    const source = readableFunction(definition);
    out.result({ name: definition.name, version: definition.version, code: source }, () => source);
    return;
  }
  const versions = history.map(({ stored: one, tests }) => ({
    ...one.definition,
    status: one.status,
    createdAt: one.createdAt,
    tests,
  }));
  out.result({ ...definition, status, createdAt, test, versions }, () =>
    [
      test === null
        ? `${evalLabel(definition)}: ${definition.criterion}`
        : evalTestText(stored, test.report, test.isStale),
      "",
      ...definitionLines(definition),
      "",
      evalHistoryText(history, readableFunction),
    ].join("\n"),
  );
});

const reviewEvalSchema = z.object({
  name: evalName.optional().meta({ description: "Eval name, or NAME@VERSION" }),
  ...criterionShape,
});

/** Maximum number of listed traces. --json lists all. */
const LISTED = 20;

export const reviewEvalCommand = defineCommand(reviewEvalSchema, async ({ name, criterion }, context) => {
  const { out } = context;
  const { reviewEval, reviewUncaught } = await import("../../../evals/review-eval.js");
  if (name === undefined) {
    const uncaught = await reviewUncaught(criterion, context);
    out.result(uncaught, () => uncaughtText(uncaught));
    return;
  }
  const { stored, agreement, contradictions } = await reviewEval(name, criterion, context);
  const { definition } = stored;
  out.result({ name: definition.name, version: definition.version, agreement, contradictions }, () =>
    [
      `${evalLabel(definition)} on the training half, which it might be based on:`,
      "",
      agreementTable(agreement),
      contradictions.length === 0 ? "\nNo label contradicts it." : contradictionLines(contradictions).join("\n"),
    ].join("\n"),
  );
});

function uncaughtText(uncaught: readonly UncaughtTrace[]): string {
  if (uncaught.length === 0) return "Every bad trace of the training half fails an eval.";
  const more = uncaught.length - LISTED;
  return compact([
    `Bad traces of the training half that pass all evals: ${uncaught.length}. A common cause is the next criterion.`,
    ...uncaught
      .slice(0, LISTED)
      .map(
        ({ traceId, note }) =>
          `  ${commandLine`art-e show ${traceId}`}${note === null ? "" : `  (${oneLine(note, 100)})`}`,
      ),
    more > 0 && `  ... and ${more} more; --json lists all`,
  ]).join("\n");
}

const retireEvalSchema = z.object({ name: namedEval });

export const retireEvalCommand = defineCommand(retireEvalSchema, async ({ name }, { settings, out }) => {
  const { retireEval } = await import("../../../evals/use-evals.js");
  const { definition } = await retireEval(name, settings);
  out.result(
    { name: definition.name, version: definition.version, status: "retired" },
    () => `${evalLabel(definition)} is retired.`,
  );
});
