import type { Agreement, Contradiction, EvalTest, StoredEval } from "../evals/definition.js";
import { commandLine } from "../platform/command-line.js";
import { share, table } from "../text/format.js";
import { estimateText, oneLine } from "./text.js";

/** Of contradictions as many are listed; --json has all. */
const LISTED = 10;

/** What testing an eval on the held-out half gave. */
export function evalTestText({ definition }: StoredEval, test: EvalTest, isStale = false): string {
  const { agreement, heldOutReads, readsByThisEval, thresholds, rejections, warnings } = test;
  const passed = rejections.length === 0;
  return [
    `${definition.name}@${definition.version}: ${definition.criterion}`,
    "",
    agreementTable(agreement),
    "",
    `The held-out traces were tested on ${times(heldOutReads)}, for any criterion; this eval was tested ${times(readsByThisEval)}.`,
    ...ceilingLines(test),
    ...warnings.map((warning) => `Note: ${warning}.`),
    commandLine`Where it and the labels of the training half disagree: art-e evals review ${definition.name} --criterion ${test.criterion}`,
    "",
    ...(isStale ? ["Stale: the held-out labels have changed since. Test it again."] : []),
    ...(passed
      ? [`Passed the thresholds "${thresholds}".`]
      : [`Rejected by the thresholds "${thresholds}":`, ...rejections.map((reason) => `  ${reason}`)]),
  ].join("\n");
}

/** What the labels themselves allow. */
function ceilingLines({ ceiling }: EvalTest): string[] {
  if (!ceiling) return [];
  const { noise, truePositiveRate, trueNegativeRate } = ceiling;
  return [
    `Asked again, people contradict themselves as if ${share(noise)} of the labels were wrong: a perfect eval would show`,
    `a true positive rate of ${share(truePositiveRate)} and a true negative rate of ${share(trueNegativeRate)}. Thresholds are shares of these.`,
  ];
}

/** All figures of an eval against labels. */
export function agreementTable(agreement: Agreement): string {
  const { good, bad, notApplicable, errors, confusion, shuffledKappa } = agreement;
  const rows: [string, string][] = [
    [
      "labels",
      `${good} good, ${bad} bad${extra(notApplicable, "it does not apply to")}${extra(errors, "it failed on")}`,
    ],
    // Not in tests of earlier versions.
    ...(agreement.judged === undefined
      ? []
      : [
          ["judged, of good / bad", `${share(agreement.judged.good)} / ${share(agreement.judged.bad)}`] as [
            string,
            string,
          ],
        ]),
    ["good passed / failed", `${confusion.goodPassed} / ${confusion.goodFailed}`],
    ["bad passed / failed", `${confusion.badPassed} / ${confusion.badFailed}`],
    ["accuracy", estimateText(agreement.accuracy)],
    ["true positive rate (recall)", estimateText(agreement.truePositiveRate)],
    ["true negative rate (coverage)", estimateText(agreement.trueNegativeRate)],
    ["false failure rate", estimateText(agreement.falseFailureRate)],
    ["precision", estimateText(agreement.precision)],
    ["kappa", estimateText(agreement.kappa)],
    ["kappa, shuffled labels, up to", share(shuffledKappa)],
  ];
  return table(["figure", "value (95 % interval)"], rows);
}

export function contradictionLines(contradictions: readonly Contradiction[]): string[] {
  if (contradictions.length === 0) return [];
  const groups = [
    ["Bad but passed", contradictions.filter(({ label }) => label === "bad")],
    ["Good but failed", contradictions.filter(({ label }) => label === "good")],
  ] as const;
  return groups.flatMap(([title, some]) =>
    some.length === 0
      ? []
      : [
          "",
          `${title}: ${some.length}`,
          ...some.slice(0, LISTED).map(lineOf),
          ...(some.length > LISTED ? [`  ... and ${some.length - LISTED} more; --json lists all`] : []),
        ],
  );
}

function lineOf({ traceId, taskId, note, reason }: Contradiction): string {
  const task = taskId === null ? "chat" : `task ${taskId}`;
  return `  ${commandLine`art-e show ${traceId}`}  (${task}; ${reason}${note === null ? "" : `; label: ${oneLine(note, 100)}`})`;
}

function extra(n: number, what: string): string {
  return n === 0 ? "" : `; ${what} ${n}`;
}

function times(n: number): string {
  return n === 1 ? "once" : `${n} times`;
}
