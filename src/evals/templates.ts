// Built-in evals with a fixed feature and bound. Labels only determine whether they are used and what their thresholds
// are.
import type { Condition, EvalDraft } from "./definition.js";

/** An eval that is right by construction. Labels only determine whether it is used and what its threshold is. */
export interface EvalTemplate {
  readonly name: string;
  /** The failure mode, described as a sentence about a good trace. */
  readonly criterion: string;
  readonly feature: string;
  /** `cut` means at most a threshold that the labels set. */
  readonly bound: { readonly at_least: number } | { readonly at_most: number } | "cut";
}

/** The built-in templates. Of equally good ones, the first is preferred. */
export const TEMPLATES: readonly EvalTemplate[] = [
  {
    name: "numbers_from_mail",
    criterion: "Every number in the answer appears in an opened email.",
    feature: "numbers_in_mail",
    bound: { at_least: 1 },
  },
  {
    name: "numbers_from_tools",
    criterion: "Every number in the answer appears in a tool result.",
    feature: "numbers_in_results",
    bound: { at_least: 1 },
  },
  {
    name: "sources_exist",
    criterion: "A tool returned every source.",
    feature: "sources_returned",
    bound: { at_least: 1 },
  },
  {
    name: "sources_were_read",
    criterion: "The agent opened every source that it cites.",
    feature: "sources_read",
    bound: { at_least: 1 },
  },
  { name: "has_source", criterion: "The answer cites a source.", feature: "sources", bound: { at_least: 1 } },
  {
    name: "newest_of_thread",
    criterion: "No tool returned an email with a source's subject that is newer than the sources.",
    feature: "newer_in_thread",
    bound: { at_most: 0 },
  },
  {
    name: "mails_before_cutoff",
    criterion: "No opened or cited email is newer than the question's date.",
    feature: "mails_after_cutoff",
    bound: { at_most: 0 },
  },
  {
    name: "own_mailbox",
    criterion: "Every tool call with a mailbox uses the question's mailbox.",
    feature: "other_mailbox_calls",
    bound: { at_most: 0 },
  },
  {
    name: "addresses_from_tools",
    criterion: "Every email address in the answer appears in the question or in a tool result.",
    feature: "addresses_in_results",
    bound: { at_least: 1 },
  },
  {
    name: "answer_complete",
    criterion: "The last reply was not truncated at the token limit.",
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
    criterion: "An answer to a question that asks when contains a date, a day or a time.",
    feature: "date_given",
    bound: { at_least: 1 },
  },
  {
    name: "number_where_asked",
    criterion: "An answer to a question that asks how many or how much contains a number.",
    feature: "number_given",
    bound: { at_least: 1 },
  },
  {
    name: "abstains_after_reading",
    criterion: "The agent abstains only after it opened an email, or if its searches returned none.",
    feature: "gave_up_unread",
    bound: { at_most: 0 },
  },
  {
    name: "no_repeated_call",
    criterion: "No tool call is repeated with the same arguments.",
    feature: "repeated_calls",
    bound: { at_most: 0 },
  },
  {
    name: "calls_parsable",
    criterion: "Every tool call has parsable arguments.",
    feature: "unparsable_calls",
    bound: { at_most: 0 },
  },
  { name: "few_failed_calls", criterion: "Few tool calls fail.", feature: "failed_calls", bound: "cut" },
  { name: "few_turns", criterion: "The agent needs few turns.", feature: "turns", bound: "cut" },
  { name: "low_cost", criterion: "The model calls cost little.", feature: "cost_usd", bound: "cut" },
  { name: "low_latency", criterion: "The agent is fast.", feature: "seconds", bound: "cut" },
  { name: "short_answer", criterion: "The answer is short.", feature: "answer_words", bound: "cut" },
  {
    name: "writes_files",
    criterion: "At least one tool call writes a file or runs a program.",
    feature: "files_written",
    bound: { at_least: 1 },
  },
  { name: "few_failed_commands", criterion: "Few commands fail.", feature: "commands_failed", bound: "cut" },
  {
    name: "runs_tests",
    criterion: "The agent runs tests before it finishes.",
    feature: "tests_run",
    bound: { at_least: 1 },
  },
];

/** Returns the template's condition. `threshold` matters only for templates with a threshold set by labels. */
export function conditionOf({ feature, bound }: EvalTemplate, threshold: number): Condition {
  return bound === "cut" ? { feature, at_most: threshold } : { feature, ...bound };
}

/** Returns a template as an eval with one condition. */
export function templateEval(
  template: EvalTemplate,
  threshold: number,
  origin: EvalDraft["origin"],
): EvalDraft<"rules"> {
  const { name, criterion } = template;
  return {
    name,
    kind: "rules",
    reference: false,
    criterion,
    pass: { all: [conditionOf(template, threshold)] },
    origin,
  };
}
