import { z } from "zod";
import { PATTERNS_MODEL } from "../../app/questions/making/make-options.js";
import { type MadeQuestions, makeQuestions } from "../../app/questions/making/make-questions.js";
import { EXIT } from "../../domain/errors.js";
import { count, usd } from "../../reports/text/format-number.js";
import { summaryBox } from "../../reports/text/summary-box.js";
import type { Command } from "../cli/command.js";
import { numberBetween, readFlags, text, wholeNumber } from "../cli/read-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "../flags/overwrite-flag.js";
import { CHECKER_FLAGS, checkerShape } from "./checker-flags.js";

const schema = z.object({
  inbox: z.array(text).default([]),
  number: wholeNumber(1, 10_000).default(100),
  output: text,
  model: text.default(PATTERNS_MODEL),
  baseUrl: text.optional(),
  ...checkerShape,
  unanswerable: numberBetween(0, 1).default(0.1),
  train: numberBetween(0, 1).default(0),
  seed: wholeNumber(0, 2 ** 32 - 1).default(1),
  ...overwriteShape,
});

export const makeQuestionsCommand: Command = {
  flags: {
    inbox: { type: "string", array: true, requiresArg: true, describe: "Mailboxes [default: all that are imported]" },
    number: { alias: "n", type: "number", requiresArg: true, describe: "Questions to make [default: 100]" },
    output: { alias: "o", type: "string", requiresArg: true, describe: "Dataset to write (.jsonl); required" },
    model: {
      type: "string",
      requiresArg: true,
      describe: `Model that writes them: provider/model, or ${PATTERNS_MODEL} [default: ${PATTERNS_MODEL}]`,
    },
    "base-url": { type: "string", requiresArg: true, describe: "Address of a compatible server for the model" },
    checker: {
      type: "string",
      requiresArg: true,
      describe: `Model that checks them: provider/model, or off [default: --model; none for ${PATTERNS_MODEL}]`,
    },
    ...CHECKER_FLAGS,
    unanswerable: {
      type: "number",
      requiresArg: true,
      describe: "Share that cannot be answered, 0-1 [default: 0.1]",
    },
    train: {
      type: "number",
      requiresArg: true,
      describe: "Share of the mailboxes whose questions are of the split train, 0-1 [default: 0]",
    },
    seed: { type: "number", requiresArg: true, describe: "Of everything that is drawn by lot [default: 1]" },
    ...OVERWRITE_FLAGS,
  },
  async run(argv, context) {
    const made = await makeQuestions(readFlags("questions make", schema, argv), context);
    context.out.result(made, () => madeText(made));
    return EXIT.done;
  },
};

function madeText(made: MadeQuestions): string {
  const refused = Object.entries(made.refused);
  const isSynthetic = made.model === PATTERNS_MODEL;
  return [
    summaryBox(`ART-E Questions (${made.model})`, [
      [
        "Mailboxes",
        `${count(made.mailboxes)}, ${count(made.mails.all)} mails, ${count(made.mails.usable)} of them usable`,
      ],
      ["Left out", listed(made.mails.leftOut)],
      ["Questions", count(made.questions) + (made.shortfall === null ? "" : ` (${made.shortfall})`)],
      ["Kinds", listed(made.byKind)],
      ["Unanswerable", count(made.unanswerable)],
      ["Easy", `${count(made.easy)} repeat a phrase of their mail`],
      ["Checked by", made.checker ?? "rules alone"],
      ["Cost", `${usd(made.costUsd)} for ${count(made.calls)} calls, ${count(made.cachedReplies)} more from the cache`],
      ["Written", `${made.output}, and how each was made: ${made.provenance}`],
    ]),
    ...(refused.length === 0
      ? []
      : ["Refused:", ...refused.map(([reason, number]) => `  ${count(number)}  ${reason}`)]),
    ...(isSynthetic
      ? [
          "",
          "These questions are synthetic: templates filled with values that patterns find. Good for the search, not for a verdict.",
        ]
      : []),
    "",
    `Next: art-e run --agent baseline --dataset ${made.output} --limit 0`,
  ].join("\n");
}

function listed(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([name, number]) => `${name} ${count(number)}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}
