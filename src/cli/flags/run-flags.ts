import { z } from "zod";
import { DEFAULT_MODEL, PROVIDERS } from "../../models/model-names.js";
import { REASONING_EFFORTS } from "../../models/reasoning-effort.js";
import type { FlagGroups } from "../command.js";
import { concurrency, configShape, overwriteShape, protocolShape } from "./flags.js";
import { otlpShape } from "./otlp-flags.js";
import {
  failures,
  file,
  folder,
  numberAbove,
  numberBetween,
  oneOf,
  price,
  runId,
  text,
  url,
  wholeNumber,
} from "./read-flags.js";
import { extrasFlags, reasoningEffort } from "./request-flags.js";
import { gateShape, judgeShape, scorerShape } from "./scoring-flags.js";
import { questionsSchema, suiteResourceShape, suiteSelectionShape } from "./selection-flags.js";

const words = (list: string) => list.split(" ");

/** Flag groups, as shown in help and in the documentation. */
export const RUN_FLAG_GROUPS: FlagGroups = {
  Run: words("agent name config only watch resume repeat retry-failed force dry-run stats"),
  Questions: [
    ...words("split limit ids inbox min-realism max-sources exclude-known-bad shuffle seed"),
    ...words("epochs protocol dataset use-json revision partial-inboxes cutoff"),
  ],
  "Suite tasks": words("suite task tool tag index counterparts runnable oracle functions account-settings"),
  Model: words(
    "model-id model-provider base-url wire-api temperature max-turns max-tokens reasoning-effort reasoning-tokens header body price cache record",
  ),
  "External agent": words("agent-command agent-url api-url workspace tell-task"),
  Speed: words("concurrency rpm tpm queue request-timeout task-timeout"),
  Limits: words("max-cost max-task-cost max-run-tokens max-time max-failures unsafe-host-python"),
  Scores: words("scorers judge no-judge judge-votes judge-base-url judge-reasoning-effort judge-header judge-body"),
  "Results and gates": words("output overwrite fail-under min-coverage baseline no-worse-than metric junit"),
  "Sending traces": words("otlp otlp-endpoint scores no-content"),
};

const CUTOFFS = ["query_date", "off"] as const;
const WIRE_APIS = ["chat", "responses"] as const;

/** Longest timer in seconds. Node stores a timer's milliseconds in 31 bits, and a longer timer fires immediately. */
const LONGEST_TIMER_S = 2_147_483;

export const runSchema = questionsSchema.extend({
  agent: text.optional().meta({
    placeholder: "ID",
    description: "Agent to test (art-e agents list), or human for yourself. Required for a new run",
    alias: "a",
  }),
  suite: folder
    .optional()
    .meta({ description: "Task suite folder. Runs its tasks instead of questions about mailboxes" }),
  ...suiteSelectionShape,
  oracle: file.optional().meta({ description: "Oracle file for the oracle agent [default: the suite's oracle.jsonl]" }),
  ...suiteResourceShape,
  limit: wholeNumber(0).default(10).meta({ description: "Maximum number of tasks (0 = all)", alias: "l" }),
  stats: z.boolean().default(false).meta({ description: "Show dataset statistics and exit" }),
  ...protocolShape,
  modelProvider: text
    .optional()
    .meta({ placeholder: "NAME", description: `Provider: ${PROVIDERS.join(", ")} [default: from the model name]` }),
  modelId: text.optional().meta({
    placeholder: "PROVIDER/NAME",
    description: `Model, as provider/name or name [default: the agent's, otherwise ${DEFAULT_MODEL}]`,
  }),
  baseUrl: url.optional().meta({ description: "URL of a compatible server" }),
  wireApi: oneOf(WIRE_APIS)
    .optional()
    .meta({ description: "Wire format for openai: chat or responses [default: depends on the server]" }),
  concurrency: concurrency.meta({
    placeholder: "N|auto",
    description: "Maximum concurrent tasks, or auto (as many as the server accepts) [default: auto]",
  }),
  queue: url.optional().meta({
    description: "Let the workers of a Redis server answer (art-e worker), as redis://HOST:PORT [ART_E_QUEUE_URL]",
  }),
  rpm: numberAbove(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: "Maximum requests per minute" }),
  tpm: numberAbove(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: "Maximum input and output tokens per minute" }),
  epochs: wholeNumber(1, 1_000).default(1).meta({ description: "Number of times to ask each question" }),
  resume: runId.optional().meta({ description: "Continue a run: its id, the start of its id, or latest" }),
  repeat: runId.optional().meta({ description: "Start a new run with the questions, agent and settings of RUN" }),
  name: text.optional().meta({ placeholder: "NAME", description: "Name for the new run, usable in place of its id" }),
  retryFailed: z.boolean().default(false).meta({ description: "With --resume: also answer failed tasks again" }),
  force: z
    .boolean()
    .default(false)
    .meta({ description: "With --resume, --repeat: continue despite changes, and record the differences" }),
  maxCost: numberAbove(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ placeholder: "USD", description: "Stop the run at this cost, in US dollars (it can be resumed)" }),
  maxRunTokens: wholeNumber(1).optional().meta({ description: "Stop the run after N input and output tokens" }),
  maxTime: numberAbove(0, LONGEST_TIMER_S / 60)
    .optional()
    .meta({ placeholder: "MINUTES", description: "Stop the run after this time, in minutes" }),
  maxFailures: failures.optional().meta({ description: "Stop the run after N failed tasks, or at a percentage: 5%" }),
  maxTaskCost: numberAbove(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ placeholder: "USD", description: "End a task at this cost, in US dollars" }),
  price: price.optional().meta({ description: "Price in US dollars per million tokens: IN,OUT[,CACHED]" }),
  dryRun: z.boolean().default(false).meta({ description: "Estimate tokens, cost and time without calling a model" }),
  maxTurns: wholeNumber(1, 1_000)
    .optional()
    .meta({ description: "Maximum model calls per task [default: the agent's, 10]" }),
  maxTokens: wholeNumber(1).optional().meta({ description: "Maximum tokens per reply [default: the agent's, 2048]" }),
  reasoningTokens: wholeNumber(0)
    .optional()
    .meta({ description: "Additional tokens for reasoning [default: the agent's, otherwise depends on the model]" }),
  temperature: numberBetween(0, 2)
    .optional()
    .meta({ description: "Temperature from 0 to 2 [default: the agent's, otherwise the provider's]" }),
  reasoningEffort: reasoningEffort.optional().meta({
    placeholder: "EFFORT",
    description: `Reasoning effort: ${REASONING_EFFORTS.join(", ")} [default: the agent's, otherwise the model's]`,
  }),
  ...extrasFlags,
  taskTimeout: numberAbove(0, LONGEST_TIMER_S)
    .default(600)
    .meta({ placeholder: "SECONDS", description: "Timeout per task, in seconds" }),
  requestTimeout: numberAbove(0, LONGEST_TIMER_S)
    .default(180)
    .meta({ placeholder: "SECONDS", description: "Timeout per model call, in seconds" }),
  cutoff: oneOf(CUTOFFS).default("query_date").meta({ description: "Hide later emails: query_date or off" }),
  partialInboxes: z
    .boolean()
    .default(false)
    .meta({ description: "Also ask about mailboxes that were not imported as such" }),
  cache: z.boolean().default(false).meta({ description: "Cache the model's replies, and answer from the cache" }),
  unsafeHostPython: z
    .boolean()
    .default(false)
    .meta({ description: "Run execute_python without a sandbox, with your permissions" }),
  ...scorerShape,
  ...judgeShape,
  record: file.optional().meta({ description: "Record the model's replies in FILE, for --model-id replay/FILE" }),
  watch: z.boolean().default(false).meta({ description: "Show the run on a web page on this machine" }),
  output: file.optional().meta({ description: "Save the results as a JSON file", alias: "o" }),
  ...overwriteShape,
  ...gateShape,
  ...otlpShape,
  workspace: text
    .optional()
    .meta({ placeholder: "ID", description: "With --api-url: workspace [WORKSPACE_ID]", alias: "w" }),
  apiUrl: url.optional().meta({ description: "Server with the playground API that runs the agent [API_URL]" }),
  tellTask: z
    .boolean()
    .default(false)
    .meta({ description: "With --api-url: add the mailbox and date to the question" }),
  agentCommand: text
    .optional()
    .meta({ placeholder: "COMMAND", description: "Program that runs the agent: JSON Lines on stdin and stdout" }),
  agentUrl: url
    .optional()
    .meta({ description: "OpenAI-compatible endpoint that runs the agent with its own tools (--agent is the model)" }),
  ...configShape,
});

export type RunFlags = z.output<typeof runSchema>;
