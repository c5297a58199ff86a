// Failure modes and what each one needs, as terminal text.
import type { ModeAdvice } from "../error-analysis/advise-modes.js";
import type { NoteCount } from "../error-analysis/coding.js";
import type { Taxonomy } from "../error-analysis/modes.js";
import { criterionFlag } from "../evals/criteria.js";
import { commandLine } from "../platform/command-line.js";
import { share, table } from "../text/format.js";
import { evalLabel } from "./eval-text.js";
import { counted, estimateText, oneLine } from "./figure-text.js";

/** Maximum number of listed notes. --json lists all. */
const LISTED = 20;

/** If this many traces gave no new mode, a further one likely occurs in less than 3 / 40 of the traces. */
const SATURATED = 40;

export function taxonomyText({ coded, nothingWrong, sinceNewMode, ungrouped, modes }: Taxonomy): string {
  if (coded === 0) return `No coded traces. Start: ${commandLine`art-e evals code`}`;
  const rates = modes.map(({ rate }) => rate.value ?? 0);
  return [
    `${counted(coded, "coded trace")}, ${nothingWrong} with nothing wrong`,
    ...(modes.length > 0 && sinceNewMode >= SATURATED
      ? [`The last ${sinceNewMode} traces gave no new mode, so a further pass likely finds only rare ones.`]
      : []),
    ...(modes.length === 0
      ? []
      : [
          "",
          table(
            ["failure mode", "traces", "rate (95%)", "", "fix", "notes"],
            modes.map(({ name, traces, rate, fix, notes }) => [
              name,
              String(traces),
              estimateText(rate),
              barText(rate.value ?? 0, Math.max(...rates)),
              fix,
              oneLine(notes.map(({ note }) => note).join("; "), 60),
            ]),
          ),
        ]),
    ...(ungrouped.length === 0
      ? []
      : [
          "",
          `Notes without a failure mode. Their traces do not have labels yet:`,
          ...noteLines(ungrouped),
          "",
          `Next: ${commandLine`art-e modes assign MODE ${"part of a note"}`}`,
        ]),
    ...(ungrouped.length === 0 && modes.length > 0
      ? ["", `Every coded trace has a label for every mode. Next: ${commandLine`art-e evals suggest --modes`}`]
      : []),
  ].join("\n");
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

/** `coded`: number of coded traces. */
export function adviceText(advice: readonly ModeAdvice[], coded: number): string {
  return advice.flatMap((one, i) => [...(i === 0 ? [] : [""]), ...adviceLines(one, coded)]).join("\n");
}

function adviceLines(advice: ModeAdvice, coded: number): string[] {
  const { name, traces, rate } = advice.mode;
  const flag = criterionFlag(name);
  const head = `${name}: ${counted(traces, "trace")}, rate ${estimateText(rate)}`;
  if (advice.kind === "prompt") {
    const why =
      advice.reason === "marked"
        ? "It is marked as a fix in the prompt."
        : "It occurs in most traces, so the prompt likely does not ask for it.";
    return [head, `  Needs a fix in the prompt. ${why}`];
  }
  if (advice.kind === "labels") {
    return [
      head,
      `  Needs more labels. ${advice.why}`,
      `  Next: extend the pass: ${commandLine`art-e evals code --limit ${coded + 50}`}`,
    ];
  }
  if (advice.kind === "rubric") {
    const sentence = advice.mode.sentence ?? null;
    return [
      head,
      "  Needs a rubric: no template detects it.",
      ...(sentence === null
        ? [`  Describe it: ${commandLine`art-e modes describe ${name} --sentence ${"What a good trace does."}`}`]
        : []),
      `  Next: ${commandLine`art-e evals add ${name} --rubric MODEL`}${flag}`,
    ];
  }
  return [
    head,
    "  Has a template.",
    ...(advice.unconfirmed === 0
      ? []
      : [
          `  Before the test, look again at its ${counted(advice.unconfirmed, "trace")}, because one wrong note can reject a right eval: ${commandLine`art-e evals label`}${flag} --confirm`,
        ]),
    ...advice.templates.flatMap(({ precision, recall, isOneOfSeveral, ...template }) => [
      `  ${evalLabel(template)}: precision ${share(precision)}, recall ${share(recall)}   next: ${commandLine`art-e evals test ${evalLabel(template)}`}${flag}`,
      ...(isOneOfSeveral ? [`    ${SEVERAL}`] : []),
    ]),
  ];
}

/** Said about a template with high precision and low recall. */
export const SEVERAL = "It finds one of several modes: nearly all of its failures are right, but most bad traces pass.";
