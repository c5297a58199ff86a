import type { Condition, EvalDraft } from "./definition.js";

/** An eval that is right by construction. Labels only decide whether it is wanted, and where its cut lies. */
export interface EvalTemplate {
  readonly name: string;
  /** One failure mode, as a sentence about a good trace. */
  readonly criterion: string;
  readonly feature: string;
  /** `cut`: at most a value that labels set. */
  readonly bound: { readonly at_least: number } | { readonly at_most: number } | "cut";
}

/** In the order in which equals are preferred. */
export const TEMPLATES: readonly EvalTemplate[] = [
  {
    name: "numbers_from_mail",
    criterion: "Every number of the answer stands in a mail that was read.",
    feature: "numbers_in_mail",
    bound: { at_least: 1 },
  },
  {
    name: "numbers_from_tools",
    criterion: "Every number of the answer stands in the result of a tool.",
    feature: "numbers_in_results",
    bound: { at_least: 1 },
  },
  {
    name: "sources_exist",
    criterion: "Every source was returned by a tool.",
    feature: "sources_returned",
    bound: { at_least: 1 },
  },
  {
    name: "sources_were_read",
    criterion: "Every source was opened before it was cited.",
    feature: "sources_read",
    bound: { at_least: 1 },
  },
  { name: "has_source", criterion: "The answer names a source.", feature: "sources", bound: { at_least: 1 } },
  {
    name: "newest_of_thread",
    criterion: "No tool returned a newer mail with the subject of a source.",
    feature: "newer_in_thread",
    bound: { at_most: 0 },
  },
  {
    name: "mails_before_cutoff",
    criterion: "No mail that was opened or cited is newer than the day of the question.",
    feature: "mails_after_cutoff",
    bound: { at_most: 0 },
  },
  {
    name: "own_mailbox",
    criterion: "Every tool call that names a mailbox names that of the question.",
    feature: "other_mailbox_calls",
    bound: { at_most: 0 },
  },
  {
    name: "addresses_from_tools",
    criterion: "Every e-mail address of the answer stands in the question or in the result of a tool.",
    feature: "addresses_in_results",
    bound: { at_least: 1 },
  },
  {
    name: "answer_complete",
    criterion: "The last reply was not cut off by the limit of tokens.",
    feature: "answer_complete",
    bound: { at_least: 1 },
  },
  {
    name: "comes_to_an_end",
    criterion: "The agent ends with an answer or an abstention.",
    feature: "ended",
    bound: { at_least: 1 },
  },
  {
    name: "date_where_asked",
    criterion: "An answer to a question that asks when names a date, a day or a time.",
    feature: "date_given",
    bound: { at_least: 1 },
  },
  {
    name: "number_where_asked",
    criterion: "An answer to a question that asks how many or how much has a number.",
    feature: "number_given",
    bound: { at_least: 1 },
  },
  {
    name: "abstains_only_on_nothing",
    criterion: "The agent says it does not know only where no search returned a mail.",
    feature: "mails_listed_before_abstaining",
    bound: { at_most: 0 },
  },
  {
    name: "no_repeated_call",
    criterion: "No tool is called again with the same arguments.",
    feature: "repeated_calls",
    bound: { at_most: 0 },
  },
  {
    name: "calls_parsable",
    criterion: "Every tool call has arguments that can be parsed.",
    feature: "unparsable_calls",
    bound: { at_most: 0 },
  },
  { name: "few_failed_calls", criterion: "Few tool calls fail.", feature: "failed_calls", bound: "cut" },
  { name: "few_turns", criterion: "The agent needs few turns.", feature: "turns", bound: "cut" },
  { name: "low_cost", criterion: "The model calls cost little.", feature: "cost_usd", bound: "cut" },
  { name: "low_latency", criterion: "The agent is quick.", feature: "seconds", bound: "cut" },
  { name: "short_answer", criterion: "The answer is short.", feature: "answer_words", bound: "cut" },
  {
    name: "writes_files",
    criterion: "Some call writes a file or runs a program.",
    feature: "files_written",
    bound: { at_least: 1 },
  },
  { name: "few_failed_commands", criterion: "Few commands fail.", feature: "commands_failed", bound: "cut" },
  {
    name: "runs_tests",
    criterion: "The agent runs tests before it ends.",
    feature: "tests_run",
    bound: { at_least: 1 },
  },
];

/** The template's condition; `cut` only where its bound is set by labels. */
export function conditionOf({ feature, bound }: EvalTemplate, cut: number): Condition {
  return bound === "cut" ? { feature, at_most: cut } : { feature, ...bound };
}

/** An eval of templates, that demands all of them. */
export function templateEval(
  name: string,
  parts: readonly { readonly template: EvalTemplate; readonly cut: number }[],
  origin: EvalDraft["origin"],
): EvalDraft<"rules"> {
  return {
    name,
    kind: "rules",
    reference: false,
    criterion: parts.map(({ template }) => template.criterion).join(" "),
    pass: { all: parts.map(({ template, cut }) => conditionOf(template, cut)) },
    origin,
  };
}
