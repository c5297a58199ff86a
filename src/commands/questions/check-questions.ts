import type { CheckedDataset } from "../../app/questions/making/check-questions.js";
import { EXIT, UserError } from "../../domain/errors.js";
import { count, usd } from "../../reports/text/format-number.js";
import { summaryBox } from "../../reports/text/summary-box.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";
import { readFlags, text, wholeNumber } from "../cli/read-flags.js";
import { DATASET_FLAGS, datasetSchema, SELECTION_FLAGS, selectionSchema } from "../flags/question-flags.js";
import { CHECKER_FLAGS, checkerShape } from "./checker-flags.js";

const schema = datasetSchema
  .extend(selectionSchema.shape)
  .extend({ file: text.optional(), limit: wholeNumber(0).default(0), ...checkerShape });

export const checkQuestionsCommand: Command = {
  positionals: { file: { type: "string", describe: "A file of questions; the same as --dataset" } },
  flags: {
    ...DATASET_FLAGS,
    limit: { alias: "l", type: "number", requiresArg: true, describe: "Max questions; 0 = all [default: 0]" },
    ...SELECTION_FLAGS,
    checker: {
      type: "string",
      requiresArg: true,
      describe: "Model that checks them: provider/model [default: none, rules alone]",
    },
    ...CHECKER_FLAGS,
  },
  async run(argv, context) {
    const { file, ...given } = readFlags("questions check", schema, argv);
    if (file !== undefined && given.dataset !== undefined) {
      throw new UserError("flags_contradict", "A FILE and --dataset are given.", "Give one of them.");
    }
    const flags = { ...given, dataset: file ?? given.dataset };
    const { refuseContradictions } = await import("../../app/questions/load-dataset.js");
    refuseContradictions(flags);
    const { checkQuestions } = await import("../../app/questions/making/check-questions.js");
    const checked = await checkQuestions(flags, context);
    context.out.result(checked, () => checkedText(checked));
    return EXIT.done;
  },
};

function checkedText({ source, checker, questions, unchecked, costUsd }: CheckedDataset): string {
  const doubtful = questions.filter(({ doubts }) => doubts.length > 0);
  return [
    summaryBox(`ART-E Questions (${source})`, [
      [
        "Checked",
        count(questions.length) + (unchecked === 0 ? "" : `, ${count(unchecked)} not: --max-cost is reached`),
      ],
      ["Checked by", checker ?? "rules alone (a model: --checker)"],
      ["Doubtful", count(doubtful.length)],
      ["Easy", `${count(questions.filter(({ easy }) => easy).length)} repeat a phrase of their mail`],
      ...(checker === null ? [] : [["Cost", usd(costUsd)] as [string, string]]),
    ]),
    ...(doubtful.length === 0
      ? []
      : [
          table(
            ["id", "doubt", "question"],
            doubtful.map(({ question, doubts }) => [String(question.id), doubts.join("; "), question.question]),
          ),
        ]),
  ].join("\n");
}
