// The settings of a run, by who answered it. They contain everything that affects its measurements.
import { z } from "zod";
import { sentParametersSchema } from "../models/model.js";
import { REASONING_EFFORTS } from "../models/reasoning-effort.js";
import { extrasShape } from "../models/request-extras.js";
import { TOOL_RESULTS } from "../models/tool-results.js";
import { LONGEST_TIMER_MS } from "../platform/deadline.js";
import { concurrencyValue, numberAbove, wholeNumber } from "../platform/flag-values.js";
import { jsonObjectSchema } from "../platform/json.js";
import { ATTACK_KINDS } from "../tasks/attack.js";
import { judgeSettingsSchema } from "./judgment.js";

const positive = numberAbove(0);
const duration = numberAbove(0, LONGEST_TIMER_MS);

/** The values that a run's limits can have, in flags, requests, queue messages and stored settings alike. */
export const LIMIT_VALUES = {
  concurrency: concurrencyValue,
  rpm: positive,
  tpm: positive,
  taskTimeoutMs: duration,
  maxCostUsd: positive,
  maxTokens: wholeNumber(1),
  maxTimeMs: duration,
};

export const runLimitsSchema = z
  .strictObject({
    maxCostUsd: LIMIT_VALUES.maxCostUsd.nullable().describe("US dollars, including the cost of judging."),
    maxTokens: LIMIT_VALUES.maxTokens.nullable().describe("Input and output tokens."),
    maxTimeMs: LIMIT_VALUES.maxTimeMs.nullable().describe("Milliseconds of work on the run."),
    maxFailures: z
      .union([z.strictObject({ tasks: z.number() }), z.strictObject({ share: z.number() })])
      .nullable()
      .describe(
        "Number of failed tasks, or their fraction of the finished tasks, which applies once 20 tasks have finished. The count restarts when the run is resumed.",
      ),
  })
  .describe("Budgets of the run. Null means unlimited.");

export type RunLimits = Readonly<z.output<typeof runLimitsSchema>>;

export const NO_LIMITS: RunLimits = { maxCostUsd: null, maxTokens: null, maxTimeMs: null, maxFailures: null };

/** The external agent of a run. It is part of the run's settings and never contains a secret. */
const agentTargetSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("api").describe("A server that implements the playground API."),
      url: z.string().describe("Base URL of the server."),
      workspace: z.string().nullable().describe("Workspace on the server."),
      tellTask: z.boolean().describe("Whether the question also contains the mailbox and the date."),
    }),
    z.strictObject({
      kind: z.literal("command").describe("A program."),
      argv: z.array(z.string()).readonly().describe("Program and arguments."),
    }),
    z.strictObject({
      kind: z.literal("human").describe("A person at the terminal."),
    }),
    z.strictObject({
      kind: z.literal("endpoint").describe("An OpenAI-compatible endpoint that runs its own tools."),
      url: z.string().describe("Base URL of the endpoint."),
    }),
    z.strictObject({
      kind: z.literal("function").describe("A function of a program that uses art-e as a library."),
      name: z.string().describe("Name of the function."),
    }),
  ])
  .readonly();

export type AgentTarget = z.output<typeof agentTargetSchema>;

export const PERTURBATIONS = ["reworded", "tool-error", "latency", "shuffled", "hostile", "hostile-control"] as const;

export type Perturbation = (typeof PERTURBATIONS)[number];

/** Settings that are known for every run. */
const sharedShape = {
  agentId: z.string().describe("Agent id."),
  model: z.string().describe("provider/name."),
  tools: z.array(z.string()).readonly().describe("Ids of the agent's tools."),
  maxTurns: z
    .number()
    .int()
    .positive()
    .describe("Maximum model calls per task. After that, the task ends as out_of_turns."),
  epochs: z.number().int().positive().describe("Number of epochs per question."),
  scorers: z.array(z.string()).readonly().describe("Scorers, in the order of their table."),
  judge: judgeSettingsSchema.readonly().nullable().describe("Model that judged the answers, or null without a judge."),
  changes: z
    .array(z.string())
    .readonly()
    .exactOptional()
    .describe(
      "Settings that changed when the run was resumed with --resume --force, and changes made by art-e ctl, each with its time and reason.",
    ),
};

const agentVersion = z
  .number()
  .int()
  .nonnegative()
  .describe("Agent version, under which the complete prompt, model, settings and tools are stored.");
const prompt = z.string().describe("Agent prompt, with its variables not filled in.");
const maxTokens = z.number().int().positive().describe("Maximum tokens per reply, excluding reasoning.");
const temperature = z.number().nullable().describe("Sampling temperature, or null for the provider's default.");
const taskTimeoutMs = "Maximum milliseconds per task.";
const maxTaskCostUsd = z.number().nullable().describe("Maximum US dollars per task, or null if unlimited.");
const selection = z.record(z.string(), z.unknown()).readonly().describe("Selection of questions from the dataset.");

/** Settings of an agent in the registry. */
const registeredAgentShape = {
  agentVersion,
  prompt,
  toolsDigest: z
    .string()
    .describe("SHA-256 of the tools' configuration and of the descriptions that the model receives."),
  mailFilter: z
    .enum(["none", "art"])
    .exactOptional()
    .describe("Whether all mail was imported through ART's filter. Absent if unknown."),
};

/** Conditions that art-e sets for the tasks of its own runs and of training runs. */
const conditionsShape = {
  cutoff: z
    .enum(["query_date", "off"])
    .describe("Whether email after the question's date is hidden (query_date) or visible (off)."),
  taskTimeoutMs: LIMIT_VALUES.taskTimeoutMs.describe(taskTimeoutMs),
  concurrency: LIMIT_VALUES.concurrency.describe("Maximum number of concurrent tasks."),
  selection,
};

export const untilSchema = z
  .strictObject({
    relation: z.enum(["better", "no_worse", "different"]).describe("The claim about this run and its baseline."),
    by: z.number().nonnegative().describe("Margin of the claim, in the score's unit."),
    notBy: z
      .number()
      .positive()
      .nullable()
      .describe("The claim is refuted if the gain is below this. Null means below the margin of the claim."),
    baseline: z.string().describe("Run id or results file of the baseline."),
    metric: z.string().describe("Scorer."),
    seed: z.number().int().nonnegative().describe("Seed of the order in which the questions are asked."),
  })
  .readonly();

export type UntilSettings = z.output<typeof untilSchema>;

const attackKinds = z
  .array(z.enum(ATTACK_KINDS))
  .min(1)
  .readonly()
  .describe("Kinds of the planted emails. Absent for all kinds, and without planted emails.");

/** Disturbance of the tasks, for runs and training runs. */
const perturbationShape = {
  perturbation: z
    .enum(PERTURBATIONS)
    .exactOptional()
    .describe(
      "Disturbance of each task (--perturb): reworded question, error of the first tool call, slow tools, search results in another order, hostile emails, or harmless emails of the same shape. Absent for an undisturbed run.",
    ),
  attackKinds: attackKinds.exactOptional(),
};

/** Settings of a run that art-e executes, with its own agent loop or with an external agent. */
const executedShape = {
  ...conditionsShape,
  ...extrasShape,
  repeats: z.string().exactOptional().describe("Run that this one repeats."),
  price: z
    .strictObject({ input: z.number(), output: z.number(), cachedInput: z.number() })
    .readonly()
    .nullable()
    .describe("US dollars per million tokens from --price, or null to use the price table."),
  queue: z.literal(true).exactOptional().describe("Present if the workers of a queue answered (--queue)."),
  until: untilSchema.exactOptional().describe("Claim that stops the run when it is settled (--until)."),
  functions: z.string().exactOptional().describe("Module with custom setup and evaluation functions for suite tasks."),
};

export const ownRunSettingsSchema = z
  .strictObject({
    kind: z.literal("own").describe("art-e's agent loop answered."),
    ...sharedShape,
    ...registeredAgentShape,
    ...executedShape,
    baseUrl: z.string().nullable().describe("Base URL of a compatible server, or null for the provider's own server."),
    wireApi: z.enum(["chat", "responses"]).nullable().describe("OpenAI wire format, or null to choose it by server."),
    maxTokens,
    reasoningTokens: z
      .number()
      .int()
      .nonnegative()
      .exactOptional()
      .describe("Reasoning tokens in addition to maxTokens. If absent, the number depends on the model."),
    temperature,
    reasoningEffort: z
      .enum(REASONING_EFFORTS)
      .exactOptional()
      .describe("Reasoning effort of the model. If absent, the model's default."),
    toolCalls: z.string().describe("all, or first if only the first tool call of a reply is executed."),
    toolChoice: z.string().describe("auto, or required if the model must call a tool in every turn."),
    toolResults: z
      .enum(TOOL_RESULTS)
      .exactOptional()
      .describe("How the model received tool results. If absent, unchanged (plain)."),
    sent: sentParametersSchema
      .readonly()
      .exactOptional()
      .describe("The settings sent to the provider with a call. Absent if no call was sent."),
    maxTaskCostUsd,
    unsafeHostPython: z
      .literal(true)
      .exactOptional()
      .describe(
        "Whether Python ran outside a sandbox (--unsafe-host-python). Absent if it ran in a sandbox or not at all.",
      ),
    ...perturbationShape,
    oracle: z.string().exactOptional().describe("Oracle file for the model offline/oracle. Absent for other models."),
  })
  .describe("A run of art-e's agent loop.");

export const externalRunSettingsSchema = z
  .strictObject({
    kind: z.literal("external").describe("An external agent answered."),
    ...sharedShape,
    ...executedShape,
    externalAgent: agentTargetSchema.describe("The external agent, which has its own prompt, tools and limits."),
  })
  .describe("A run with an external agent.");

const importedRunSettingsSchema = z
  .strictObject({
    kind: z.literal("imported").describe("The traces were imported from a file."),
    ...sharedShape,
    imported: z
      .strictObject({
        format: z.string().describe("Format of the file."),
        file: z.string().describe("File name."),
        sha256: z.string().describe("SHA-256 of the file's bytes."),
        tools: z
          .array(
            z.strictObject({
              name: z.string().describe("Tool name."),
              description: z.string().describe("Tool description."),
              parameters: jsonObjectSchema.describe("JSON Schema of the tool's parameters."),
            }),
          )
          .readonly()
          .describe("Tools that were sent to the model, as far as the file describes them."),
      })
      .readonly()
      .describe("File that the traces were imported from."),
    agentVersion: agentVersion.exactOptional(),
    prompt: prompt.exactOptional(),
    maxTokens: maxTokens.exactOptional(),
    temperature: temperature.exactOptional(),
    taskTimeoutMs: z.number().positive().describe(taskTimeoutMs).exactOptional(),
    maxTaskCostUsd: maxTaskCostUsd.exactOptional(),
    selection: selection.exactOptional(),
  })
  .describe("A run from a file. Settings that the file does not state are absent.");

const trainingRunSettingsSchema = z
  .strictObject({
    kind: z.literal("training").describe("A trainer's model answered in a training environment."),
    ...sharedShape,
    ...registeredAgentShape,
    ...conditionsShape,
    ...perturbationShape,
    environment: z
      .strictObject({
        protocol: z.literal("openenv").describe("Protocol between trainer and environment."),
        reward: z.string().describe("Scorer whose value is the reward."),
        maxTokens: z.number().int().positive().nullable().describe("Maximum tokens per episode, or null if unlimited."),
      })
      .readonly()
      .describe("Training environment whose episodes are the tasks."),
  })
  .describe("A training run. The settings of the trainer's model calls are unknown.");

/** Who answered: art-e's agent loop, an external agent, an unknown program, or a trainer's model. */
export const runSettingsSchema = z
  .discriminatedUnion("kind", [
    ownRunSettingsSchema,
    externalRunSettingsSchema,
    importedRunSettingsSchema,
    trainingRunSettingsSchema,
  ])
  .describe("Settings of the run, depending on who answered.");

export type OwnRunSettings = Readonly<z.output<typeof ownRunSettingsSchema>>;
export type ExternalRunSettings = Readonly<z.output<typeof externalRunSettingsSchema>>;
export type ImportedRunSettings = Readonly<z.output<typeof importedRunSettingsSchema>>;
export type TrainingRunSettings = Readonly<z.output<typeof trainingRunSettingsSchema>>;

export type RunSettings = OwnRunSettings | ExternalRunSettings | ImportedRunSettings | TrainingRunSettings;

/** Settings of a run that art-e can execute, resume and repeat. */
export type ExecutedRunSettings = OwnRunSettings | ExternalRunSettings;

/** Returns what disturbs every task of a run, or null. The settings can come from a results file. */
export function perturbationOf(settings: object): Perturbation | null {
  return PERTURBATIONS.find((one) => "perturbation" in settings && settings.perturbation === one) ?? null;
}
