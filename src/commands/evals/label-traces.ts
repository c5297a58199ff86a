import { z } from "zod";
import type { LabelSummary } from "../../app/evals/label-counts.js";
import { EXIT, UserError } from "../../domain/errors.js";
import { estimateText } from "../../reports/text/evals/estimate-text.js";
import type { Command, CommandContext } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { askLabels } from "./ask-labels.js";
import { CRITERION_FLAGS, criterionShape, SEED_FLAGS, seedShape } from "./eval-flags.js";

const schema = z.object({
  run: text.optional(),
  from: text.optional(),
  score: text.optional(),
  chats: z.boolean().default(false),
  ...criterionShape,
  ...seedShape,
});

export const labelTracesCommand: Command = {
  positionals: { run: { type: "string", describe: "A run: its id, the beginning of it, or latest [default: latest]" } },
  flags: {
    from: {
      type: "string",
      requiresArg: true,
      describe: "Label by feedback, judge, scores, or a file of JSON lines, instead of asking",
    },
    score: {
      type: "string",
      requiresArg: true,
      describe: "With --from scores: above 0.8 is good, below 0.5 bad [default: semanticScore; of suites taskScore]",
    },
    chats: { type: "boolean", describe: "Label chats instead of a run" },
    ...CRITERION_FLAGS,
    ...SEED_FLAGS,
  },
  async run(argv, context) {
    const flags = readFlags("evals label", schema, argv);
    const { from, run, chats, score, criterion } = flags;
    if (score !== undefined && from !== "scores") {
      throw new UserError("flags_contradict", "--score goes with --from scores.", "Give both, or neither.");
    }
    if (chats && (run !== undefined || from !== undefined)) {
      throw new UserError("flags_contradict", "--chats goes with neither a run nor --from.", "Give one of them.");
    }
    const { importLabels } = await import("../../app/evals/import-labels.js");
    if (from !== undefined) {
      const imported = await importLabels({ ...flags, from }, context.settings);
      const { labels, unlabelled } = imported;
      context.out.result(imported, () => countsText(labels, unlabelled));
      return EXIT.done;
    }
    const { withStore } = await import("../../app/with-store.js");
    const { openLabelling } = await import("../../app/evals/open-labelling.js");
    await withStore(context.settings, async (db) => {
      const options = { run: chats ? null : (run ?? "latest"), criterion, seed: flags.seed };
      const labelling = await openLabelling(db, options);
      context.out.note(`On a page: art-e serve, then Label, or /#label/${labelling.runId ?? "chats"}.`);
      const labelled = await askLabels(labelling, context);
      printSummary(labelled, labelling.summary(), context);
    });
    return EXIT.done;
  },
};

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
