import { z } from "zod";
import type { DescribedEval } from "../../app/evals/manage-evals.js";
import { EXIT } from "../../domain/errors.js";
import { share } from "../../reports/text/format-number.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";
import { readFlags } from "../cli/read-flags.js";

const schema = z.object({ all: z.boolean().default(false) });

export const listEvalsCommand: Command = {
  flags: { all: { type: "boolean", describe: "Retired versions too" } },
  async run(argv, { settings, out }) {
    const { all } = readFlags("evals list", schema, argv);
    const { describeEvals } = await import("../../app/evals/manage-evals.js");
    const evals = await describeEvals(all, settings);
    out.result(
      evals.map(({ stored: { definition, status, createdAt }, test }) => ({ ...definition, status, createdAt, test })),
      () => (evals.length === 0 ? "There are no evals. Make some: art-e evals suggest." : evalTable(evals)),
    );
    return EXIT.done;
  },
};

/** Also of one name's versions. */
export function evalTable(evals: readonly DescribedEval[]): string {
  return table(
    ["eval", "status", "kind", "test", "TPR", "TNR", "kappa", "criterion"],
    evals.map(({ stored: { definition, status }, test }) => [
      `${definition.name}@${definition.version}`,
      status,
      definition.reference ? `${definition.kind}, reference` : definition.kind,
      test === null ? "none" : test.report.rejections.length === 0 ? "passed" : "rejected",
      share(test?.report.agreement.truePositiveRate.value ?? null),
      share(test?.report.agreement.trueNegativeRate.value ?? null),
      share(test?.report.agreement.kappa.value ?? null),
      definition.criterion,
    ]),
  );
}
