import { z } from "zod";
import type { DatasetReview, ReviewSummary } from "../../app/questions/review/review-questions.js";
import { programVersion } from "../../app/settings/program-version.js";
import { EXIT } from "../../domain/errors.js";
import { openInBrowser } from "../../processes/open-in-browser.js";
import { estimate } from "../../reports/text/format-estimate.js";
import { count } from "../../reports/text/format-number.js";
import { summaryBox } from "../../reports/text/summary-box.js";
import type { Command } from "../cli/command.js";
import { readFlags, text, wholeNumber } from "../cli/read-flags.js";
import { tokenOf } from "../flags/server-token.js";
import { reportFault } from "../serve/report-fault.js";
import { untilAborted } from "../serve/until-aborted.js";

const schema = z.object({
  file: text,
  port: wholeNumber(0, 65_535).default(0),
  noOpen: z.boolean().default(false),
});

/** Requests under way have so long to end. */
const GRACE_MS = 2_000;

export const reviewQuestionsCommand: Command = {
  positionals: { file: { type: "string", describe: "A file of questions (Parquet, CSV, JSON, JSONL)" } },
  flags: {
    port: { type: "number", requiresArg: true, describe: "Of the page, on this machine only [default: any free]" },
    "no-open": { type: "boolean", describe: "Only name the page's address, and open no browser" },
  },
  async run(argv, context) {
    const { file, port, noOpen } = readFlags("questions review", schema, argv);
    const { settings, note, out, signal } = context;
    const { withStore } = await import("../../app/with-store.js");
    return withStore(settings, async (db) => {
      const { DatasetReview } = await import("../../app/questions/review/review-questions.js");
      const review = await DatasetReview.open(file, db);
      const { startReviewServer } = await import("../../servers/review/start-review-server.js");
      const server = await startReviewServer(db, review, {
        version: programVersion(),
        port,
        token: tokenOf({}, settings),
        report: (fault, requestId) => reportFault(fault, requestId, context),
      });
      note(`art-e: review ${file} at ${server.url} - every decision is saved at once; Ctrl-C ends`);
      if (!noOpen && !(await openInBrowser(server.url))) note("art-e: no browser could be opened here");
      await untilAborted(signal);
      await server.close(GRACE_MS, async () => undefined);
      const summary = await review.summary();
      out.result({ file, reviewed: review.reviewedPath, ...summary }, () => reviewText(review, summary));
      return EXIT.done;
    });
  },
};

function reviewText({ path, reviewedPath }: DatasetReview, { counts, agreement }: ReviewSummary): string {
  const { accepted, edited, rejected, waiting } = counts;
  const isSome = accepted + edited > 0;
  return [
    summaryBox(`ART-E Review (${path})`, [
      ["Accepted", count(accepted)],
      ["Edited", count(edited)],
      ["Rejected", count(rejected)],
      ["To decide", count(waiting)],
      ["Same as the checks", estimate(agreement.all)],
      ...agreement.byCheck.map((one) => [`  ${one.check}`, estimate(one.agreement)] as const),
      ...(isSome ? [["Written", `${reviewedPath}: what was accepted or edited`] as const] : []),
    ]),
    ...(isSome ? ["", `Next: art-e run --agent baseline --dataset ${reviewedPath} --limit 0`] : []),
  ].join("\n");
}
