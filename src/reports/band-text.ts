// The artifacts of `art-e evals cases` as terminal text.
import type { BandArtifacts, RuleCount } from "../evals/band-artifacts.js";
import { modeFlag } from "../evals/criteria.js";
import type { RegressionCase } from "../evals/definition.js";
import { commandLine } from "../platform/command-line.js";
import { compact } from "../platform/optional-values.js";
import { count, counted, table } from "../text/format.js";
import { evalLabel } from "./eval-text.js";
import { listed, oneLine } from "./figure-text.js";

/** Maximum number of listed traces and cases per section. --json lists all. */
const LISTED = 5;

export function bandText(artifacts: BandArtifacts, criterion: string): string {
  const { runId, scorer, counts, labeled, high, medium, low, withoutCase, evals } = artifacts;
  return compact([
    `${runId}: ${counts.high} high, ${counts.medium} medium, ${counts.low} low, ${counts.unscored} without a band`,
    `Bands from: ${basisText(labeled, scorer)}`,
    ...section("High: successful patterns", ruleRows(high.patterns, "met in")),
    ...high.tools.map(({ tool, traces }) => `  ${tool}: used in ${traces} of ${counts.high}`),
    ...caseLines("Positive and regression cases", high.regression),
    ...section("Medium: partial successes", ruleRows(medium.partialSuccesses, "met in")),
    ...section(
      "Improvement opportunities",
      listed(medium.opportunities, LISTED, ({ task, basis, missing }) => [
        `  task ${task} (${basis})`,
        ...missing.map((one) => `    ${oneLine(one, 140)}`),
      ]),
    ),
    ...caseLines("Edge cases", medium.edge),
    ...section("Low: failure modes", ruleRows(low.failureModes, "broken in")),
    low.unexplained !== 0 &&
      `  ${counted(low.unexplained, "trace")} ${low.unexplained === 1 ? "breaks" : "break"} no rule.`,
    ...caseLines("Bug reproductions", low.bugs),
    ...section("Targeted evals", low.targeted.length === 0 ? [] : [`  ${low.targeted.join(", ")}`]),
    ...section(
      "Traces without a case",
      Object.entries(withoutCase).map(([reason, traces]) => `  ${count(traces)}: ${reason}`),
    ),
    ...section(
      "Saved",
      evals.map(({ stored: { definition, status }, isNew }) => {
        const label = evalLabel(definition);
        const next =
          definition.kind === "cases"
            ? commandLine`art-e evals use ${label}`
            : `${commandLine`art-e evals test ${label}`}${modeFlag(criterion)}`;
        return `  ${label}${isNew ? "" : ` (already exists: ${status})`}   next: ${next}`;
      }),
    ),
  ]).join("\n");
}

/** Labels decide before the score. */
function basisText(labeled: number, scorer: string | null): string {
  if (labeled === 0) return scorer ?? "no score";
  const labels = counted(labeled, "label");
  return scorer === null ? labels : `${labels}, otherwise ${scorer}`;
}

/** Returns a titled section, or nothing if it is empty. */
function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", title, ...lines];
}

function ruleRows(rules: readonly RuleCount[], heading: string): string[] {
  if (rules.length === 0) return [];
  return table(
    ["rule", heading, "sentence"],
    rules.map(({ name, traces, applies, sentence }) => [name, `${traces} of ${applies}`, sentence]),
  ).split("\n");
}

function caseLines(title: string, cases: readonly RegressionCase[]): string[] {
  const lines = listed(cases, LISTED, ({ task, must_contain: terms, from }) => {
    if (from === undefined) return [];
    const matches = terms.length - from.missing.length;
    return [
      `  task ${task}: ${oneLine(from.question, 140)}`,
      `    gold: ${oneLine(from.gold, 140)}`,
      `    answer: ${oneLine(from.answer ?? "(none)", 140)}`,
      terms.length === 0
        ? "    must cite a gold email"
        : `    key terms found: ${matches}/${terms.length}${from.missing.length === 0 ? "" : `, missing: ${from.missing.join(", ")}`}`,
    ];
  });
  return section(title, lines);
}
