// Rules that describe what good and bad traces have in common. Some use the gold answer, so that a report about scored
// traces can name what an answer lacks. The evals made from traces never see these.
import { openMailLookup } from "../mail/mail-lookup.js";
import { UserError } from "../platform/errors.js";
import { SCORES } from "../scoring/scorers.js";
import type { Db } from "../store/open-store.js";
import type { Trace } from "../traces/trace.js";
import { featureOf, type VisibleTrace, viewOf } from "./features.js";
import { containsTerm, hasGold, isMissed, keyTermsOf, namesOneOf } from "./run-evals/run-rules.js";
import { conditionOf, TEMPLATES } from "./templates.js";

export interface BandRule {
  /** The name of a template, or of a rule that uses the gold answer. */
  readonly name: string;
  /** A sentence about a good trace. */
  readonly sentence: string;
  /** Whether an eval can check the rule without a gold answer. */
  readonly isTemplate: boolean;
  /** Null if the rule does not apply to the trace. */
  check(trace: Trace, view: VisibleTrace): RuleResult | null;
}

interface RuleResult {
  readonly holds: boolean;
  /** What is missing or wrong, in one phrase. Empty if nothing more is known. */
  readonly detail: string;
}

/** All rules, those that use the gold answer first. */
export const BAND_RULES: readonly BandRule[] = [
  goldEmailRule("gold_found", "A tool returned a gold email.", ({ listed, opened }) => idsOf([...listed, ...opened])),
  goldEmailRule("gold_opened", "The agent opened a gold email.", ({ opened }) => idsOf(opened)),
  goldEmailRule("gold_cited", "The answer cites a gold email.", ({ sources }) => sources),
  termRule("gold_numbers", "The answer contains the numbers and dates of the gold answer.", (term) => /\d/.test(term)),
  termRule("gold_words", "The answer contains the key words of the gold answer.", (term) => !/\d/.test(term)),
  {
    name: "half_of_terms",
    sentence: "The answer contains at least half of the gold answer's key terms.",
    isTemplate: false,
    check(trace) {
      const terms = hasGold(trace) ? keyTermsOf(trace.task.answer) : [];
      if (terms.length < 2) return null;
      const foundCount = terms.filter((term) => containsTerm(trace.answer ?? "", term)).length;
      return { holds: foundCount * 2 >= terms.length, detail: `${foundCount} of ${terms.length} key terms` };
    },
  },
  ...TEMPLATES.flatMap((template): BandRule[] => {
    // A threshold needs labels, so templates without a fixed bound do not distinguish single traces.
    if (template.bound === "cut") return [];
    const condition = conditionOf(template, 0);
    const feature = featureOf(template.feature, template.name);
    return [
      {
        name: template.name,
        sentence: template.criterion,
        isTemplate: true,
        check(_, view) {
          const measured = feature.of(view);
          return measured.value === null
            ? null
            : { holds: !isMissed(condition, measured), detail: measured.detail ?? "" };
        },
      },
    ];
  }),
];

/**
 * Returns a function that adds the Message-IDs of copies to a question's gold emails. Scores count a copy as the same
 * email, so the rules and the cases of a trace must do so, too.
 */
export function addGoldCopies(db: Db): <T extends Trace>(trace: T) => T {
  const mails = openMailLookup(db);
  return (trace) => {
    if (trace.kind !== "question") return trace;
    const message_ids = [...new Set(trace.task.message_ids.flatMap((id) => mails.copies(id)))];
    return { ...trace, task: { ...trace.task, message_ids } };
  };
}

/** Returns what a trace lacks: one phrase per rule that it breaks. */
export function missingFrom(trace: Trace): string[] {
  const view = viewOf(trace);
  return BAND_RULES.flatMap((rule) => {
    const result = rule.check(trace, view);
    return result === null || result.holds ? [] : [brokenText(rule, result.detail)];
  });
}

/** `not met: The answer cites a gold email (<1@example>)` */
export function brokenText({ sentence }: BandRule, detail: string): string {
  return `not met: ${sentence.replace(/\.$/, "")}${detail === "" ? "" : ` (${detail})`}`;
}

/** Throws a UserError for a score whose low values are good. Such a score has no bands. */
export function requireHigherIsBetter(where: string, scorer: string): void {
  if (SCORES[scorer]?.better !== "lower") return;
  throw new UserError(
    "flags_contradict",
    `${where}: expected a score for which higher is better, but for ${scorer} lower is better.`,
    "Choose another score with --by.",
  );
}

function goldEmailRule(name: string, sentence: string, idsIn: (view: VisibleTrace) => readonly string[]): BandRule {
  return {
    name,
    sentence,
    isTemplate: false,
    check(trace, view) {
      if (!hasGold(trace) || trace.task.message_ids.length === 0) return null;
      const gold = trace.task.message_ids;
      const holds = namesOneOf(gold, idsIn(view));
      return { holds, detail: holds ? "" : `gold: ${gold.slice(0, 3).join(", ")}` };
    },
  };
}

function termRule(name: string, sentence: string, isOfRule: (term: string) => boolean): BandRule {
  return {
    name,
    sentence,
    isTemplate: false,
    check(trace) {
      const terms = hasGold(trace) ? keyTermsOf(trace.task.answer).filter(isOfRule) : [];
      if (terms.length === 0) return null;
      const missing = terms.filter((term) => !containsTerm(trace.answer ?? "", term));
      return { holds: missing.length === 0, detail: missing.length === 0 ? "" : `missing: ${missing.join(", ")}` };
    },
  };
}

function idsOf(mails: readonly { readonly message_id: string }[]): string[] {
  return mails.map(({ message_id: id }) => id);
}
