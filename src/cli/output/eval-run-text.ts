// Terminal text for the results of running evals on traces: counts, rates, and the labels behind the corrected rates.
import { type EvalDefinition, scoreNameOf, type Validation } from "../../evals/definition.js";
import { wrongLabelsText } from "../../evals/label-error-correction.js";
import { commandLine } from "../../platform/command-line.js";
import { otherAgentsLines } from "../../reports/eval-text.js";
import { estimateText } from "../../reports/figure-text.js";
import type { EvalRun } from "../../runs/evals-over-run.js";
import { counted, table } from "../../text/format.js";

/** Formats the figures of each eval, and the next commands. */
export function evalRunText({ runId, traces, evals }: EvalRun): string {
  const validated = evals.filter(({ validation }) => validation === "passed").map(({ stored }) => stored.definition);
  const lines = [
    runId === null ? counted(traces, "chat") : `${counted(traces, "trace")} of ${runId}`,
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
        "false failure rate",
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
          falseFailureRate,
        }) => [
          scoreNameOf(definition),
          String(passed),
          String(failed),
          String(notApplicable),
          String(failedTasks),
          String(errors),
          estimateText(passRate),
          corrected === null ? NOT_CORRECTED[validation] : estimateText(corrected),
          falseFailureRate === null ? NOT_CORRECTED[validation] : estimateText(falseFailureRate),
        ],
      ),
    ),
    ...labelErrorLines(evals),
    ...labelsOfRunLines(evals, runId),
    ...evals.flatMap(({ stored: { definition }, errors, firstError }) =>
      firstError === null
        ? []
        : ["", `${scoreNameOf(definition)} failed on ${counted(errors, "trace")}, first: ${firstError}`],
    ),
  ];
  if (validated.length > 0 && runId !== null) {
    const limits = validated.map((definition) => `${scoreNameOf(definition)}:corrected=0.9`).join(",");
    const names = validated.map(({ name }) => name);
    lines.push(
      "",
      `Next, as a gate: ${commandLine`art-e gate ${runId} --fail-under ${limits}`}`,
      `Now and after each further run, to notice a changed judge or agent: ${commandLine`art-e evals watch ${names} ${runId}`}`,
    );
  }
  return lines.join("\n");
}

/** Says how many labels are wrong, or that it is unknown, for evals with a corrected rate. */
function labelErrorLines(evals: EvalRun["evals"]): string[] {
  const corrected = evals.filter((one) => one.corrected !== null);
  const lines = corrected.map(
    ({ stored: { definition }, labelErrors }) => `${definition.name}: ${wrongLabelsText(labelErrors)}`,
  );
  return lines.length === 0 ? [] : ["", ...lines];
}

/** Says which corrected rates come from labels of the run, and which from labels of another agent. */
function labelsOfRunLines(evals: EvalRun["evals"], runId: string | null): string[] {
  return evals.flatMap(({ stored: { definition }, labelsOfRun, isWeighted, passRate, otherAgents }) => {
    if (labelsOfRun > 0) {
      const labels = isWeighted
        ? `${labelsOfRun} enriched labels of these traces by people, weighted by the probability of each draw`
        : labelsOfRun === passRate.n
          ? `people's labels of all ${labelsOfRun} traces`
          : `${labelsOfRun} random labels of these traces by people`;
      return [`The corrected rate of ${definition.name} is estimated from ${labels}.`];
    }
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
