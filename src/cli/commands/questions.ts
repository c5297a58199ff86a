// The commands `questions ...`: make, check and review questions.
import { z } from "zod";
import { commandLine, flagName } from "../../platform/command-line.js";
import { EXIT } from "../../platform/errors.js";
import {
  day,
  file,
  numberAbove,
  numberBetween,
  OVERWRITE_FLAG,
  oneOf,
  shapeOf,
  text,
  toggle,
  url,
  wholeNumber,
  withTraits,
} from "../../platform/flag-values.js";
import { compact } from "../../platform/optional-values.js";
import { openInBrowser } from "../../platform/processes.js";
import { programVersion } from "../../platform/program-files.js";
import type { CheckedDataset } from "../../questions/check-questions.js";
import type { DatasetReview, ReviewSummary } from "../../questions/dataset-review.js";
import type { EstimatedCalls, MakingEstimate } from "../../questions/estimate-making.js";
import type { MadeActions } from "../../questions/make-actions.js";
import type { MadeQuestions } from "../../questions/make-questions.js";
import type { MadeSelections } from "../../questions/make-selections.js";
import { PATTERNS_MODEL } from "../../questions/question-models.js";
import { QUESTION_FLAGS } from "../../runs/run-flags.js";
import { MADE_KINDS } from "../../tasks/selection.js";
import { count, counted, estimate, summaryBox, table, usd } from "../../text/format.js";
import { contradiction, defineCommand } from "../flags/define-command.js";
import { tokenOf } from "../flags/server-flags.js";
import { untilAborted } from "../interrupts.js";
import { reportFault } from "../terminal.js";

/** Milliseconds that running requests get to finish when the server stops. */
const GRACE_MS = 2_000;

export const reviewQuestionsCommand = defineCommand(
  z.object({
    file: file.meta({ description: "File of questions (Parquet, CSV, JSON, JSONL)" }),
    port: wholeNumber(0, 65_535)
      .default(0)
      .meta({ description: "Port of the page, on this machine only [default: any free port]" }),
    noOpen: toggle.meta({ description: "Print the page's URL without opening a browser" }),
  }),
  async ({ file, port, noOpen }, context) => {
    const { settings, note, out, signal } = context;
    const { withStore } = await import("../../store/open-store.js");
    return withStore(settings, async (db) => {
      const { DatasetReview } = await import("../../questions/dataset-review.js");
      const review = await DatasetReview.open(file, db, signal);
      const { startReviewServer } = await import("../../server/review-page.js");
      const server = await startReviewServer(db, review, {
        version: programVersion(),
        port,
        token: tokenOf({}, settings),
        report: (fault, requestId) => reportFault(fault, requestId, context.out),
      });
      note(`art-e: review ${file} at ${server.url} - every decision is saved immediately. Press Ctrl-C to stop`);
      if (!noOpen && !(await openInBrowser(server.url))) note("art-e: no browser could be opened here");
      await untilAborted(signal);
      await server.close(GRACE_MS, async () => undefined);
      const summary = await review.summary();
      out.result({ file, reviewed: review.reviewedPath, ...summary }, () => reviewText(review, summary));
      return EXIT.done;
    });
  },
);

function reviewText({ path, reviewedPath }: DatasetReview, { counts, agreement }: ReviewSummary): string {
  const { accepted, edited, rejected, waiting } = counts;
  const isSome = accepted + edited > 0;
  return [
    summaryBox(
      `ART-E Review (${path})`,
      compact([
        ["Accepted", count(accepted)],
        ["Edited", count(edited)],
        ["Rejected", count(rejected)],
        ["To decide", count(waiting)],
        ["Same as the checks", estimate(agreement.all)],
        ...agreement.byCheck.map((one) => [`  ${one.check}`, estimate(one.agreement)] as const),
        isSome && (["Written", `${reviewedPath}: accepted and edited questions`] as const),
      ]),
    ),
    ...(isSome ? ["", `Next: ${commandLine`art-e run --agent baseline --dataset ${reviewedPath} --limit 0`}`] : []),
  ].join("\n");
}

/** Returns a summary of the questions that were made. */
function madeText(result: MadeQuestions): string {
  const refusals = Object.entries(result.refused);
  const isSynthetic = result.model === PATTERNS_MODEL;
  return compact([
    summaryBox(`ART-E Questions (${result.model})`, [
      ...mailRows(result),
      ["Questions", count(result.questions) + (result.shortfall === null ? "" : ` (${result.shortfall})`)],
      ["Kinds", listed(result.byKind)],
      ["Unanswerable", count(result.unanswerable)],
      ["Easy", `${count(result.easy)} repeat a phrase of their email`],
      ["Checked by", result.checker ?? "rules alone"],
      [
        "Cost",
        `${costText(result.costUsd)} for ${counted(result.calls, "call")}, ${count(result.cachedReplies)} more from the cache`,
      ],
      ["Written", `${result.output}, and the origin of each question: ${result.provenance}`],
    ]),
    result.hint,
    ...(refusals.length === 0
      ? []
      : ["Rejected:", ...refusals.map(([reason, number]) => `  ${count(number)}  ${reason}`)]),
    ...(isSynthetic
      ? [
          "",
          "These questions are synthetic: templates filled with values found by patterns. Use them to test the search, not to judge agents.",
        ]
      : []),
    "",
    `Next: ${commandLine`art-e run --agent baseline --dataset ${result.output} --limit 0`}`,
  ]).join("\n");
}

function madeActionsText({ output, tasks, byKind, mailboxes, isShort }: MadeActions): string {
  return [
    summaryBox("ART-E Tasks (actions)", [
      ["Mailboxes", count(mailboxes)],
      ["Tasks", count(tasks) + (isShort ? " (no more can be made from the mail)" : "")],
      ["Kinds", listed(byKind)],
      ["Written", output],
    ]),
    "",
    `Next: ${commandLine`art-e run --agent mail-rules --dataset ${output} --limit 0`}`,
  ].join("\n");
}

function madeSelectionsText(made: MadeSelections): string {
  const { output, kind, tasks, empty, mailboxes, usedMailboxes, rightEmails, leaks, isShort } = made;
  return [
    summaryBox(`ART-E Tasks (${kind})`, [
      ["Mailboxes", `${count(mailboxes)}, ${count(usedMailboxes)} of them with tasks`],
      ["Tasks", count(tasks) + (isShort ? " (no more can be made from the mail)" : "")],
      ["Right emails", `${count(rightEmails)} different ones; none in ${count(empty)} of the tasks`],
      ["Left out", `${counted(leaks, "day")}, because the agent could read the later email`],
      ["Written", output],
    ]),
    "",
    `Next: ${commandLine`art-e questions check ${output}`}`,
  ].join("\n");
}

const UNPRICED = "unknown: no price is known for the model";

const costText = (costUsd: number | null) => (costUsd === null ? UNPRICED : usd(costUsd));

function estimateText(estimate: MakingEstimate): string {
  const { model, questions, expected, batches, writer, checker, costUsd } = estimate;
  return summaryBox(
    `ART-E Questions, dry run (${model})`,
    compact([
      ...mailRows(estimate),
      [
        "Questions",
        count(questions) +
          (expected === null || expected === questions
            ? ""
            : `; the mail probably gives no more than ${count(expected)}`),
      ],
      batches !== null &&
        (["Batches", `${count(batches.needed)} of ${count(batches.available)}, of up to 20 emails`] as const),
      ["Written by", writer === null ? `${model}, without a call` : callsText(writer)],
      ["Checked by", checker === null ? "rules alone" : callsText(checker)],
      ["Cost", costUsd === null ? UNPRICED : `about ${usd(costUsd)}`],
      (writer !== null || checker !== null) &&
        (["Taken for it", "every second draft passes; nothing of it is in the cache"] as const),
    ]),
  );
}

function callsText({ model, calls, usage }: EstimatedCalls): string {
  return `${model}: ${counted(calls, "call")}, ${count(usage.inputTokens)} tokens in, ${count(usage.outputTokens)} out`;
}

function mailRows({ mailboxes, mails }: Pick<MadeQuestions, "mailboxes" | "mails">): [string, string][] {
  return [
    ["Mailboxes", `${count(mailboxes)}, ${counted(mails.all, "email")}, ${count(mails.usable)} of them usable`],
    ["Left out", listed(mails.leftOut)],
  ];
}

function listed(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([name, number]) => `${name} ${count(number)}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}

/** Flags for the model that checks questions, and for the maximum cost of its calls. */
const checkerShape = {
  checkerBaseUrl: url.optional().meta({ description: "URL of a compatible server for the checker" }),
  maxCost: numberAbove(0, 1_000_000)
    .optional()
    .meta({ placeholder: "USD", description: "Maximum cost of all calls in US dollars" }),
};

/** Flags for tasks about the future of a mailbox. */
const selectionShape = {
  windowDays: wholeNumber(1, 365).optional().meta({
    description: "Days up to the date of a task. Their emails count [default: 7 for needs-reply, otherwise 14]",
  }),
  replyDays: wholeNumber(1, 365).optional().meta({
    description: "Days after the date of a task. Their emails decide [default: 7 for needs-reply, otherwise 14]",
  }),
  after: day.optional().meta({ description: "Only tasks on or after this date" }),
  before: day.optional().meta({ description: "Only tasks before this date" }),
};

export const makeQuestionsCommand = defineCommand(
  z.object({
    kind: oneOf(["answers", "actions", ...MADE_KINDS])
      .default("answers")
      .meta({
        description:
          "answers: questions with gold answers. actions: tasks that change the mailbox. The others ask which emails will be answered",
      }),
    inbox: withTraits(z.array(text), { completes: "mailboxes" })
      .default([])
      .meta({ description: "Mailboxes [default: all imported ones]" }),
    number: wholeNumber(1, 10_000).default(100).meta({ description: "Number of questions", alias: "n" }),
    output: file.meta({ description: "Output dataset: .jsonl, .csv or .parquet", alias: "o" }),
    model: text.default(PATTERNS_MODEL).meta({
      description: `Model that writes the questions: provider/model, or ${PATTERNS_MODEL}, for English mail [default: ${PATTERNS_MODEL}]`,
    }),
    baseUrl: url.optional().meta({ description: "URL of a compatible server for the model" }),
    checker: text.optional().meta({
      description: `Model that checks the questions: provider/model, or off [default: --model, none for ${PATTERNS_MODEL}]`,
    }),
    ...checkerShape,
    unanswerable: numberBetween(0, 1)
      .default(0.1)
      .meta({ description: "Fraction of unanswerable questions, or of tasks without a right email, from 0 to 1" }),
    train: numberBetween(0, 1)
      .default(0)
      .meta({ description: "Fraction of the mailboxes in the train split, from 0 to 1" }),
    seed: wholeNumber(0, 2 ** 32 - 1)
      .default(1)
      .meta({ description: "Random seed" }),
    minChars: wholeNumber(1, 5_000)
      .default(40)
      .meta({ description: "Minimum characters per email; a Chinese, Japanese or Korean one counts as four" }),
    dryRun: toggle.meta({ description: "Estimate calls, tokens and cost without calling a model" }),
    ...selectionShape,
    ...shapeOf(OVERWRITE_FLAG),
  }),
  async ({ dryRun, kind, ...options }, context) => {
    if (kind !== "answers" && kind !== "actions") {
      const { makeSelections } = await import("../../questions/make-selections.js");
      const result = await makeSelections(kind, options, context);
      context.out.result(result, () => madeSelectionsText(result));
      return;
    }
    const foreign = Object.keys(selectionShape).find((name) => options[name as keyof typeof options] !== undefined);
    if (foreign !== undefined) {
      throw contradiction(
        `${flagName(foreign)} does not apply to --kind ${kind}.`,
        "Remove it, or pass another --kind.",
      );
    }
    if (kind === "actions") {
      const { makeActions } = await import("../../questions/make-actions.js");
      const result = await makeActions(options, context);
      context.out.result(result, () => madeActionsText(result));
      return;
    }
    const { estimateMaking } = await import("../../questions/estimate-making.js");
    if (dryRun) {
      const estimate = await estimateMaking(options, context);
      context.out.result(estimate, () => estimateText(estimate));
      return;
    }
    const { makeQuestions } = await import("../../questions/make-questions.js");
    const result = await makeQuestions(options, context);
    context.out.result(result, () => madeText(result));
  },
);

export const checkQuestionsCommand = defineCommand(
  z.object({
    ...shapeOf(QUESTION_FLAGS),
    file: file.optional().meta({ description: "File of questions (like --dataset)" }),
    limit: wholeNumber(0).default(0).meta({ description: "Maximum number of questions (0 = all)", alias: "l" }),
    checker: text
      .optional()
      .meta({ description: "Model that checks the questions: provider/model [default: none, only rules]" }),
    ...checkerShape,
  }),
  async ({ file, ...options }, context) => {
    if (file !== undefined && options.dataset !== undefined) {
      throw contradiction("FILE and --dataset cannot be combined.", "Remove one of them.");
    }
    const flags = { ...options, dataset: file ?? options.dataset };
    const { refuseContradictions } = await import("../../questions/dataset.js");
    refuseContradictions(flags);
    const { checkQuestions } = await import("../../questions/check-questions.js");
    const checked = await checkQuestions(flags, context);
    context.out.result(checked, () => checkedText(checked));
  },
);

function checkedText({ source, checker, questions, unchecked, costUsd }: CheckedDataset): string {
  const doubtful = questions.filter(({ doubts }) => doubts.length > 0);
  return compact([
    summaryBox(
      `ART-E Questions (${source})`,
      compact([
        [
          "Checked",
          count(questions.length) + (unchecked === 0 ? "" : `, ${count(unchecked)} not: --max-cost is reached`),
        ],
        ["Checked by", checker ?? "rules alone (a model: --checker)"],
        ["Doubtful", count(doubtful.length)],
        ["Easy", `${count(questions.filter(({ easy }) => easy).length)} repeat a phrase of their email`],
        checker !== null && (["Cost", costText(costUsd)] as [string, string]),
      ]),
    ),
    doubtful.length > 0 &&
      table(
        ["id", "doubt", "question"],
        doubtful.map(({ question, doubts }) => [String(question.id), doubts.join("; "), question.question]),
      ),
  ]).join("\n");
}
