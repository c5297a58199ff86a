// Failure modes and what each one needs, as terminal text.
import type { ModeAdvice, TriedTemplate } from "../error-analysis/advise-modes.js";
import type { CodingPass, NoteCount } from "../error-analysis/coding.js";
import type { Taxonomy } from "../error-analysis/modes.js";
import { modeFlag } from "../evals/criteria.js";
import { DEFAULT_MODEL } from "../models/model-names.js";
import { commandLine } from "../platform/command-line.js";
import { compact } from "../platform/optional-values.js";
import type { Estimate } from "../statistics/estimate.js";
import { counted, share, table } from "../text/format.js";
import { evalLabel, otherSourcesText } from "./eval-text.js";
import { estimateText, indented, oneLine } from "./figure-text.js";

/** Maximum number of listed notes. --json lists all. */
const LISTED = 20;

/** If this many traces gave no new mode, a further one likely occurs in less than 3 / 40 of the traces. */
export const SATURATED = 40;

export function taxonomyText(taxonomy: Taxonomy): string {
  const { coded, nothingWrong, sinceNewMode, ungrouped, modes, direct } = taxonomy;
  const rates = modes.map(({ rate }) => rate.value ?? 0);
  return compact([
    coded > 0 && `${counted(coded, "coded trace")}, ${nothingWrong} with nothing wrong`,
    coded > 0 && sinceNewMode >= SATURATED && saturatedText(sinceNewMode),
    ...section(
      modes.length > 0 &&
        table(
          ["mode", "traces", "rate (95%)", "", "fix", "notes"],
          modes.map(({ name, traces, rate, fix, notes }) => [
            name,
            String(traces),
            estimateText(rate),
            barText(rate.value ?? 0, Math.max(...rates)),
            fix,
            oneLine(notes.map(({ note }) => note).join("; "), 60),
          ]),
        ),
    ),
    ...section(
      direct.length > 0 &&
        table(
          ["mode without notes", "labeled traces", "a good trace"],
          direct.map(({ name, labeled, sentence }) => [name, String(labeled), sentence ?? "-"]),
        ),
    ),
    ...section(
      ungrouped.length > 0 &&
        ["Notes without a mode. Their traces do not have labels yet:", ...noteLines(ungrouped)].join("\n"),
    ),
    "",
    ...nextAfterCoding(taxonomy),
  ])
    .join("\n")
    .replace(/^\n/, "");
}

/** Returns a blank line and the text, or nothing. */
function section(text: string | false): string[] {
  return text === false ? [] : ["", text];
}

/** Said when a further pass likely finds only rare modes. */
export function saturatedText(traces: number): string {
  return `The last ${traces} traces gave no new mode, so a further pass likely finds only rare ones.`;
}

/** Returns the next command: for the most frequent note without a mode, otherwise for the labels of the modes. */
export function nextAfterCoding({ ungrouped: [note], modes, direct, unconfirmed, pass }: Taxonomy): string[] {
  const again = unconfirmed === 0 ? null : commandLine`art-e evals label ${pass?.runId ?? "--chats"} --confirm`;
  if (note !== undefined) {
    return [`Next: ${commandLine`art-e evals modes assign ${modeNameFor(note.note)} ${note.note}`}`];
  }
  if (again !== null)
    return [`Next, look again at the traces of each mode, because one wrong note counts much: ${again}`];
  if (modes.length + direct.length > 0) return [`Next: ${commandLine`art-e evals suggest`}`];
  return [
    pass === null ? `No coded traces. Next: ${commandLine`art-e evals code`}` : "Nothing is wrong in any of them.",
  ];
}

/** Returns a valid name from the words of a note, such as `wrong_year`. */
function modeNameFor(note: string): string {
  const words = note
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+/, "");
  return words.slice(0, 40).replace(/_+$/, "") || "mode";
}

export function noteLines(notes: readonly NoteCount[]): string[] {
  const more = notes.length - LISTED;
  return [
    ...notes.slice(0, LISTED).map(({ note, traces }) => `  ${String(traces).padStart(3)}  ${oneLine(note, 140)}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

const BAR_WIDTH = 24;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Draws a bar whose full width is the largest rate. */
function barText(value: number, largest: number): string {
  const eighths = largest === 0 ? 0 : Math.round((value / largest) * BAR_WIDTH * 8);
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}

/** @param pass the newest coding pass @param verbose whether to explain the choice of templates */
export function adviceText(advice: readonly ModeAdvice[], pass: CodingPass | null, verbose: boolean): string {
  const hasDrafts = advice.some(({ kind }) => kind === "template");
  return compact([
    ...advice.flatMap((one, i) => [...(i === 0 ? [] : [""]), ...adviceLines(one, pass, verbose)]),
    hasDrafts && "",
    hasDrafts && `Next: ${commandLine`art-e evals test`}`,
  ]).join("\n");
}

function adviceLines(advice: ModeAdvice, pass: CodingPass | null, verbose: boolean): string[] {
  const { name, traces, rate } = advice.mode;
  const [first = "", ...others] = adviceSentences(advice, pass).map((sentence) => `  ${sentence}`);
  const templates = "templates" in advice ? advice.templates : [];
  const chosen = chosenTemplates(templates);
  return [
    headLine(name, traces, rate),
    first,
    ...(chosen.length > 0 ? indented(templateTable(chosen, verbose)) : []),
    ...others,
    ...(verbose && templates.length > 0 ? ["  Not chosen:", ...rejectedLines(templates)] : []),
  ];
}

/** What a mode needs and why, without the table of the chosen templates. */
export function adviceSentences(advice: ModeAdvice, pass: CodingPass | null): string[] {
  const { name, rate, sentence } = advice.mode;
  if (advice.kind === "prompt") {
    const why =
      advice.reason === "marked"
        ? "It is marked as a fix in the prompt."
        : "It occurs in most traces, so the prompt likely does not ask for it.";
    return [`Needs a fix in the prompt. ${why}`];
  }
  if (advice.kind === "labels") {
    const more =
      rate.value === null || pass === null
        ? advice.hint
        : `Extend the pass: ${commandLine`art-e evals code ${pass.runId ?? "--chats"} --limit ${pass.coded + 50}`}`;
    return [`Needs more labels. ${advice.why}`, more];
  }
  const { good, bad, sources = {}, templates } = advice;
  const chosen = chosenTemplates(templates);
  return [
    `${good} good and ${bad} bad traces were read${otherSourcesText(sources)}.`,
    ...(chosen.length > 0 ? [] : rubricSentences(name, sentence)),
    ...chosen.filter(({ isOneOfSeveral }) => isOneOfSeveral).map((one) => `${one.name}: ${SEVERAL}`),
  ];
}

export function chosenTemplates(templates: readonly TriedTemplate[]): TriedTemplate[] {
  return templates.filter(({ rejection }) => rejection === null);
}

function headLine(name: string, traces: number, rate: Estimate): string {
  return rate.value === null ? name : `${name}: ${counted(traces, "trace")}, rate ${estimateText(rate)}`;
}

function rubricSentences(mode: string, sentence: string | null): string[] {
  const describe = commandLine`art-e evals modes describe ${mode} --sentence ${"What a good trace does."}`;
  return compact([
    "Needs a rubric, because no template separates good from bad traces.",
    sentence === null && `Describe it: ${describe}`,
    `Then add it: ${commandLine`art-e evals add ${mode} --rubric ${DEFAULT_MODEL}`}${modeFlag(mode)}`,
  ]);
}

/** The rates are cross-validated on the labels that the choice is based on. */
function templateTable(chosen: readonly TriedTemplate[], verbose: boolean): string {
  return table(
    ["eval", "TPR", "TNR", "false failure rate", "fails if", ...(verbose ? ["alignment", "chance"] : [])],
    chosen.map(({ name, version, template, cut, chance, alignment }) => [
      evalLabel({ name, version: version ?? 1 }),
      share(1 - alignment.falseFailureRate),
      share(alignment.trueNegativeRate),
      share(alignment.falseFailureRate),
      failureText(template, cut ?? 0),
      ...(verbose ? [share(alignment.alignment), share(chance)] : []),
    ]),
  );
}

/** The condition under which a template's eval fails, such as `turns > 12`. */
export function failureText({ feature, bound }: TriedTemplate["template"], cut: number): string {
  if (bound === "cut") return `${feature} > ${cut}`;
  return "at_least" in bound ? `${feature} < ${bound.at_least}` : `${feature} > ${bound.at_most}`;
}

/** Returns one line per rejection reason, with the names of the rejected templates. */
function rejectedLines(templates: readonly TriedTemplate[]): string[] {
  const reasons = new Set(templates.flatMap(({ rejection }) => rejection ?? []));
  return [...reasons].map((reason) => {
    const names = templates.filter(({ rejection }) => rejection === reason).map(({ name }) => name);
    return `    ${reason}: ${names.join(", ")}`;
  });
}

/** Said about a template that fails few traces, nearly all of them bad. */
const SEVERAL = "It finds one of several modes: nearly all of its failures are right, but most bad traces pass.";
