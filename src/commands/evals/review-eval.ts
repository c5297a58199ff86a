import { z } from "zod";
import type { UncaughtTrace } from "../../app/evals/review-eval.js";
import { EXIT } from "../../domain/errors.js";
import { agreementTable, contradictionLines } from "../../reports/text/evals/eval-test-text.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { CRITERION_FLAGS, criterionShape, EVAL_NAME } from "./eval-flags.js";

const schema = z.object({ name: text.optional(), ...criterionShape });

/** Traces that are listed; --json lists all. */
const LISTED = 20;

export const reviewEvalCommand: Command = {
  positionals: { name: EVAL_NAME },
  flags: CRITERION_FLAGS,
  async run(argv, context) {
    const { out } = context;
    const { name, criterion } = readFlags("evals review", schema, argv);
    const { reviewEval, reviewUncaught } = await import("../../app/evals/review-eval.js");
    if (name === undefined) {
      const uncaught = await reviewUncaught(criterion, context);
      out.result(uncaught, () => uncaughtText(uncaught));
      return EXIT.done;
    }
    const { stored, agreement, contradictions } = await reviewEval(name, criterion, context);
    const { definition } = stored;
    out.result({ name: definition.name, version: definition.version, agreement, contradictions }, () =>
      [
        `${definition.name}@${definition.version} on the training half, which it may have been made from:`,
        "",
        agreementTable(agreement),
        ...(contradictions.length === 0 ? ["", "No label contradicts it."] : contradictionLines(contradictions)),
      ].join("\n"),
    );
    return EXIT.done;
  },
};

function uncaughtText(uncaught: readonly UncaughtTrace[]): string {
  if (uncaught.length === 0) return "Every bad trace of the training half is failed by some eval.";
  const more = uncaught.length - LISTED;
  return [
    `Bad traces of the training half that no eval fails: ${uncaught.length}. What they share is the next criterion.`,
    ...uncaught
      .slice(0, LISTED)
      .map(
        ({ traceId, note }) =>
          `  art-e show ${traceId}${note === null ? "" : `  (${note.replace(/\s+/g, " ").slice(0, 100)})`}`,
      ),
    ...(more > 0 ? [`  ... and ${more} more; --json lists all`] : []),
  ].join("\n");
}
