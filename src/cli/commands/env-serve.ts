import { z } from "zod";
import { showDatabase } from "../../platform/command-line.js";
import { EXIT } from "../../platform/errors.js";
import { programVersion } from "../../platform/installation.js";
import { SCORER_NAMES } from "../../scoring/scorers.js";
import { listenShape, tokenOf } from "../flags.js";
import { defineCommand, numberAbove, oneOf, text, wholeNumber } from "../read-flags.js";
import { judgeShape } from "../scoring-flags.js";
import { questionsSchema } from "../selection-flags.js";
import { reportFault, untilAborted } from "../terminal.js";

const REWARDS = ["art", ...SCORER_NAMES] as const;

const schema = questionsSchema.extend({
  split: questionsSchema.shape.split.meta({
    description: "Split for clients that name none: train or test [default: train, or the file's only split]",
    alias: "s",
  }),
  limit: wholeNumber(0).default(0).meta({ description: "Max tasks of a split; 0 = all", alias: "l" }),
  agent: text
    .default("email-search")
    .meta({ description: "The agent whose tools, prompt and turns an episode has", alias: "a" }),
  model: text.default("policy").meta({ description: "What the trained model is called in traces" }),
  reward: oneOf(REWARDS)
    .default("semanticScore")
    .meta({ description: `Reward of an answer: art (ART's reward) or a scorer: ${SCORER_NAMES.join(", ")}` }),
  ...judgeShape,
  judge: judgeShape.judge.meta({
    description: "Model that judges the answers: provider/model, art or art:provider/model [default: none]",
  }),
  judgeTimeout: numberAbove(0, 55)
    .default(45)
    .meta({ description: "Seconds that the judge has; then the semantic score decides. Clients wait a minute" }),
  name: text.optional().meta({ description: "A name for the run that the episodes are traces of" }),
  noSave: z.boolean().default(false).meta({ description: "Save no traces" }),
  maxTurns: wholeNumber(1, 1_000).optional().meta({ description: "Calls of an episode [default: the agent's]" }),
  maxEpisodeTokens: wholeNumber(1).optional().meta({
    description: "Tokens of an episode, as its client tells them, else four characters each [default: no limit]",
  }),
  episodeTimeout: wholeNumber(1, 86_400)
    .default(3_600)
    .meta({ description: "Seconds an episode may take, pauses of the trainer included" }),
  maxSessions: wholeNumber(1, 10_000).default(512).meta({ description: "Sessions at once" }),
  idleTimeout: wholeNumber(1, 86_400)
    .default(1_800)
    .meta({ description: "Seconds without a message after which a session is ended" }),
  cutoff: oneOf(["query_date", "off"])
    .default("query_date")
    .meta({ description: "query_date hides mail from after the question's day; off hides none" }),
  partialInboxes: z
    .boolean()
    .default(false)
    .meta({ description: "Serve although mailboxes of the questions are not imported" }),
  ...listenShape(8000),
});

/** Sessions that are under way when the server is stopped have so long. */
const GRACE_MS = 5_000;

export const serveEnvironmentCommand = defineCommand(schema, async (flags, context) => {
  const token = tokenOf(flags, context.settings);
  const { withTrainingEnvironment } = await import("../../runs/training-environment.js");
  const { serveOpenEnv } = await import("../../server/openenv.js");
  const options = { ...flags, save: !flags.noSave, maxTokens: flags.maxEpisodeTokens };
  return withTrainingEnvironment(options, context, async (environment) => {
    // Messages go to clients from now on, whom the files of this machine do not concern.
    showDatabase(null);
    const running = await serveOpenEnv(environment, {
      access: { host: flags.host, token },
      port: flags.port,
      maxSessions: flags.maxSessions,
      idleMs: flags.idleTimeout * 1_000,
      version: programVersion(),
      report: (fault, where) => reportFault(fault, where, context.out),
    });
    const splits = environment.splits.map(({ name, tasks }) => `${tasks} ${name}`).join(", ");
    context.out.result(
      { url: running.url, token: token !== null, splits: environment.splits },
      () => `art-e serves its training environment (${splits}) at ${running.url}`,
    );
    await untilAborted(context.signal);
    await running.stop(GRACE_MS);
    return EXIT.done;
  });
});
