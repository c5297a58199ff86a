import { z } from "zod";
import { DEFAULT_MODEL, PROVIDERS } from "../../models/model-names.js";
import { REASONING_EFFORTS } from "../../models/reasoning-effort.js";
import type { CommandHelp } from "../command.js";
import { concurrency, configShape, overwriteShape, protocolShape } from "../flags.js";
import { otlpShape } from "../otlp-flags.js";
import { failures, numberAbove, numberBetween, oneOf, price, text, wholeNumber } from "../read-flags.js";
import { extrasFlags, reasoningEffort } from "../request-flags.js";
import { gateShape, judgeShape, scorerShape } from "../scoring-flags.js";
import { questionsSchema, suiteResourceShape, suiteSelectionShape } from "../selection-flags.js";

const words = (list: string) => list.split(" ");

/** How `--help` and the documentation show the flags of `run`. */
export const RUN_HELP: CommandHelp = {
  examples: [
    ["art-e run -a email-search -l 100 -o results.json", "100 questions of the test split, with the agent's own model"],
    [
      "art-e run -a email-search --model-id openai/gpt-5.1 --dry-run",
      "what it would cost with another model; nothing is spent",
    ],
    ["art-e run --resume latest --retry-failed", "go on where a run stopped, and try its failed tasks again"],
  ],
  groups: {
    "What to run": words("agent name config only watch resume repeat retry-failed force dry-run stats"),
    Questions: [
      ...words("split limit ids inbox min-realism max-sources exclude-known-bad shuffle seed"),
      ...words("epochs protocol dataset use-json revision partial-inboxes cutoff"),
    ],
    "Tasks of a suite": words("suite task tool tag index counterparts runnable oracle functions account-settings"),
    Model: words(
      "model-id model-provider base-url wire-api temperature max-turns max-tokens reasoning-effort reasoning-tokens header body price cache record",
    ),
    "An agent elsewhere": words("agent-url agent-command tell-task api-url workspace"),
    Speed: words("concurrency rpm tpm queue request-timeout task-timeout"),
    Limits: words("max-cost max-task-cost max-run-tokens max-time max-failures unsafe-host-python"),
    Scores: words("scorers judge no-judge judge-votes judge-base-url judge-reasoning-effort judge-header judge-body"),
    "Results and gates": words("output overwrite fail-under min-coverage baseline no-worse-than metric junit"),
    "Traces to a server": words("otlp otlp-endpoint scores no-content"),
  },
  placeholders: {
    ID: words("agent workspace"),
    NAME: words("name protocol model-provider"),
    FILE: words("config dataset index oracle functions record output junit"),
    "NAME,NAME": words("only scorers"),
    RUN: words("resume repeat baseline"),
    SPLIT: words("split"),
    "ID,ID": words("ids task"),
    ADDRESS: words("inbox"),
    COMMIT: words("revision"),
    WHICH: words("cutoff counterparts"),
    FOLDER: words("suite tool account-settings"),
    "TAG,TAG": words("tag"),
    "PROVIDER/NAME": words("model-id"),
    URL: words("base-url agent-url api-url queue judge-base-url otlp-endpoint"),
    API: words("wire-api scores"),
    "IN,OUT": words("price"),
    COMMAND: words("agent-command"),
    N: words("concurrency max-failures"),
    USD: words("max-cost max-task-cost"),
    MINUTES: words("max-time"),
    SECONDS: words("request-timeout task-timeout"),
    MODEL: words("judge"),
    "SCORE=N": words("fail-under"),
    SHARE: words("min-coverage"),
    SCORE: words("metric"),
    EFFORT: words("reasoning-effort judge-reasoning-effort"),
    "NAME=VALUE": words("header judge-header"),
    "NAME=JSON": words("body judge-body"),
  },
};

const CUTOFFS = ["query_date", "off"] as const;
const WIRE_APIS = ["chat", "responses"] as const;

/** Node's timers count milliseconds in 31 bits; a longer timer fires at once. */
const LONGEST_TIMER_S = 2_147_483;

export const runSchema = questionsSchema.extend({
  agent: text
    .optional()
    .meta({ description: "Agent to test (art-e agents list), or human: you at this terminal; required", alias: "a" }),
  suite: text.optional().meta({ description: "A task suite's folder: its tasks instead of questions about mailboxes" }),
  ...suiteSelectionShape,
  oracle: text.optional().meta({ description: "Oracle file for the agent oracle [default: the suite's oracle.jsonl]" }),
  ...suiteResourceShape,
  limit: wholeNumber(0).default(10).meta({ description: "Max tasks to run; 0 = all", alias: "l" }),
  stats: z.boolean().default(false).meta({ description: "Show the dataset's statistics and exit" }),
  ...protocolShape,
  modelProvider: text.optional().meta({ description: `${PROVIDERS.join(", ")} [default: as the model's name tells]` }),
  modelId: text
    .optional()
    .meta({ description: `The model, as provider/name or name [default: the agent's own, else ${DEFAULT_MODEL}]` }),
  baseUrl: text.optional().meta({ description: "Address of a compatible server" }),
  wireApi: oneOf(WIRE_APIS).optional().meta({ description: "chat or responses, for openai [default: by server]" }),
  concurrency: concurrency.meta({
    description: "Tasks under way at once, or auto: as many as the server takes [default: auto]",
  }),
  queue: text.optional().meta({
    description: "Let the workers of a Redis server answer (art-e worker): redis://HOST:PORT [ART_E_QUEUE_URL]",
  }),
  rpm: numberAbove(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: "At most so many requests a minute" }),
  tpm: numberAbove(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: "At most so many tokens a minute, in and out" }),
  epochs: wholeNumber(1, 1_000).default(1).meta({ description: "Ask every question so many times" }),
  resume: text.optional().meta({ description: "Go on with a run: its id, the beginning of it, or latest" }),
  repeat: text
    .optional()
    .meta({ description: "A new run that asks what RUN asked, with the agent and the settings it had" }),
  name: text.optional().meta({ description: "Name the new run, which can then be asked for by it" }),
  retryFailed: z.boolean().default(false).meta({ description: "With --resume: answer the failed tasks again too" }),
  force: z
    .boolean()
    .default(false)
    .meta({ description: "With --resume, --repeat: go on though something has changed, and record what differs" }),
  maxCost: numberAbove(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: "Stop the run at so many US dollars; it can be resumed" }),
  maxRunTokens: wholeNumber(1).optional().meta({ description: "Stop the run at so many tokens, in and out" }),
  maxTime: numberAbove(0, LONGEST_TIMER_S / 60)
    .optional()
    .meta({ description: "Stop the run after so many minutes" }),
  maxFailures: failures.optional().meta({ description: "Stop the run at so many failed tasks, or a share: 5%" }),
  maxTaskCost: numberAbove(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: "End a task at so many US dollars" }),
  price: price.optional().meta({ description: "IN,OUT[,CACHED]: US dollars for a million tokens" }),
  dryRun: z.boolean().default(false).meta({ description: "Estimate tokens, cost and time, and spend nothing" }),
  maxTurns: wholeNumber(1, 1_000).optional().meta({ description: "Model calls a task [default: the agent's, 10]" }),
  maxTokens: wholeNumber(1).optional().meta({ description: "Tokens of one reply [default: the agent's, 2048]" }),
  reasoningTokens: wholeNumber(0)
    .optional()
    .meta({ description: "Tokens for reasoning beside them [default: the agent's, else by the model]" }),
  temperature: numberBetween(0, 2).optional().meta({ description: "0-2 [default: the agent's, else the provider's]" }),
  reasoningEffort: reasoningEffort.optional().meta({
    description: `${REASONING_EFFORTS.join(", ")} [default: the agent's, else the model's]`,
  }),
  ...extrasFlags,
  taskTimeout: numberAbove(0, LONGEST_TIMER_S).default(600).meta({ description: "Seconds a task may take" }),
  requestTimeout: numberAbove(0, LONGEST_TIMER_S)
    .default(180)
    .meta({ description: "Seconds a model call may take before it is tried again" }),
  cutoff: oneOf(CUTOFFS).default("query_date").meta({ description: "query_date (later mail is invisible) or off" }),
  partialInboxes: z
    .boolean()
    .default(false)
    .meta({ description: "Also ask about mailboxes that are not imported as such" }),
  cache: z
    .boolean()
    .default(false)
    .meta({ description: "Keep the model's replies in the cache folder, and answer from them" }),
  unsafeHostPython: z
    .boolean()
    .default(false)
    .meta({ description: "Let execute_python run outside any sandbox, with your rights" }),
  ...scorerShape,
  ...judgeShape,
  record: text.optional().meta({ description: "Keep the model's replies in FILE, for --model-id replay/FILE" }),
  watch: z
    .boolean()
    .default(false)
    .meta({ description: "Serve a page on this machine that shows the run as it goes on" }),
  output: text.optional().meta({ description: "Save the results to a JSON file", alias: "o" }),
  ...overwriteShape,
  ...gateShape,
  ...otlpShape,
  workspace: text.optional().meta({ description: "With --api-url: the workspace [WORKSPACE_ID]", alias: "w" }),
  apiUrl: text.optional().meta({ description: "The agent is one of this server with the playground API [API_URL]" }),
  tellTask: z
    .boolean()
    .default(false)
    .meta({ description: "With --api-url: put mailbox and day into the question too" }),
  agentCommand: text
    .optional()
    .meta({ description: "The agent is a program: questions as JSON lines on its stdin, answers on its stdout" }),
  agentUrl: text
    .optional()
    .meta({ description: "The agent is the model --agent of this OpenAI-compatible address, and runs its own tools" }),
  ...configShape,
});

export type RunFlags = z.output<typeof runSchema>;
