import { z } from "zod";
import { PATTERNS_MODEL } from "../../app/questions/making/make-options.js";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { numberBetween, readFlags, text, wholeNumber } from "../cli/read-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "../flags/overwrite-flag.js";
import { CHECKER_FLAGS, checkerShape } from "./checker-flags.js";
import { estimateText, madeText } from "./made-questions-text.js";

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
  dryRun: z.boolean().default(false),
  ...overwriteShape,
});

export const makeQuestionsCommand: Command = {
  flags: {
    inbox: { type: "string", array: true, requiresArg: true, describe: "Mailboxes [default: all that are imported]" },
    number: { alias: "n", type: "number", requiresArg: true, describe: "Questions to make [default: 100]" },
    output: {
      alias: "o",
      type: "string",
      requiresArg: true,
      describe: "Dataset to write (.jsonl, .csv or .parquet); required",
    },
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
    "dry-run": { type: "boolean", describe: "Estimate calls, tokens and cost, and make none" },
    ...OVERWRITE_FLAGS,
  },
  async run(argv, context) {
    const { dryRun, ...options } = readFlags("questions make", schema, argv);
    const { estimateMaking } = await import("../../app/questions/making/estimate-making.js");
    if (dryRun) {
      const estimate = await estimateMaking(options, context);
      context.out.result(estimate, () => estimateText(estimate));
      return EXIT.done;
    }
    const { makeQuestions } = await import("../../app/questions/making/make-questions.js");
    const made = await makeQuestions(options, context);
    context.out.result(made, () => madeText(made));
    return EXIT.done;
  },
};
