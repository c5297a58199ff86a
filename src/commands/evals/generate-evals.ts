import { z } from "zod";
import type { GeneratedVariation, Generation } from "../../app/evals/generation/generate-evals.js";
import { EXIT } from "../../domain/errors.js";
import { evalNameSchema } from "../../domain/evals/eval-definition.js";
import { share, usd } from "../../reports/text/format-number.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";
import { numberAbove, price, readFlags, text, wholeNumber } from "../cli/read-flags.js";
import { CRITERION_FLAGS, criterionShape, SEED_FLAGS, seedShape } from "./eval-flags.js";

const schema = z.object({
  model: text,
  price: price.optional(),
  maxCost: numberAbove(0, 10_000).default(1),
  name: evalNameSchema.optional(),
  rounds: wholeNumber(0, 3).default(3),
  ...criterionShape,
  ...seedShape,
});

export const generateEvalsCommand: Command = {
  flags: {
    model: {
      type: "string",
      requiresArg: true,
      demandOption: true,
      describe: "The model that writes, as provider/name; required",
    },
    price: { type: "string", requiresArg: true, describe: "IN,OUT[,CACHED]: US dollars for a million tokens" },
    "max-cost": {
      type: "number",
      requiresArg: true,
      describe: "Make no call that could bring the cost above so many US dollars [default: 1]",
    },
    name: {
      type: "string",
      requiresArg: true,
      describe: "What the names begin with [default: the criterion, or generated]",
    },
    rounds: {
      type: "number",
      requiresArg: true,
      describe: "Rewrite each eval so often by what contradicts it, up to 3 [default: 3]",
    },
    ...CRITERION_FLAGS,
    ...SEED_FLAGS,
  },
  async run(argv, context) {
    const { generateEvals } = await import("../../app/evals/generation/generate-evals.js");
    const generation = await generateEvals(readFlags("evals generate", schema, argv), context);
    const { variations, ...rest } = generation;
    context.out.result({ ...rest, variations: variations.map(toJson) }, () => generationText(generation));
    return EXIT.done;
  },
};

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
    ...criteria.map((criterion) => `  ${oneLine(criterion)}`),
    ...(saved.length === 0 ? ["", "Nothing is saved."] : ["", savedTable(saved)]),
    ...(saved.length === variations.length ? [] : ["", "Not saved:"]),
    ...variations.flatMap(({ variation, rejection }) =>
      rejection === null ? [] : [`  ${variation}: ${oneLine(rejection)}`],
    ),
    "",
    `${calls} ${calls === 1 ? "call" : "calls"}, ${usd(spentUsd)}.`,
    ...saved.slice(0, 1).map(({ stored: { definition } }) => `Next: art-e evals test ${definition.name}`),
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
      oneLine(ended),
    ]),
  );
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").slice(0, 200);
}
