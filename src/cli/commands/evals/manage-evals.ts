// The commands to list, show, test, activate, run and export evals.
import { z } from "zod";
import { EVAL_FORMATS, evalFiles, REMOVED_EVAL_FORMATS, readableFunction } from "../../../evals/as-python.js";
import { criterionNameSchema } from "../../../evals/criteria.js";
import { type EvalDefinition, THRESHOLD_NAMES, validationOf } from "../../../evals/definition.js";
import type { StoredEvalTest } from "../../../evals/store.js";
import type { DescribedEval } from "../../../evals/use-evals.js";
import { commandLine } from "../../../platform/command-line.js";
import { EXIT } from "../../../platform/errors.js";
import { evalName, file, oneOf, runName, text, toggle } from "../../../platform/flag-values.js";
import { compact } from "../../../platform/optional-values.js";
import {
  agreementTable,
  contradictionLines,
  evalHistoryText,
  evalLabel,
  evalTestsText,
  evalTestText,
} from "../../../reports/eval-text.js";
import { share, table } from "../../../text/format.js";
import type { CommandContext } from "../../command.js";
import { contradiction, defineCommand } from "../../flags/define-command.js";
import { evalNames, oneModeShape } from "../../flags/eval-flags.js";
import { differentValues } from "../../flags/first-argument.js";
import { evalRunText } from "../../output/eval-run-text.js";

const namedEval = evalName.meta({ description: "Eval name, or NAME@VERSION" });

/** How `evalsAndRun` treats its words, as part of their description. */
export const EVAL_OR_RUN = "A name that an eval and a run share means the eval";

const runEvalsSchema = z.object({
  names: evalNames.meta({
    description: `Names of evals, or NAME@VERSION, and optionally a run. ${EVAL_OR_RUN} [default: all active evals]`,
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
  if (flag !== undefined && run !== flag) throw differentValues("RUN", runs, "--run", [flag]);
  return { names: evals, run };
}

export const runEvalsCommand = defineCommand(runEvalsSchema, async ({ chats, trace, ...flags }, context) => {
  refuseSeveral([flags.run, chats, trace]);
  const { names, run } = await evalsAndRun(flags, context.settings);
  refuseSeveral([run, chats, trace]);
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
  context.out.result({ ...done, evals }, () => evalRunText(done));
});

/** Throws a UserError if more than one of a run, `--chats` and `--trace` is specified. */
function refuseSeveral(selected: readonly (string | boolean | undefined)[]): void {
  if (selected.filter((one) => one !== undefined && one !== false).length <= 1) return;
  throw contradiction("A run, --chats and --trace cannot be combined.", "Remove one of them.");
}

const exportEvalsSchema = z.object({
  names: evalNames.meta({ description: "Names of active evals, or NAME@VERSION [default: all that are not retired]" }),
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
  names: evalNames.meta({
    description: "Names of evals, or NAME@VERSION [default: all drafts that passed their test]",
  }),
  anyway: toggle.meta({ description: "Even without a passed test" }),
  mode: criterionNameSchema
    .optional()
    .meta({ placeholder: "NAME", description: "Failure mode, for an eval that passed for several modes" }),
});

export const useEvalCommand = defineCommand(useEvalSchema, async ({ names, anyway, mode }, { settings, out }) => {
  const { useEvals } = await import("../../../evals/use-evals.js");
  const used = await useEvals({ names, anyway, criterion: mode }, settings);
  const activated = used.map(({ stored: { definition }, former }) => ({
    definition,
    retired: former === null ? null : former.definition.version,
  }));
  const traces = used.map(({ labeledTraces }) => labeledTraces).find((one) => one !== null) ?? "latest";
  out.result(
    activated.map(({ definition: { name, version }, retired }) => ({ name, version, retired })),
    () =>
      [
        ...activated.flatMap(({ definition, retired }) =>
          compact([
            `${evalLabel(definition)} is active${retired === null ? "" : `; version ${retired} is retired`}`,
            definition.reference && "It needs gold answers, so it does not score chats.",
          ]),
        ),
        `Next: ${commandLine`art-e evals run ${activated.map(({ definition: { name } }) => name)} ${traces}`}`,
      ].join("\n"),
  );
});

const testEvalSchema = z.object({
  names: evalNames.meta({ description: "Names of evals, or NAME@VERSION [default: all drafts]" }),
  ...oneModeShape,
  thresholds: oneOf(THRESHOLD_NAMES).default("usable").meta({ description: "Thresholds: usable, or gate (stricter)" }),
  fresh: toggle.meta({ description: "Have a rubric's model judge every trace again, without cached results" }),
});

export const testEvalCommand = defineCommand(testEvalSchema, async ({ mode, ...flags }, context) => {
  const { testEvals } = await import("../../../evals/test-eval.js");
  const tests = await testEvals({ ...flags, criterion: mode }, context);
  const passed = tests.every(({ test }) => test?.rejections.length === 0);
  const results = tests.map(({ stored: { definition }, criterion, ...one }) => ({
    name: definition.name,
    version: definition.version,
    ...(one.test === null
      ? { criterion, passed: false, error: one.error.message }
      : { passed: one.test.rejections.length === 0, ...one.test }),
  }));
  context.out.result(results, () => {
    const [only] = tests;
    return tests.length > 1 || only?.test == null
      ? evalTestsText(tests)
      : evalTestText(only.stored, only.test, { verbose: context.settings.verbose });
  });
  return passed ? EXIT.done : EXIT.gate;
});

const showEvalSchema = z.object({
  name: namedEval,
  code: toggle.meta({ description: "Show the eval as a function" }),
  disagreements: toggle.meta({
    description:
      "Run the eval on the labeled traces that are not held out for tests, and list those on which a label disagrees",
  }),
  mode: criterionNameSchema
    .optional()
    .meta({ placeholder: "NAME", description: "With --disagreements: failure mode of the labels" }),
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

type EvalVersion = EvalDefinition &
  Pick<DescribedEval["stored"], "status" | "createdAt"> & { readonly tests: readonly StoredEvalTest[] };

export const showEvalCommand = defineCommand(showEvalSchema, async ({ name, code, disagreements, mode }, context) => {
  const { settings, out } = context;
  if (disagreements) return showDisagreements(name, mode, context);
  const { describeEval } = await import("../../../evals/use-evals.js");
  const { stored, test, history } = await describeEval(name, settings);
  const { definition, status, createdAt } = stored;
  if (code) {
    const source = readableFunction(definition);
    out.result({ name: definition.name, version: definition.version, code: source }, () => source);
    return;
  }
  const versions = history.map(
    ({ stored: one, tests }): EvalVersion => ({
      ...one.definition,
      status: one.status,
      createdAt: one.createdAt,
      tests,
    }),
  );
  out.result({ ...definition, status, createdAt, test, versions }, () =>
    [
      test === null
        ? `${evalLabel(definition)}: ${definition.criterion}`
        : evalTestText(stored, test.report, { isStale: test.isStale, verbose: settings.verbose }),
      "",
      ...definitionLines(definition),
      "",
      evalHistoryText(history, readableFunction),
    ].join("\n"),
  );
});

const IF_CHANGED =
  "If you change one of these labels, later tests of evals from templates count only the held-out labels.";

async function showDisagreements(name: string, mode: string | undefined, context: CommandContext): Promise<void> {
  const { reviewEval } = await import("../../../evals/review-eval.js");
  const { stored, agreement, contradictions } = await reviewEval(name, mode, context);
  const { definition } = stored;
  context.out.result({ name: definition.name, version: definition.version, agreement, contradictions }, () =>
    [
      `${evalLabel(definition)} on labeled traces that are not held out for tests. It might be based on them:`,
      "",
      agreementTable(agreement),
      ...(contradictions.length === 0
        ? ["", "No label contradicts it."]
        : [...contradictionLines(contradictions), "", IF_CHANGED]),
    ].join("\n"),
  );
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
