import { z } from "zod";
import { checkOutputs, replayFile } from "../app/outputs/check-outputs.js";
import { aggregateRun } from "../app/results/aggregate-run.js";
import { saveResults } from "../app/results/save-results.js";
import { thisProcess } from "../app/run/this-process.js";
import { chosenScorers, wantsJudge } from "../app/score/choose-scorers.js";
import { createJudge, JUDGE_CONCURRENCY } from "../app/score/create-judge.js";
import { asksJudge, cheapModel, hasKey, isJudgeOff, judgeSettings } from "../app/score/judge-settings.js";
import { scoreRun } from "../app/score/score-run.js";
import { EXIT } from "../domain/errors.js";
import type { JudgeSettings } from "../domain/scores/judgement.js";
import { parseModelName } from "../models/model-name.js";
import { count } from "../reports/text/format-number.js";
import { openStore } from "../store/connection/open-store.js";
import { getRun, type RunRow } from "../store/runs/runs.js";
import { openMailbox } from "../tools/mailbox.js";
import type { Command, CommandContext } from "./cli/command.js";
import { Interrupted } from "./cli/interrupt.js";
import { openProgress } from "./cli/progress.js";
import { readFlags, text } from "./cli/read-flags.js";
import { JUDGE_FLAGS, judgeShape } from "./flags/judge-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "./flags/overwrite-flag.js";
import { SCORER_FLAGS, scorerShape } from "./flags/scorer-flags.js";
import { printTotals } from "./run/print-totals.js";

const JUDGE_TIMEOUT_MS = 180_000;

const schema = z.object({
  run: text.default("latest"),
  output: text.optional(),
  ...overwriteShape,
  ...scorerShape,
  ...judgeShape,
});

type ScoreFlags = z.output<typeof schema>;

/** Grades the stored traces of a run again; its agent is asked nothing. */
export const scoreCommand: Command = {
  flags: {
    run: { type: "string", requiresArg: true, describe: "Its id, the beginning of it, or latest [default: latest]" },
    ...SCORER_FLAGS,
    ...JUDGE_FLAGS,
    output: { alias: "o", type: "string", requiresArg: true, describe: "Save the results to a JSON file" },
    ...OVERWRITE_FLAGS,
  },
  async run(argv, context) {
    const flags = readFlags("score", schema, argv);
    const { settings, out, signal } = context;
    checkOutputs(
      [{ flag: "--output", path: flags.output, kind: "results" }],
      [{ name: "the judge's file of replies", path: replayFile(flags.judge) }],
      { db: settings.db, overwrite: flags.overwrite },
    );
    const db = openStore(settings.db, { mustExist: true });
    try {
      const run = getRun(db, flags.run);
      const asked = judgeOf(run, flags, context);
      const scorers = chosenScorers(flags.scorers, asked !== null || run.settings.judge !== null);
      const ready =
        asked === null
          ? null
          : await createJudge(asked, settings, { timeoutMs: JUDGE_TIMEOUT_MS, throttle: null, note: out.note });
      const { mails } = openMailbox(db);
      const progress = openProgress(settings, "Grading", run.totalTasks);
      const request = {
        grading: { sameMail: mails.canonicalId, scorers, judge: ready?.judge ?? null },
        concurrency: JUDGE_CONCURRENCY,
        worker: thisProcess,
        onProgress: (graded: number) => progress.update(graded, `${count(graded)} graded`),
      };
      const { graded, stopped } = await scoreRun(db, run, request, signal).finally(() => progress.stop());
      if (stopped) {
        throw new Interrupted(
          `grading of ${run.id} stopped: ${count(graded)} tasks are saved. Go on with the same command.`,
        );
      }
      const totals = await aggregateRun(db, getRun(db, run.id));
      if (flags.output !== undefined) await saveResults(db, flags.output, totals);
      printTotals(totals, [], flags, context);
      const shortfall = ready?.shortfall() ?? null;
      if (shortfall !== null) out.note(`${shortfall}. Ask again with the same command.`);
      return EXIT.done;
    } finally {
      db.close();
    }
  },
};

/** As the flags say; else the judge of the run, else the one a run would have by default, where there is a key for it. */
function judgeOf(run: RunRow, flags: ScoreFlags, { settings: { env } }: CommandContext): JudgeSettings | null {
  if (isJudgeOff(flags) || (!asksJudge(flags) && !wantsJudge(flags.scorers)))
    return judgeSettings(flags, null, null, env);
  const { provider } = parseModelName(run.settings.model, null);
  const judge = judgeSettings(flags, run.settings.judge, cheapModel(provider, run.settings.baseUrl, env), env);
  if (judge === null || asksJudge(flags) || judge.baseUrl !== null) return judge;
  return hasKey(parseModelName(judge.model, null).provider, env) ? judge : null;
}
