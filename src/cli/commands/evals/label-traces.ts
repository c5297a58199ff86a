// The command `evals label`: labels traces, and lists, exports and deletes labels.
import { z } from "zod";
import { criterionNameSchema, modeFlag, OVERALL } from "../../../evals/criteria.js";
import type { EvaluatedTrace, LabelSources } from "../../../evals/definition.js";
import type { AnnotatorAgreement, Disagreement, GivenLabel, LabelSummary } from "../../../evals/label-agreement.js";
import type { Labeling, TraceToLabel } from "../../../evals/labeling.js";
import type { EvalLabel, LabelDraw, TraceLabel } from "../../../evals/labels.js";
import { commandLine, flagName } from "../../../platform/command-line.js";
import { UserError } from "../../../platform/errors.js";
import { file, repeated, runName, text, toggle } from "../../../platform/flag-values.js";
import { compact } from "../../../platform/optional-values.js";
import { labelSourcesText } from "../../../reports/eval-text.js";
import { estimateText, oneLine } from "../../../reports/figure-text.js";
import { traceText } from "../../../reports/trace-text.js";
import type { Db } from "../../../store/open-store.js";
import { counted, table } from "../../../text/format.js";
import { askedOf } from "../../../traces/trace.js";
import type { CommandContext } from "../../command.js";
import { contradiction, defineCommand } from "../../flags/define-command.js";
import { seedShape } from "../../flags/eval-flags.js";
import { lineReplies, type Replies, withReplies } from "../../terminal.js";

interface Reply {
  readonly label: EvalLabel;
  readonly note: string | null;
}

const annotatorName = text.max(100, "expected at most 100 characters");

const labelTracesSchema = z.object({
  run: runName.optional().meta({ description: "Run id, the start of an id, a run name, or latest [default: latest]" }),
  from: text
    .optional()
    .meta({ description: "Take labels from feedback, judge, scores, or a JSON Lines file instead of asking" }),
  score: text.optional().meta({
    placeholder: "SCORE",
    description:
      "With --from scores: the score (above 0.8 is good, below 0.5 is bad) [default: the run's headline score, such as judgeCorrect]",
  }),
  chats: toggle.meta({ description: "Label chats instead of a run" }),
  enriched: toggle.meta({
    description: "Draw likely failures more often. All figures weight the labels by the probability of each draw",
  }),
  adjudicate: toggle.meta({
    description:
      "Decide the traces that annotators labeled differently. The decision takes precedence over their labels",
  }),
  confirm: toggle.meta({
    description: "Look again at the traces whose coding notes say that they have the mode [default: all modes]",
  }),
  annotator: annotatorName.optional().meta({
    placeholder: "NAME",
    description: "Name of the annotator. Also shows traces labeled by others, to measure agreement",
  }),
  mode: criterionNameSchema
    .optional()
    .meta({ placeholder: "NAME", description: "Failure mode of the labels [default: overall]" }),
  ...seedShape,
  list: toggle.meta({ description: "List labels with the agreement of annotators, instead of labeling" }),
  disagreements: toggle.meta({ description: "List only the traces that annotators labeled differently" }),
  delete: toggle.meta({ description: "Delete the labels of the traces (--trace) or the annotator" }),
  output: file.optional().meta({ description: "Write the labels to a file that --from accepts", alias: "o" }),
  trace: repeated.default([]).meta({
    placeholder: "TRACE",
    description: "With --list, --disagreements, --delete or --output: only labels of this trace (repeatable)",
  }),
});

type LabelFlags = z.output<typeof labelTracesSchema>;

export const labelTracesCommand = defineCommand(labelTracesSchema, async (flags, context) => {
  const { from, run, chats, enriched, adjudicate, confirm, annotator = null } = flags;
  refuseContradictions(flags);
  if (listsLabels(flags)) return listLabels(flags, context);
  if (from !== undefined) return takeLabels({ ...flags, from }, context);
  const { withStore } = await import("../../../store/open-store.js");
  const { openLabeling } = await import("../../../evals/labeling.js");
  await withStore(context.settings, async (db) => {
    const modes = confirm && flags.mode === undefined ? await modesToConfirm(db) : [flags.mode ?? OVERALL];
    const options = {
      run: chats ? null : (run ?? "latest"),
      seed: flags.seed,
      annotator,
      enriched,
      adjudicate,
      confirm,
    };
    const open = async (criterion: string) => ({
      criterion,
      labeling: await openLabeling(db, { ...options, criterion }),
    });
    const sessions: Session[] = [];
    for (const mode of modes) sessions.push(await open(mode));
    const waiting = sessions.filter(({ labeling }) => labeling.waiting > 0);
    if (waiting.length === 0) throw nothingToLabel({ adjudicate, confirm });
    const { runId } = waiting[0]?.labeling ?? { runId: null };
    if (!adjudicate && !confirm) context.out.note(enriched ? ENRICHED_ORDER : RANDOM_ORDER);
    context.out.note(`On a web page: ${commandLine`art-e serve`}, then Label, or /#label/${runId ?? "chats"}.`);
    const labeled = await askAll(waiting, context);
    if (modes.length === 1) printSummary(labeled.count, waiting, context);
    else printConfirmed(labeled, waiting, context);
  });
});

/** Only one of these flags can say what to do. */
const PURPOSES = ["from", "enriched", "adjudicate", "confirm", "list", "disagreements", "delete"] as const;

function listsLabels({ list, disagreements, output, ...flags }: LabelFlags): boolean {
  return list || disagreements || flags.delete || output !== undefined;
}

function refuseContradictions(flags: LabelFlags): void {
  const { from, run, chats, output, annotator, trace, score } = flags;
  const purposes = PURPOSES.filter((name) => flags[name] !== undefined && flags[name] !== false);
  const hasTraces = chats || run !== undefined;
  const [problem] = compact([
    purposes.length > 1 && `${purposes.map(flagName).join(" and ")} cannot be combined.`,
    chats && (run !== undefined || from !== undefined) && "--chats cannot be combined with a run or --from.",
    hasTraces && listsLabels(flags) && "Labels of all runs and chats are listed, so a run and --chats do not apply.",
    output !== undefined && purposes.some((name) => name !== "list") && "--output can only be combined with --list.",
    annotator !== undefined && flags.disagreements && "--annotator cannot be combined with --disagreements.",
    annotator !== undefined && flags.confirm && "--annotator cannot be combined with --confirm.",
    trace.length > 0 && !listsLabels(flags) && "--trace requires --list, --disagreements, --delete or --output.",
    score !== undefined && from !== "scores" && "--score requires --from scores.",
  ]);
  if (problem !== undefined) throw contradiction(problem, `See ${commandLine`art-e evals label --help`}.`);
}

/** A mode with its queue. */
interface Session {
  readonly criterion: string;
  readonly labeling: Labeling;
}

/** Number of labels, and whether the annotator has seen all traces. */
interface Labeled {
  readonly count: number;
  readonly isComplete: boolean;
}

async function modesToConfirm(db: Db): Promise<string[]> {
  const { readTaxonomy } = await import("../../../error-analysis/modes.js");
  return readTaxonomy(db, null).modes.map(({ name }) => name);
}

async function takeLabels(flags: LabelFlags & { readonly from: string }, { settings, out }: CommandContext) {
  const { importLabels } = await import("../../../evals/import-labels.js");
  const imported = await importLabels({ ...flags, criterion: flags.mode ?? OVERALL }, settings);
  const { labels, unlabeled, source, score: by } = imported;
  const sources = source === null ? (imported.sources ?? {}) : { [source]: 1 };
  out.result(imported, () =>
    [
      `${by === undefined ? "" : `By ${by}: `}${countsText(labels, unlabeled)}. Labels ${labelSourcesText(sources)}.`,
      ...noPersonLines(sources),
      ...(labels.good > 0 && labels.bad > 0
        ? [`Next: ${commandLine`art-e evals suggest`}${modeFlag(flags.mode ?? OVERALL)}`]
        : []),
    ].join("\n"),
  );
}

/** Says what labels can be used for that are not by people. */
function noPersonLines({ person = 0, import: imported = 0, judge = 0, score = 0 }: LabelSources) {
  return compact([
    imported + judge + score > 0 &&
      `Evals can be made from them. Only labels by people test an eval or correct a rate${person > 0 ? "." : `: ${commandLine`art-e evals label`}`}`,
    imported > 0 &&
      'If people labeled the traces of the file, pass --annotator NAME, or add "source": "person" to its lines.',
  ]);
}

const RANDOM_ORDER = "Traces in random order. Each has the same probability.";
const ENRICHED_ORDER =
  "Traces in random order, likely failures more often (by score, judge, evals and length). All figures weight the labels by the probability of each draw.";

/** With this number of good and of bad labels, an eval can be wrong about one label of each kind in its test. */
const WANTED_LABELS = 20;

function printSummary(labeled: number, [session]: readonly Session[], { out }: CommandContext): void {
  if (session === undefined) return;
  const { criterion, labeling } = session;
  const summary = labeling.summary();
  const { labels, sources, drawn, selfAgreement, betweenAnnotators } = summary;
  out.result({ labeled, ...summary }, () =>
    compact([
      `Labeled ${labeled}. Total: ${countsText(labels, 0)}${labels.good + labels.bad > 0 ? `, ${labelSourcesText(sources)}` : ""}`,
      selfAgreement.n > 0 && `Self-agreement on ${selfAgreement.n} repeated traces: ${estimateText(selfAgreement)}`,
      betweenAnnotators.n > 0 &&
        `Agreement between annotators on ${counted(betweenAnnotators.n, "trace")}: ${estimateText(betweenAnnotators)}`,
      `How their traces were drawn: ${drawsText(drawn)}`,
      Math.min(labels.good, labels.bad) < WANTED_LABELS
        ? `Evals need about ${WANTED_LABELS} good and ${WANTED_LABELS} bad traces. Continue, likely failures first: ${commandLine`art-e evals label ${labeling.runId ?? "--chats"} --enriched`}${modeFlag(criterion)}`
        : `Next: ${commandLine`art-e evals suggest`}${modeFlag(criterion)}`,
    ]).join("\n"),
  );
}

/** Says how many notes the second look has confirmed in each mode. */
function printConfirmed({ count, isComplete }: Labeled, sessions: readonly Session[], { out }: CommandContext): void {
  const modes = sessions.map(({ criterion, labeling }) => ({ mode: criterion, ...labeling.summary() }));
  const [run] = sessions.map(({ labeling }) => labeling.runId ?? "--chats");
  out.result({ labeled: count, modes }, () =>
    [
      `Labeled ${count}.`,
      ...modes.map(({ mode, labels }) => `  ${mode}: ${countsText(labels, 0)}`),
      isComplete
        ? `Next: ${commandLine`art-e evals suggest`}`
        : `Next: ${commandLine`art-e evals label ${run ?? "latest"} --confirm`}`,
    ].join("\n"),
  );
}

const DRAW_WORDS: Readonly<Record<LabelDraw, string>> = {
  random: "at random",
  enriched: "enriched, weighted in all figures",
  all: "all of a run",
  unknown: "unknown",
};

function drawsText(drawn: LabelSummary["drawn"]): string {
  const draws = Object.keys(DRAW_WORDS) as LabelDraw[];
  const parts = draws.filter((draw) => drawn[draw] > 0).map((draw) => `${drawn[draw]} ${DRAW_WORDS[draw]}`);
  return parts.join("; ") || "no labels yet";
}

function countsText(labels: LabelSummary["labels"], unlabeled: number): string {
  const { good, bad, neutral, skip } = labels;
  return compact([
    `${good} good, ${bad} bad`,
    neutral + skip > 0 && `excluded: ${neutral} neutral, ${skip} skipped`,
    unlabeled > 0 && `unlabeled: ${unlabeled}`,
  ]).join("; ");
}

const KEYS: Readonly<Record<string, EvalLabel>> = {
  g: "good",
  good: "good",
  b: "bad",
  bad: "bad",
  s: "skip",
  skip: "skip",
};

const PROMPT = "g good, b bad, s skip (optionally with a reason: b wrong year), t entire trace, q quit > ";

function nothingToLabel({ adjudicate, confirm }: Pick<LabelFlags, "adjudicate" | "confirm">): UserError {
  if (adjudicate) {
    return new UserError(
      "disagreements_none",
      "No two annotators disagree on a trace that is not adjudicated.",
      "Let a second person label the same traces: --annotator NAME.",
    );
  }
  if (confirm) {
    return new UserError(
      "confirmations_none",
      "No coding note is left to confirm.",
      `List the modes: ${commandLine`art-e evals modes`}`,
    );
  }
  return new UserError(
    "labels_complete",
    "All traces are labeled by a person.",
    "Label another run, or for another --mode.",
  );
}

/** Shows one trace after another on stderr and reads one label per line from stdin. Saves each label immediately. */
function askAll(sessions: readonly Session[], { signal, out }: CommandContext): Promise<Labeled> {
  return withReplies(lineReplies(PROMPT), signal, async (replies) => {
    let count = 0;
    for (const { criterion, labeling } of sessions) {
      if (sessions.length > 1) out.note(`\n${criterion}: good means that the trace does not have this mode.`);
      if (labeling.sentence !== null) out.note(`Good means: ${labeling.sentence}`);
      let position = 0;
      for (const item of labeling.traces()) {
        const reply = await askUntilSaved(labeling, item, `${++position}/${labeling.waiting}`, replies, out.note);
        if (reply === null) return { count, isComplete: false };
        count++;
      }
    }
    return { count, isComplete: true };
  });
}

/** Asks again if somebody else has labeled the trace in the meantime. Returns null if the annotator quits. */
async function askUntilSaved(
  labeling: Labeling,
  item: TraceToLabel,
  position: string,
  replies: Replies,
  note: (text: string) => void,
): Promise<Reply | null> {
  const { LabelConflict } = await import("../../../evals/labeling.js");
  for (let seen: number | undefined; ; ) {
    const reply = await ask(item, position, replies, note);
    if (reply === null) return null;
    try {
      labeling.save(item, reply.label, reply.note, seen);
      return reply;
    } catch (error) {
      if (!(error instanceof LabelConflict)) throw error;
      note(`${error.message} ${error.hint}`);
      seen = error.current.id;
    }
  }
}

/** Returns the annotator's reply, or null if the annotator quits or the input ends. */
async function ask(
  { trace, isRepeat, labels = [] }: TraceToLabel,
  position: string,
  replies: Replies,
  note: (text: string) => void,
): Promise<Reply | null> {
  note(`\n${position}${isRepeat ? "  asked again" : ""}  ${trace.traceId}\n${summaryOf(trace)}`);
  for (const label of labels) note(givenText(label));
  for (;;) {
    const line = await replies.next();
    const [, key = "", reason = ""] = /^(\S+)\s*(.*)$/s.exec(line) ?? [];
    const label = KEYS[key.toLowerCase()];
    if (label !== undefined) return { label, note: reason === "" ? null : reason };
    if (key === "q" || key === "quit") return null;
    if (key === "t") note(traceText(trace));
    else note(`Unknown key "${line}". Press g, b, s, t or q.`);
  }
}

function givenText({ annotator, label, note }: GivenLabel): string {
  return `${annotator}: ${label}${note === null ? "" : `, because ${oneLine(note, 200)}`}`;
}

/** Returns the most requested facts of a trace: the question, the answer, its sources, and the correct answer. */
export function summaryOf(trace: EvaluatedTrace): string {
  const gold = trace.kind === "chat" ? null : trace.kind === "suite" ? trace.grade.reason : trace.task.answer;
  return compact([
    `Question:  ${askedOf(trace)}`,
    `Answer:    ${trace.answer ?? `none (${trace.ending})`}`,
    `Sources:   ${trace.sources.join(", ") || "none"}`,
    gold !== null && `Gold:      ${gold}`,
  ]).join("\n");
}

async function listLabels(flags: LabelFlags, { settings, out }: CommandContext): Promise<void> {
  const { trace: traces, annotator = null, output, mode: criterion = OVERALL } = flags;
  if (flags.delete && traces.length === 0 && annotator === null) {
    throw new UserError(
      "labels_unnamed",
      "--delete requires --trace or --annotator.",
      "Specify the traces or the annotator whose labels to delete.",
    );
  }
  const { checkOutputs } = await import("../../../trace-formats/output-files.js");
  checkOutputs([{ flag: "--output", path: output, kind: "labels" }], [], { db: settings.db, overwrite: true });
  const { withStore } = await import("../../../store/open-store.js");
  const { agreementOfAnnotators, listDisagreements } = await import("../../../evals/label-agreement.js");
  const { allLabels, deleteLabels, labeledTracesWord } = await import("../../../evals/labels.js");
  const { getTrace } = await import("../../../traces/traces-store.js");
  await withStore(settings, async (db) => {
    const ids = traces.length === 0 ? null : traces.map((name) => getTrace(db, name).traceId);
    if (flags.delete) {
      const deleted = deleteLabels(db, criterion, ids, annotator);
      out.result({ deleted }, () => `Deleted ${counted(deleted, "label")} of ${criterion}.`);
      return;
    }
    if (flags.disagreements) {
      const disagreements = listDisagreements(db, criterion).filter((one) => ids?.includes(one.traceId) ?? true);
      out.result({ criterion, disagreements }, () =>
        disagreementsText(disagreements, [...labeledTracesWord(db, criterion), "--adjudicate"], criterion),
      );
      return;
    }
    const labels = allLabels(db, criterion).filter(
      (label) => (ids?.includes(label.traceId) ?? true) && (annotator === null || label.annotator === annotator),
    );
    if (output !== undefined) {
      const { labelLine } = await import("../../../evals/import-labels.js");
      const { writeFileAtomically } = await import("../../../platform/files.js");
      await writeFileAtomically(
        output,
        labels.map((label) => `${labelLine(label)}\n`),
      );
    }
    const agreement = agreementOfAnnotators(db, criterion);
    out.result({ criterion, labels, agreement, output: output ?? null }, () =>
      output === undefined ? labelsText(labels, agreement) : `${output}: ${counted(labels.length, "label")}`,
    );
  });
}

function disagreementsText(
  disagreements: readonly Disagreement[],
  adjudicate: readonly string[],
  criterion: string,
): string {
  if (disagreements.length === 0) return "No two annotators disagree.";
  const rows = disagreements.map(({ traceId, labels, adjudicated }) => [
    traceId,
    labels.map(({ annotator, label }) => `${annotator} ${label}`).join(", "),
    adjudicated ?? "-",
  ]);
  const text = table(["trace", "labels", "adjudicated"], rows);
  if (disagreements.every(({ adjudicated }) => adjudicated !== null)) return text;
  return `${text}\n\nNext: ${commandLine`art-e evals label ${adjudicate}`}${modeFlag(criterion)}`;
}

function labelsText(labels: readonly TraceLabel[], agreement: readonly AnnotatorAgreement[]): string {
  if (labels.length === 0) return "No labels.";
  const rows = labels.map(({ traceId, label, source, annotator, isRepeat, drawn, basis, createdAt, note }) => [
    traceId,
    label,
    annotator ?? source,
    basis === "adjudicated" ? basis : isRepeat ? "asked again" : basis === "coded" ? basis : drawn,
    createdAt.slice(0, 16),
    oneLine(note ?? "", 60),
  ]);
  const text = table(["trace", "label", "by", "drawn", "given", "why"], rows);
  if (agreement.length === 0) return text;
  const pairs = agreement.map(({ annotators, agreement: rate, kappa }) => [
    annotators.join(" and "),
    String(rate.n),
    estimateText(rate),
    estimateText(kappa),
  ]);
  return `${text}\n\n${table(["annotators", "shared traces", "same label (95%)", "kappa (95%)"], pairs)}`;
}
