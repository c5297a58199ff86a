// The result of `art-e evals watch` as terminal text.
import { modeFlag } from "../evals/criteria.js";
import type { WatchedEval } from "../evals/watch-evals.js";
import { commandLine } from "../platform/command-line.js";
import { compact } from "../platform/optional-values.js";
import type { Drift } from "../statistics/drift.js";
import { counted, table } from "../text/format.js";
import { evalLabel, otherAgentsText } from "./eval-text.js";
import { listed } from "./figure-text.js";

/** Maximum number of listed anchors. --json lists all. */
const LISTED = 5;

/** Formats what changed, the evidence, and what to do. */
export function watchText(runId: string, watched: WatchedEval): string {
  const { stored, drift, watches, changedAnchors, otherAgents, reference } = watched;
  return compact([
    `${evalLabel(stored.definition)} on ${runId}: ${CHANGE_TEXTS[drift.changed]}`,
    "",
    evidenceTable(drift),
    "",
    `Watches since the validation: ${watches}${freshText(watched)}`,
    reference.judged < reference.traces &&
      `The validated pass rate comes from ${reference.judged} of ${counted(reference.traces, "trace")}, drawn at random.`,
    ...listed(
      changedAnchors,
      LISTED,
      ({ traceId, before, now, reason }) =>
        `  ${commandLine`art-e show ${traceId}`}  (${RESULT_TEXTS[before]} before, ${RESULT_TEXTS[now]} now: ${reason})`,
    ),
    otherAgents !== null && `The eval was ${otherAgentsText(otherAgents)}.`,
    ...adviceLines(runId, watched),
  ]).join("\n");
}

const CHANGE_TEXTS: Readonly<Record<Drift["changed"], string>> = {
  none: "no change found",
  judge: "the judge changed",
  agent: "the agent changed, or its tasks",
  both: "both the judge and the agent (or its tasks) changed",
  unclear: "the pass rate changed, but it is not certain yet whether the judge or the agent changed",
};

const RESULT_TEXTS = { pass: "passed", fail: "failed", not_applicable: "did not apply" } as const;

function evidenceTable({ judge, agent }: Drift): string {
  const { fresh, expected } = agent;
  return table(
    ["", "observed", "compared with", "p-value", "limit"],
    [
      [
        "judge",
        `${judge.anchors.successes} of ${judge.anchors.n} anchors differ`,
        judge.before.n === 0 ? "-" : `${judge.before.successes} of ${judge.before.n} before`,
        ...(judge.evidence === null ? ["-", "one differs"] : evidenceTexts(judge.evidence)),
      ],
      [
        "agent",
        fresh.n === 0 ? "no fresh traces" : `${fresh.successes} of ${fresh.n} fresh traces pass`,
        `${expected.successes} of ${expected.n}`,
        ...(fresh.n === 0 ? ["-", "-"] : evidenceTexts(agent.evidence)),
      ],
    ],
  );
}

function evidenceTexts({ p, limit }: { readonly p: number; readonly limit: number }): string[] {
  return [p, limit].map((value) => (value < 0.0001 ? value.toExponential(0) : value.toFixed(4)));
}

function freshText({ notFresh }: WatchedEval): string {
  if (notFresh === "reference") return ". The eval was validated on this run, so its traces are not fresh.";
  return notFresh === "counted" ? ". An earlier watch has counted the traces of this run." : "";
}

function adviceLines(runId: string, { stored: { definition }, criterion, drift: { changed } }: WatchedEval): string[] {
  if (changed === "none") return [];
  const label = evalLabel(definition);
  const flag = modeFlag(criterion);
  if (changed === "judge" || changed === "both") {
    const fresh = definition.kind === "rubric" ? " --fresh" : "";
    return [
      `The eval's error rates do not apply any more. Validate it again: ${commandLine`art-e evals test ${label}`}${fresh}${flag}`,
      "Then the watches start again, with new anchors.",
    ];
  }
  return [
    "The eval's error rates might not apply. Label 20 traces of this run, which correct its pass rate:",
    `  ${commandLine`art-e evals label ${runId}`}${flag}`,
    `  ${commandLine`art-e evals run ${label} ${runId}`}`,
  ];
}
