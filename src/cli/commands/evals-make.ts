import { createInterface } from "node:readline";
import { z } from "zod";
import type { Candidate } from "../../evals/choose-templates.js";
import { type EvaluatedTrace, evalNameSchema } from "../../evals/definition.js";
import type { GeneratedVariation, Generation } from "../../evals/generate.js";
import type { Labelling, TraceToLabel } from "../../evals/labelling.js";
import type { EvalLabel, LabelSummary } from "../../evals/labels.js";
import type { Suggestion } from "../../evals/suggest.js";
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { stripControls } from "../../platform/text.js";
import { estimateText, oneLine } from "../../reports/text.js";
import { traceText } from "../../reports/trace-text.js";
import { share, table, usd } from "../../text/format.js";
import { askedOf, isChatTrace, isSuiteTrace } from "../../traces/trace.js";
import type { CommandContext } from "../command.js";
import { defineCommand, numberAbove, price, text, wholeNumber } from "../read-flags.js";
import { criterionShape, seedShape } from "./evals.js";

export const suggestEvalsCommand = defineCommand(
  "evals suggest",
  z.object({
    name: evalNameSchema
      .default("suggested")
      .meta({ description: "Name of the eval of all chosen conditions together" }),
    cases: z
      .boolean()
      .default(false)
      .meta({ description: "Make regression cases too, of good answers to questions with gold" }),
    ...criterionShape,
    ...seedShape,
  }),
  async (flags, { settings, out }) => {
    const { suggestEvals } = await import("../../evals/suggest.js");
    const suggestion = await suggestEvals(flags, settings);
    const { candidates, ...rest } = suggestion;
    const listed = candidates.map(({ measured: { template }, ...candidate }) => ({ ...template, ...candidate }));
    out.result({ ...rest, candidates: listed }, () => suggestionText(suggestion));
  },
);

function suggestionText({ good, bad, candidates, together, evals }: Suggestion): string {
  const chosen = candidates.filter(({ rejection }) => rejection === null);
  const tried = candidates.filter(({ rejection }) => rejection !== null);
  return [
    `Training half: ${good} good, ${bad} bad. Figures are by cross-validation in it.`,
    ...(chosen.length === 0
      ? ["", "No template tells good from bad here better than chance."]
      : ["", chosenTable(chosen)]),
    ...(chosen.length < 2
      ? []
      : [
          "",
          `Together: alignment ${share(together.alignment)}, coverage ${share(together.coverage)}, false failures ${share(together.falseFailures)}`,
        ]),
    "",
    "Not chosen:",
    ...tried.map(({ measured: { template }, rejection }) => `  ${template.name}: ${rejection}`),
    ...(evals.length === 0 ? [] : ["", "Saved:", ...evals.map(savedLine)]),
  ].join("\n");
}

function chosenTable(chosen: readonly Candidate[]): string {
  return table(
    ["eval", "alignment", "coverage", "false failures", "chance", "fails where"],
    chosen.map(({ measured: { template }, alignment, chance, cut }) => [
      template.name,
      share(alignment.alignment),
      share(alignment.coverage),
      share(alignment.falseFailures),
      share(chance),
      template.bound === "cut"
        ? `${template.feature} > ${cut}`
        : "at_least" in template.bound
          ? `${template.feature} < ${template.bound.at_least}`
          : `${template.feature} > ${template.bound.at_most}`,
    ]),
  );
}

function savedLine({ stored: { definition, status }, isNew }: Suggestion["evals"][number]): string {
  const label = `${definition.name}@${definition.version}`;
  const next =
    definition.kind === "cases" ? commandLine`art-e evals use ${label}` : commandLine`art-e evals test ${label}`;
  return `  ${label}${isNew ? "" : ` (was there: ${status})`}   next: ${next}`;
}

export const labelTracesCommand = defineCommand(
  "evals label [run]",
  z.object({
    run: text.optional().meta({ description: "A run: its id, the beginning of it, or latest [default: latest]" }),
    from: text
      .optional()
      .meta({ description: "Label by feedback, judge, scores, or a file of JSON lines, instead of asking" }),
    score: text.optional().meta({
      description:
        "With --from scores: above 0.8 is good, below 0.5 bad [default: judgeCorrect, exactMatch without a judge, of suites taskScore]",
    }),
    chats: z.boolean().default(false).meta({ description: "Label chats instead of a run" }),
    hard: z
      .boolean()
      .default(false)
      .meta({ description: "Ask hard cases, which count in no figure, instead of a random sample" }),
    ...criterionShape,
    ...seedShape,
  }),
  async (flags, context) => {
    const { from, run, chats, hard, score, criterion } = flags;
    if (score !== undefined && from !== "scores") {
      throw new UserError("flags_contradict", "--score goes with --from scores.", "Give both, or neither.");
    }
    if (chats && (run !== undefined || from !== undefined)) {
      throw new UserError("flags_contradict", "--chats goes with neither a run nor --from.", "Give one of them.");
    }
    if (hard && from !== undefined) {
      throw new UserError("flags_contradict", "--hard does not go with --from.", "Give one of them.");
    }
    const { importLabels } = await import("../../evals/import-labels.js");
    if (from !== undefined) {
      const imported = await importLabels({ ...flags, from }, context.settings);
      const { labels, unlabelled, score: by } = imported;
      context.out.result(imported, () => `${by === undefined ? "" : `By ${by}: `}${countsText(labels, unlabelled)}`);
      return;
    }
    const { withStore } = await import("../../store/open-store.js");
    const { openLabelling } = await import("../../evals/labelling.js");
    await withStore(context.settings, async (db) => {
      const options = { run: chats ? null : (run ?? "latest"), criterion, seed: flags.seed, hard: flags.hard };
      const labelling = await openLabelling(db, options);
      context.out.note(`On a page: ${commandLine`art-e serve`}, then Label, or /#label/${labelling.runId ?? "chats"}.`);
      const labelled = await askLabels(labelling, context);
      printSummary(labelled, labelling.summary(), context);
    });
  },
);

function printSummary(labelled: number, summary: LabelSummary, { out }: CommandContext): void {
  const { labels, selfAgreement } = summary;
  out.result({ labelled, ...summary }, () =>
    [
      `Labelled ${labelled}. In all: ${countsText(labels, 0)}`,
      ...(selfAgreement.n === 0
        ? []
        : [`Self-agreement over ${selfAgreement.n} asked again: ${estimateText(selfAgreement)}`]),
    ].join("\n"),
  );
}

function countsText(labels: LabelSummary["labels"], unlabelled: number): string {
  const { good, bad, neutral, skip } = labels;
  return [
    `${good} good, ${bad} bad`,
    ...(neutral + skip === 0 ? [] : [`left out: ${neutral} neutral, ${skip} skipped`]),
    ...(unlabelled === 0 ? [] : [`without a label: ${unlabelled}`]),
  ].join("; ");
}

export const generateEvalsCommand = defineCommand(
  "evals generate",
  z.object({
    model: text.meta({ description: "The model that writes, as provider/name; required" }),
    price: price.optional().meta({ description: "IN,OUT[,CACHED]: US dollars for a million tokens" }),
    maxCost: numberAbove(0, 10_000)
      .default(1)
      .meta({ description: "Make no call that could bring the cost above so many US dollars" }),
    name: evalNameSchema
      .optional()
      .meta({ description: "What the names begin with [default: the criterion, or generated]" }),
    rounds: wholeNumber(0, 3)
      .default(3)
      .meta({ description: "Rewrite each eval so often by what contradicts it, up to 3" }),
    ...criterionShape,
    ...seedShape,
  }),
  async (flags, context) => {
    const { generateEvals } = await import("../../evals/generate.js");
    const generation = await generateEvals(flags, context);
    const { variations, ...rest } = generation;
    context.out.result({ ...rest, variations: variations.map(toJson) }, () => generationText(generation));
  },
);

function toJson({ variation, best, rounds, ended, rejection, saved }: GeneratedVariation) {
  const { alignment, coverage, falseFailures, failedOn } = best?.measured ?? {};
  return {
    variation,
    name: saved?.stored.definition.name ?? null,
    version: saved?.stored.definition.version ?? null,
    kind: best?.draft.kind ?? null,
    criterion: best?.draft.criterion ?? null,
    alignment,
    coverage,
    falseFailures,
    failedOn,
    rounds,
    ended,
    rejection,
  };
}

function generationText({ good, bad, criteria, variations, calls, spentUsd }: Generation): string {
  const saved = variations.flatMap((one) =>
    one.saved === null || one.best === null ? [] : [{ ...one, stored: one.saved.stored, best: one.best }],
  );
  return [
    `Training half: ${good} good, ${bad} bad. The figures below are on these labels, which the model saw: no proof.`,
    "",
    "Criteria:",
    ...criteria.map((criterion) => `  ${oneLine(criterion, 200)}`),
    ...(saved.length === 0 ? ["", "Nothing is saved."] : ["", savedTable(saved)]),
    ...(saved.length === variations.length ? [] : ["", "Not saved:"]),
    ...variations.flatMap(({ variation, rejection }) =>
      rejection === null ? [] : [`  ${variation}: ${oneLine(rejection, 200)}`],
    ),
    "",
    `${calls} ${calls === 1 ? "call" : "calls"}, ${usd(spentUsd)}.`,
    ...saved
      .slice(0, 1)
      .map(({ stored: { definition } }) => `Next: ${commandLine`art-e evals test ${definition.name}`}`),
  ].join("\n");
}

type SavedVariation = Pick<GeneratedVariation, "rounds" | "ended"> & {
  readonly stored: NonNullable<GeneratedVariation["saved"]>["stored"];
  readonly best: NonNullable<GeneratedVariation["best"]>;
};

function savedTable(saved: readonly SavedVariation[]): string {
  return table(
    ["eval", "kind", "alignment", "coverage", "false failures", "versions", "ended"],
    saved.map(({ stored: { definition }, best: { measured }, rounds, ended }) => [
      `${definition.name}@${definition.version}`,
      definition.kind,
      share(measured.alignment),
      share(measured.coverage),
      share(measured.falseFailures),
      String(rounds),
      oneLine(ended, 200),
    ]),
  );
}

const KEYS: Readonly<Record<string, EvalLabel>> = {
  g: "good",
  good: "good",
  b: "bad",
  bad: "bad",
  s: "skip",
  skip: "skip",
};

const PROMPT = "g good, b bad, s skip, each with a reason if you like (b wrong year); t whole trace, q quit > ";

/**
 * Shows one trace after another on stderr and reads labels from stdin, a line each. Each is saved at once. Returns how
 * many were given.
 */
async function askLabels(labelling: Labelling, { signal, out }: CommandContext): Promise<number> {
  if (labelling.waiting === 0) {
    throw new UserError(
      "labels_complete",
      "Every trace has a person's label.",
      "Label another run, or another --criterion.",
    );
  }
  const lines = createInterface({ input: process.stdin, terminal: false });
  const stop = () => lines.close();
  signal.addEventListener("abort", stop, { once: true });
  const replies = lines[Symbol.asyncIterator]();
  let labelled = 0;
  try {
    for (const item of labelling.traces()) {
      const reply = await ask(item, `${labelled + 1}/${labelling.waiting}`, replies, out.note);
      if (reply === null) break;
      labelling.save(item, reply.label, reply.note);
      labelled++;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    lines.close();
  }
  return labelled;
}

interface Reply {
  readonly label: EvalLabel;
  readonly note: string | null;
}

/** Null: enough, or the input has ended. */
async function ask(
  { trace, isRepeat }: TraceToLabel,
  position: string,
  replies: AsyncIterator<string>,
  note: (text: string) => void,
): Promise<Reply | null> {
  note(`\n${position}${isRepeat ? "  asked again" : ""}  ${trace.traceId}\n${summaryOf(trace)}`);
  for (;;) {
    process.stderr.write(PROMPT);
    const { value, done } = await replies.next();
    const line = done === true ? "q" : value.trim();
    const [, key = "", reason = ""] = /^(\S+)\s*(.*)$/s.exec(line) ?? [];
    const label = KEYS[key.toLowerCase()];
    if (label !== undefined) return { label, note: reason === "" ? null : reason };
    if (key === "q" || key === "quit") return null;
    if (key === "t") note(traceText(trace));
    else note(`"${stripControls(line)}" is none of g, b, s, t and q.`);
  }
}

/** What is asked after most: the question, what was answered, and what would have been right. */
function summaryOf(trace: EvaluatedTrace): string {
  const gold = isChatTrace(trace) ? null : isSuiteTrace(trace) ? trace.grade.reason : trace.task.answer;
  return [
    `Question:  ${askedOf(trace)}`,
    `Answer:    ${trace.answer ?? `none (${trace.ending})`}`,
    `Sources:   ${trace.sources.join(", ") || "none"}`,
    ...(gold === null ? [] : [`Gold:      ${gold}`]),
  ].join("\n");
}

/** The labels that count, one a line: of each trace the newest of its best source. */
export const listLabelsCommand = defineCommand(
  "evals labels",
  z.object({ ...criterionShape }),
  async ({ criterion }, { settings, out }) => {
    const { withStore } = await import("../../store/open-store.js");
    const { effectiveLabels } = await import("../../evals/labels.js");
    const labels = await withStore(settings, (db) => effectiveLabels(db, criterion));
    const lines = labels.map(({ traceId, drawn, ...label }) => ({
      trace: traceId,
      ...label,
      ...(drawn === "random" || drawn === "all" ? { drawn } : {}),
    }));
    out.result(lines, () => lines.map((line) => JSON.stringify(line)).join("\n"));
  },
);

export const addTemplateCommand = defineCommand(
  "evals add [template]",
  z.object({
    template: text.optional().meta({ description: "Its name" }),
    atMost: z.number().optional().meta({ description: "The bound of a template that has none of its own" }),
  }),
  async ({ template: name, atMost }, { settings, out }) => {
    const { TEMPLATES } = await import("../../evals/templates.js");
    if (name === undefined) {
      const listed = TEMPLATES.map((one) => ({ name: one.name, bound: one.bound, criterion: one.criterion }));
      out.result(listed, () =>
        table(
          ["template", "needs", "criterion"],
          listed.map((one) => [one.name, one.bound === "cut" ? "--at-most" : "-", one.criterion]),
        ),
      );
      return;
    }
    const { addTemplate } = await import("../../evals/suggest.js");
    const { stored, isNew } = await addTemplate(name, atMost ?? null, settings);
    out.result({ ...stored.definition, status: stored.status, isNew }, () => savedLine({ stored, isNew }).trim());
  },
);
