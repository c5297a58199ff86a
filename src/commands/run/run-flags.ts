import { z } from "zod";
import { DEFAULT_MODEL } from "../../models/catalog/default-models.js";
import { PROVIDERS } from "../../models/provider-names.js";
import type { Flags } from "../cli/command.js";
import { failures, numberAbove, numberBetween, oneOf, price, text, wholeNumber } from "../cli/read-flags.js";
import { concurrency } from "../flags/concurrency.js";
import { CONFIG_FLAGS } from "../flags/config-flag.js";
import { GATE_FLAGS, gateShape } from "../flags/gate-flags.js";
import { JUDGE_FLAGS, judgeShape } from "../flags/judge-flags.js";
import { OTLP_FLAGS, otlpShape } from "../flags/otlp-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "../flags/overwrite-flag.js";
import { PROTOCOL_FLAGS, protocolShape } from "../flags/protocol-flag.js";
import { DATASET_FLAGS, datasetSchema, SELECTION_FLAGS, selectionSchema } from "../flags/question-flags.js";
import { SCORER_FLAGS, scorerShape } from "../flags/scorer-flags.js";
import { SUITE_RESOURCE_FLAGS, suiteResourceShape } from "../flags/suite-resource-flags.js";
import { SUITE_SELECTION_FLAGS, suiteSelectionShape } from "../flags/suite-selection-flags.js";
import { AGENT_TARGET_FLAGS } from "./agent-target-flags.js";

const CUTOFFS = ["query_date", "off"] as const;
const WIRE_APIS = ["chat", "responses"] as const;

/** Node's timers count milliseconds in 31 bits; a longer timer fires at once. */
const LONGEST_TIMER_S = 2_147_483;

export const RUN_FLAGS: Flags = {
  agent: {
    alias: "a",
    type: "string",
    requiresArg: true,
    describe: "Agent to test (art-e agents list); required",
  },
  suite: {
    type: "string",
    requiresArg: true,
    describe: "A task suite's folder: its tasks instead of questions about mailboxes",
  },
  ...SUITE_SELECTION_FLAGS,
  oracle: {
    type: "string",
    requiresArg: true,
    describe: "Oracle file for the agent oracle [default: the suite's oracle.jsonl]",
  },
  ...SUITE_RESOURCE_FLAGS,
  ...DATASET_FLAGS,
  limit: {
    alias: "l",
    type: "number",
    requiresArg: true,
    describe: "Max tasks to run; 0 = all [default: 10]",
  },
  stats: { type: "boolean", describe: "Show the dataset's statistics and exit" },
  ...SELECTION_FLAGS,
  ...PROTOCOL_FLAGS,
  "model-provider": {
    type: "string",
    requiresArg: true,
    describe: `${PROVIDERS.join(", ")} [default: as the model's name tells]`,
  },
  "model-id": {
    type: "string",
    requiresArg: true,
    describe: `The model, as provider/name or name [default: the agent's own, else ${DEFAULT_MODEL}]`,
  },
  "base-url": { type: "string", requiresArg: true, describe: "Address of a compatible server" },
  "wire-api": {
    type: "string",
    requiresArg: true,
    describe: "chat or responses, for openai [default: by server]",
  },
  concurrency: {
    type: "string",
    requiresArg: true,
    describe: "Tasks under way at once, or auto: as many as the server takes [default: auto]",
  },
  queue: {
    type: "string",
    requiresArg: true,
    describe: "Let the workers of a Redis server answer (art-e worker): redis://HOST:PORT [ART_E_QUEUE_URL]",
  },
  rpm: { type: "number", requiresArg: true, describe: "At most so many requests a minute" },
  tpm: { type: "number", requiresArg: true, describe: "At most so many tokens a minute, in and out" },
  epochs: { type: "number", requiresArg: true, describe: "Ask every question so many times [default: 1]" },
  resume: { type: "string", requiresArg: true, describe: "Go on with a run: its id, the beginning of it, or latest" },
  repeat: {
    type: "string",
    requiresArg: true,
    describe: "A new run that asks what RUN asked, with the agent and the settings it had",
  },
  name: { type: "string", requiresArg: true, describe: "Name the new run, which can then be asked for by it" },
  "retry-failed": { type: "boolean", describe: "With --resume: answer the failed tasks again too" },
  force: {
    type: "boolean",
    describe: "With --resume, --repeat: go on though something has changed, and record what differs",
  },
  "max-cost": { type: "number", requiresArg: true, describe: "Stop the run at so many US dollars; it can be resumed" },
  "max-run-tokens": { type: "number", requiresArg: true, describe: "Stop the run at so many tokens, in and out" },
  "max-time": { type: "number", requiresArg: true, describe: "Stop the run after so many minutes" },
  "max-failures": {
    type: "string",
    requiresArg: true,
    describe: "Stop the run at so many failed tasks, or a share: 5%",
  },
  "max-task-cost": { type: "number", requiresArg: true, describe: "End a task at so many US dollars" },
  price: { type: "string", requiresArg: true, describe: "IN,OUT[,CACHED]: US dollars for a million tokens" },
  "dry-run": { type: "boolean", describe: "Estimate tokens, cost and time, and spend nothing" },
  "max-turns": {
    type: "number",
    requiresArg: true,
    describe: "Model calls a task [default: the agent's, 10]",
  },
  "max-tokens": {
    type: "number",
    requiresArg: true,
    describe: "Tokens of one reply [default: the agent's, 2048]",
  },
  "reasoning-tokens": {
    type: "number",
    requiresArg: true,
    describe: "Tokens for reasoning beside them [default: the agent's, else by the model]",
  },
  temperature: {
    type: "number",
    requiresArg: true,
    describe: "0-2 [default: the agent's, else the provider's]",
  },
  "task-timeout": { type: "number", requiresArg: true, describe: "Seconds a task may take [default: 600]" },
  "request-timeout": {
    type: "number",
    requiresArg: true,
    describe: "Seconds a model call may take before it is tried again [default: 180]",
  },
  cutoff: {
    type: "string",
    requiresArg: true,
    describe: "query_date (later mail is invisible) or off [default: query_date]",
  },
  "partial-inboxes": { type: "boolean", describe: "Also ask about mailboxes that are not imported as such" },
  cache: { type: "boolean", describe: "Keep the model's replies in the cache folder, and answer from them" },
  "unsafe-host-python": {
    type: "boolean",
    describe: "Let execute_python run outside any sandbox, with your rights",
  },
  ...SCORER_FLAGS,
  ...JUDGE_FLAGS,
  record: {
    type: "string",
    requiresArg: true,
    describe: "Keep the model's replies in FILE, for --model-id replay/FILE",
  },
  watch: { type: "boolean", describe: "Serve a page on this machine that shows the run as it goes on" },
  output: { alias: "o", type: "string", requiresArg: true, describe: "Save the results to a JSON file" },
  ...OVERWRITE_FLAGS,
  ...GATE_FLAGS,
  ...OTLP_FLAGS,
  ...AGENT_TARGET_FLAGS,
  ...CONFIG_FLAGS,
};

export const runSchema = datasetSchema.extend(selectionSchema.shape).extend({
  agent: text.optional(),
  suite: text.optional(),
  ...suiteSelectionShape,
  oracle: text.optional(),
  ...suiteResourceShape,
  limit: wholeNumber(0).default(10),
  stats: z.boolean().default(false),
  ...protocolShape,
  modelProvider: text.optional(),
  modelId: text.optional(),
  baseUrl: text.optional(),
  wireApi: oneOf(WIRE_APIS).optional(),
  concurrency,
  queue: text.optional(),
  rpm: numberAbove(0, Number.MAX_SAFE_INTEGER).optional(),
  tpm: numberAbove(0, Number.MAX_SAFE_INTEGER).optional(),
  epochs: wholeNumber(1, 1_000).default(1),
  resume: text.optional(),
  repeat: text.optional(),
  name: text.optional(),
  retryFailed: z.boolean().default(false),
  force: z.boolean().default(false),
  maxCost: numberAbove(0, Number.MAX_SAFE_INTEGER).optional(),
  maxRunTokens: wholeNumber(1).optional(),
  maxTime: numberAbove(0, LONGEST_TIMER_S / 60).optional(),
  maxFailures: failures.optional(),
  maxTaskCost: numberAbove(0, Number.MAX_SAFE_INTEGER).optional(),
  price: price.optional(),
  dryRun: z.boolean().default(false),
  maxTurns: wholeNumber(1, 1_000).optional(),
  maxTokens: wholeNumber(1).optional(),
  reasoningTokens: wholeNumber(0).optional(),
  temperature: numberBetween(0, 2).optional(),
  taskTimeout: numberAbove(0, LONGEST_TIMER_S).default(600),
  requestTimeout: numberAbove(0, LONGEST_TIMER_S).default(180),
  cutoff: oneOf(CUTOFFS).default("query_date"),
  partialInboxes: z.boolean().default(false),
  cache: z.boolean().default(false),
  unsafeHostPython: z.boolean().default(false),
  ...scorerShape,
  ...judgeShape,
  record: text.optional(),
  watch: z.boolean().default(false),
  output: text.optional(),
  ...overwriteShape,
  ...gateShape,
  ...otlpShape,
  workspace: text.optional(),
  apiUrl: text.optional(),
  tellTask: z.boolean().default(false),
  agentCommand: text.optional(),
  agentUrl: text.optional(),
});

export type RunFlags = z.output<typeof runSchema>;
