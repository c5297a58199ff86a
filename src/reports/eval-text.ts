// Evals as terminal text: test results, history, agreement with labels, and contradictions.
import { modeFlag } from "../evals/criteria.js";
import {
  type Agreement,
  type Contradiction,
  callsModel,
  type EvalTest,
  LABEL_SOURCES,
  type LabelSource,
  type LabelSources,
  type StoredEval,
  type TracedAgent,
} from "../evals/definition.js";
import { labelErrors, ratesDespiteErrors, wrongLabelsText } from "../evals/label-error-correction.js";
import type { TestedEval, UntestedEval } from "../evals/test-eval.js";
import type { EvalHistory } from "../evals/use-evals.js";
import type { OtherAgents } from "../evals/validated-agents.js";
import { commandLine } from "../platform/command-line.js";
import { compact } from "../platform/optional-values.js";
import { promptHash } from "../scoring/judge.js";
import { counted, duration, share, table, usd } from "../text/format.js";
import type { JudgeSettings } from "../traces/judgment.js";
import { estimateText, listed, oneLine } from "./figure-text.js";

/** Formats an eval's version the way commands accept it, such as `wrong-year@2`. */
export function evalLabel({ name, version }: Pick<StoredEval["definition"], "name" | "version">): string {
  return `${name}@${version}`;
}

/** Maximum number of listed contradictions. --json lists all. */
const LISTED = 10;

/** What a test's text contains besides its result. */
interface ShownTest {
  readonly isStale?: boolean;
  /** Whether to say how often the tested traces were used. */
  readonly verbose: boolean;
}

/** Formats the result of testing an eval. */
export function evalTestText(stored: StoredEval, test: EvalTest, { isStale = false, verbose }: ShownTest): string {
  const { definition } = stored;
  const { agreement, heldOutReads, readsByThisEval, thresholds, rejections, warnings } = test;
  const passed = rejections.length === 0;
  return [
    `${evalLabel(definition)}: ${definition.criterion}`,
    "",
    agreementTable(agreement),
    ...modelLines(definition, test),
    "",
    ...(test.crossFitted !== undefined ? [CROSS_FITTED] : []),
    ...(test.isImported ? ["This test was imported with the eval's file, without its labels."] : []),
    ...(verbose
      ? [
          `The tested traces were used in tests ${times(heldOutReads)} for any mode, and ${times(readsByThisEval)} for this eval.`,
        ]
      : []),
    ...labelErrorLines(test),
    `Agents of these traces: ${test.agents.map(agentText).join("; ")}.`,
    ...warnings.map((warning) => `Note: ${warning}.`),
    ...(isStale ? ["Stale: the labels have changed since this test. Test the eval again."] : []),
    "",
    ...(passed
      ? [`Passed the thresholds "${thresholds}".`, ...useLines(stored, test, isStale)]
      : [
          `Rejected by the thresholds "${thresholds}":`,
          ...rejections.map((reason) => `  ${reason}`),
          `Traces on which it disagrees with a label: ${commandLine`art-e evals show ${evalLabel(definition)} --disagreements`}${modeFlag(test.criterion)}`,
        ]),
  ].join("\n");
}

const CROSS_FITTED = "Each fifth of the labels was judged by the template as chosen from the other four.";

/** Formats several tests, one per line, and the reasons why evals were not accepted. */
export function evalTestsText(tests: readonly (TestedEval | UntestedEval)[]): string {
  const rows = tests.map(({ stored: { definition }, criterion, test }) => [
    evalLabel(definition),
    criterion,
    share(test?.agreement.truePositiveRate.value ?? null),
    share(test?.agreement.trueNegativeRate.value ?? null),
    share(test?.agreement.falseFailureRate.value ?? null),
    test === null ? "not tested" : test.rejections.length === 0 ? "passed" : "rejected",
  ]);
  const reasons = tests.flatMap(({ stored: { definition }, criterion, ...one }) => {
    const about = `${evalLabel(definition)} for ${criterion}`;
    if (one.test === null) return [`${about}: ${one.error.message} ${one.error.hint}`];
    return one.test.rejections.map((reason) => `${about}: ${reason}`);
  });
  const passed = tests.some(({ test }) => test?.rejections.length === 0);
  return compact([
    table(["eval", "mode", "TPR", "TNR", "false failure rate", "test"], rows),
    reasons.length > 0 && ["", ...reasons].join("\n"),
    passed && `\nNext: ${commandLine`art-e evals use`}`,
  ]).join("\n");
}

function useLines({ status, definition }: StoredEval, { criterion }: EvalTest, isStale: boolean): string[] {
  if (status !== "draft" || isStale) return [];
  return [`Next: ${commandLine`art-e evals use ${evalLabel(definition)}`}${modeFlag(criterion)}`];
}

/** Formats the versions of an eval in chronological order, with their changes and test results. */
export function evalHistoryText(
  versions: readonly EvalHistory[],
  readable: (definition: StoredEval["definition"]) => string,
): string {
  return evalHistory(versions, readable)
    .flatMap(({ at, lines: [first = "", ...rest] }) => [
      `${at.slice(0, 16).replace("T", " ")}  ${first}`,
      ...rest.map((line) => `    ${line}`),
    ])
    .join("\n");
}

/** Returns the creations and tests of an eval's versions in chronological order, each with its details. */
export function evalHistory(
  versions: readonly EvalHistory[],
  readable: (definition: StoredEval["definition"]) => string,
): { readonly at: string; readonly lines: readonly string[] }[] {
  const events = versions.flatMap(({ stored, tests }, i) => {
    const { version, origin } = stored.definition;
    const before = versions[i - 1]?.stored.definition;
    const made = [
      `version ${version}, by ${origin.by} (${stored.status})`,
      ...(before === undefined ? [] : changedLines(readable(before), readable(stored.definition))),
    ];
    return [
      { at: stored.createdAt, lines: made },
      ...tests.map(({ report, createdAt, isStale }, k) => ({
        at: createdAt,
        lines: [`test of version ${version}: ${testLine(report, isStale, tests[k - 1]?.report)}`, ...report.rejections],
      })),
    ];
  });
  return events.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

function testLine(
  { criterion, rejections, agreement, ...test }: EvalTest,
  isStale: boolean,
  before?: EvalTest,
): string {
  const { good, bad, truePositiveRate, trueNegativeRate } = agreement;
  const labels =
    before !== undefined && before.labelsHash !== test.labelsHash ? "; different labels than in the previous test" : "";
  return [
    `${rejections.length === 0 ? "passed" : "rejected"} (${test.thresholds}) for ${criterion}${test.isImported ? ", imported" : ""}:`,
    `TPR ${share(truePositiveRate.value)}, TNR ${share(trueNegativeRate.value)},`,
    `${good} good, ${bad} bad${labels}${isStale ? "; stale now" : ""}`,
  ].join(" ");
}

/** Returns the removed and the added lines. */
function changedLines(before: string, after: string): string[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line.trim()}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line.trim()}`),
  ];
}

/** The prompt and the cost of an eval that calls a model, and how its results depend on the form of the prompt. */
function modelLines(
  definition: StoredEval["definition"],
  { variants = [], costUsdPerTrace, latencyMs }: EvalTest,
): string[] {
  if (!callsModel(definition)) return [];
  return compact([
    "",
    definition.kind === "judge" && `Judge: ${judgeLabel(definition.judge)}`,
    `Cost per trace: ${usd(costUsdPerTrace)}. Time per trace: ${duration(latencyMs.p50)} (median), ${duration(latencyMs.p95)} (95% quantile).`,
    ...variants.map(
      ({ variant, agreement, passedOnly, failedOnly }) =>
        `Other ${variant} of the prompt: same result ${estimateText(agreement)}; ${passedOnly} pass and ${failedOnly} fail only there.`,
    ),
  ]);
}

/** Formats a judge, such as `openai/gpt-6-luna (verdict 2, prompt 1a2b3c4d5e6f, 6 examples, 3 votes)`. */
function judgeLabel({ model, votes, examples = [], ...prompt }: JudgeSettings): string {
  const facts = compact([
    `${prompt.protocol} ${prompt.version}`,
    `prompt ${promptHash({ ...prompt, examples })}`,
    examples.length > 0 && counted(examples.length, "example"),
    votes > 1 && `${votes} votes`,
  ]);
  return `${model} (${facts.join(", ")})`;
}

/** The rates that the thresholds apply to, if some of the labels are wrong. */
function labelErrorLines({ agreement }: EvalTest): string[] {
  const [noise, rates] = [labelErrors(agreement), ratesDespiteErrors(agreement)];
  if (noise === null || noise === 0 || rates === null) return [];
  return [
    sentence(wrongLabelsText(noise)),
    `Without these errors, the true positive rate is ${share(rates.truePositive)} and the true negative rate is ${share(rates.trueNegative)}. The thresholds apply to these.`,
  ];
}

/** Formats `validated on another agent, A, not B`. */
export function otherAgentsText({ here, validated }: Pick<OtherAgents, "here" | "validated">): string {
  return `validated on another agent, ${validated.map(agentText).join(" and ")}, not ${here.map(agentText).join(" and ")}`;
}

/** Formats an agent with all that identifies it, such as `baseline@1 (offline/baseline, prompt 3f2a91bc)`. */
function agentText({ agentId, version, model, prompt }: TracedAgent): string {
  const name = version === null ? agentId : `${agentId}@${version}`;
  return `${name} (${model}${prompt === null ? "" : `, prompt ${prompt}`})`;
}

/** Explains that the error rates of an eval might not apply, and how to measure them. `run` is a command. */
export function otherAgentsLines(name: string, other: OtherAgents, run: string): string[] {
  return [
    `${name} was ${otherAgentsText(other)}. Its error rates might not apply.`,
    `To correct the rate by people's labels of these traces instead, label ${other.label.count} of them: ${other.label.command}`,
    `Then: ${run}`,
  ];
}

/** Formats all figures of an eval's agreement with labels. */
export function agreementTable(agreement: Agreement): string {
  const { good, bad, sources, notApplicable, errors, confusion } = agreement;
  const rows: [string, string][] = compact([
    [
      `labels, ${labelSourcesText(sources)}`,
      `${good} good, ${bad} bad${extra(notApplicable, "not applicable to")}${extra(errors, "failed on")}`,
    ],
    ["judged (good / bad)", `${share(agreement.judged.good)} / ${share(agreement.judged.bad)}`],
    ["good passed / failed", `${confusion.goodPassed} / ${confusion.goodFailed}`],
    ["bad passed / failed", `${confusion.badPassed} / ${confusion.badFailed}`],
    ["true positive rate (TPR)", estimateText(agreement.truePositiveRate)],
    ["true negative rate (TNR)", estimateText(agreement.trueNegativeRate)],
    ["false failure rate", estimateText(agreement.falseFailureRate)],
    agreement.weighted !== undefined &&
      (["traces drawn", "likely failures more often: the rates weight each label by its probability"] as [
        string,
        string,
      ]),
  ]);
  return table(["figure", "value (95% interval)"], rows);
}

/** Formats who labeled if not only people did, such as ` (by a judge)`. */
export function otherSourcesText({ person = 0, ...others }: LabelSources): string {
  return Object.keys(others).length === 0 ? "" : ` (${labelSourcesText({ person, ...others })})`;
}

const SOURCE_WORDS: Readonly<Record<LabelSource, string>> = {
  person: "by people",
  import: "from a file that does not say who labeled",
  judge: "by a judge",
  score: "from a score",
};

/** Formats who labeled, such as `by people`, or `12 by people, 40 by a judge`. */
export function labelSourcesText(sources: Readonly<LabelSources>): string {
  const used = LABEL_SOURCES.filter((source) => (sources[source] ?? 0) > 0);
  return used
    .map((source) => (used.length === 1 ? SOURCE_WORDS[source] : `${sources[source]} ${SOURCE_WORDS[source]}`))
    .join(", ");
}

export function contradictionLines(contradictions: readonly Contradiction[]): string[] {
  const groups = [
    ["Bad but passed", contradictions.filter(({ label }) => label === "bad")],
    ["Good but failed", contradictions.filter(({ label }) => label === "good")],
  ] as const;
  return groups.flatMap(([title, some]) =>
    some.length === 0 ? [] : ["", `${title}: ${some.length}`, ...listed(some, LISTED, lineOf)],
  );
}

function lineOf({ traceId, taskId, note, reason }: Contradiction): string {
  const task = taskId === null ? "chat" : `task ${taskId}`;
  return `  ${commandLine`art-e show ${traceId}`}  (${task}; ${reason}${note === null ? "" : `; label: ${oneLine(note, 100)}`})`;
}

/** Capitalizes the first letter and adds a full stop. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function extra(n: number, what: string): string {
  return n === 0 ? "" : `; ${what} ${n}`;
}

function times(n: number): string {
  return n === 1 ? "once" : `${n} times`;
}
