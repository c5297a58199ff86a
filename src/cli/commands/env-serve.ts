// The command `env serve`: the training environment over the OpenEnv protocol.
import { z } from "zod";
import { showDatabase } from "../../platform/command-line.js";
import { EXIT } from "../../platform/errors.js";
import {
  agentName,
  numberAbove,
  numberBetween,
  oneOf,
  shapeOf,
  text,
  toggle,
  wholeNumber,
} from "../../platform/flag-values.js";
import { programVersion } from "../../platform/program-files.js";
import { attackChoice, JUDGE_FLAGS, QUESTION_FLAGS } from "../../runs/run-flags.js";
import { SCORER_NAMES } from "../../scoring/scorers.js";
import { defineCommand } from "../flags/define-command.js";
import { listenShape, tokenOf } from "../flags/server-flags.js";
import { untilAborted } from "../interrupts.js";
import { reportFault } from "../terminal.js";

const REWARDS = ["art", ...SCORER_NAMES] as const;

const schema = z.object({
  ...shapeOf(QUESTION_FLAGS),
  split: QUESTION_FLAGS.split.schema.meta({
    placeholder: "train|test",
    description: "Split for clients without a choice: train or test [default: train, or the file's only split]",
    alias: "s",
  }),
  limit: wholeNumber(0).default(0).meta({ description: "Maximum number of tasks per split (0 = all)", alias: "l" }),
  agent: agentName
    .default("email-search")
    .meta({ description: "Agent with the tools, prompt and turns for the episodes", alias: "a" }),
  model: text.default("policy").meta({ description: "Name of the trained model in traces" }),
  reward: oneOf(REWARDS)
    .optional()
    .meta({
      description: `Reward for an answer: art (ART's reward) or a scorer: ${SCORER_NAMES.join(", ")} [default: judgeCorrect with --judge, otherwise sourcesCorrect]`,
    }),
  collateralWeight: numberBetween(0, 1).default(0.1).meta({
    placeholder: "WEIGHT",
    description: "Cost of each collateral change in a task with a goal, subtracted from its reward",
  }),
  hijackedWeight: numberBetween(0, 1).default(1).meta({
    placeholder: "WEIGHT",
    description: "Cost of obedience to a hostile email, subtracted from the reward",
  }),
  perturb: attackChoice.optional().meta({
    placeholder: "KIND",
    description: "Plant emails into each episode: hostile (or hostile=KIND,...) or hostile-control",
  }),
  ...shapeOf(JUDGE_FLAGS),
  judge: JUDGE_FLAGS.judge.schema.meta({
    placeholder: "MODEL",
    description: "Judge: provider/model, art or art:provider/model [default: none]",
  }),
  judgeTimeout: numberAbove(0, 55).default(45).meta({
    placeholder: "SECONDS",
    description: "Judge timeout in seconds, after which the word overlap decides (clients wait a minute)",
  }),
  name: text.optional().meta({ description: "Name of the run that contains the episodes" }),
  noSave: toggle.meta({ description: "Do not save traces" }),
  maxTurns: wholeNumber(1, 1_000).optional().meta({ description: "Maximum calls per episode [default: the agent's]" }),
  maxEpisodeTokens: wholeNumber(1).optional().meta({
    description:
      "Maximum tokens per episode, as reported by the client, otherwise estimated at four characters each [default: no limit]",
  }),
  episodeTimeout: wholeNumber(1, 86_400)
    .default(3_600)
    .meta({ placeholder: "SECONDS", description: "Episode timeout in seconds, including the trainer's pauses" }),
  maxSessions: wholeNumber(1, 10_000).default(512).meta({ description: "Maximum concurrent sessions" }),
  idleTimeout: wholeNumber(1, 86_400)
    .default(1_800)
    .meta({ placeholder: "SECONDS", description: "Idle timeout of a session in seconds" }),
  cutoff: oneOf(["query_date", "off"])
    .default("query_date")
    .meta({ description: "query_date hides emails after the question's date, off shows all" }),
  partialInboxes: toggle.meta({ description: "Also serve questions about mailboxes that are not imported" }),
  ...listenShape(8000),
});

/** Milliseconds that running sessions get to finish when the server stops. */
const GRACE_MS = 5_000;

export const serveEnvironmentCommand = defineCommand(schema, async (flags, context) => {
  const token = tokenOf(flags, context.settings);
  const { withTrainingEnvironment } = await import("../../training/environment.js");
  const { serveOpenEnv } = await import("../../server/openenv.js");
  const options = { ...flags, save: !flags.noSave, maxTokens: flags.maxEpisodeTokens };
  return withTrainingEnvironment(options, context, async (environment) => {
    // From here on, messages go to clients, so they do not mention this machine's database file.
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
