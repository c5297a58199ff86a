import { z } from "zod";
import { sentParametersSchema } from "../models/model.js";
import { REASONING_EFFORTS } from "../models/reasoning-effort.js";
import { extrasShape } from "../models/request-extras.js";
import { jsonObjectSchema } from "../platform/json.js";
import { judgeSettingsSchema } from "./trace.js";

export const runLimitsSchema = z
  .strictObject({
    maxCostUsd: z.number().positive().nullable().describe("US dollars, including the cost of judging."),
    maxTokens: z.number().int().positive().nullable().describe("Input and output tokens."),
    maxTimeMs: z.number().positive().nullable().describe("Milliseconds of work on the run."),
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
  ])
  .readonly();

export type AgentTarget = z.output<typeof agentTargetSchema>;

export const runSettingsSchema = z
  .strictObject({
    agentId: z.string().describe("Agent id."),
    agentVersion: z
      .number()
      .int()
      .nonnegative()
      .describe("Agent version. Its complete prompt, model, settings and tools are stored. 0 for an external agent."),
    repeats: z.string().exactOptional().describe("Run that this one repeats."),
    model: z.string().describe("provider/name."),
    baseUrl: z
      .string()
      .nullable()
      .describe("Base URL of a compatible server, or null if the provider's own server is used."),
    wireApi: z
      .enum(["chat", "responses"])
      .nullable()
      .describe("OpenAI wire format, or null if it is chosen based on the server."),
    prompt: z.string().describe("Agent prompt, before its variables are filled in."),
    tools: z.array(z.string()).readonly().describe("Ids of the agent's tools."),
    toolsDigest: z
      .string()
      .describe("SHA-256 of the tools' configuration and of the descriptions that the model receives."),
    maxTurns: z
      .number()
      .int()
      .positive()
      .describe("Maximum model calls per task. After that, the task ends as out_of_turns."),
    maxTokens: z.number().int().positive().describe("Maximum tokens per reply, excluding reasoning."),
    reasoningTokens: z
      .number()
      .int()
      .nonnegative()
      .exactOptional()
      .describe("Reasoning tokens in addition to maxTokens. If absent, they depend on the model."),
    temperature: z.number().nullable().describe("Sampling temperature, or null for the provider's default."),
    reasoningEffort: z
      .enum(REASONING_EFFORTS)
      .exactOptional()
      .describe("Reasoning effort of the model. If absent, the model's default."),
    ...extrasShape,
    toolCalls: z.string().describe("all, or first if only the first tool call in a reply is executed."),
    toolChoice: z.string().describe("auto, or required if the model must call a tool in every turn."),
    sent: sentParametersSchema
      .readonly()
      .exactOptional()
      .describe(
        "The settings sent to the provider with a call. Absent if no call was sent, or in runs of earlier versions.",
      ),
    cutoff: z
      .enum(["query_date", "off"])
      .describe("Whether email after the question's date is hidden (query_date) or visible (off)."),
    mailFilter: z
      .enum(["none", "art"])
      .exactOptional()
      .describe(
        "Whether all mail was imported through ART's filter. Absent if unknown, or if the agent has its own mail.",
      ),
    taskTimeoutMs: z.number().positive().describe("Maximum milliseconds per task."),
    maxTaskCostUsd: z.number().nullable().describe("Maximum US dollars per task, or null if unlimited."),
    price: z
      .strictObject({ input: z.number(), output: z.number(), cachedInput: z.number() })
      .readonly()
      .nullable()
      .describe("US dollars per million tokens, as set by --price, or null if the price table is used."),
    concurrency: z.union([z.literal("auto"), z.number()]).describe("Maximum number of concurrent tasks."),
    selection: z.record(z.string(), z.unknown()).readonly().describe("Selection of questions from the dataset."),
    functions: z
      .string()
      .exactOptional()
      .describe("Module with custom setup and evaluation functions for suite tasks."),
    unsafeHostPython: z
      .literal(true)
      .exactOptional()
      .describe(
        "Whether Python ran outside a sandbox (--unsafe-host-python). Absent if it ran in a sandbox or not at all.",
      ),
    epochs: z.number().int().positive().describe("Number of epochs per question."),
    elsewhere: agentTargetSchema
      .exactOptional()
      .describe("The external agent, which has its own prompt, tools and limits. Absent for other agents."),
    scorers: z.array(z.string()).readonly().describe("Scorers, in the order of the table of scorers."),
    oracle: z.string().exactOptional().describe("Oracle file for the model offline/oracle. Absent for other models."),
    judge: judgeSettingsSchema
      .readonly()
      .nullable()
      .describe("Model that judged the answers, or null without a judge."),
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
      .exactOptional()
      .describe(
        "File that the traces were imported from. Of the settings, only agent, model, maxTurns and epochs are known. The others are defaults.",
      ),
    environment: z
      .strictObject({
        protocol: z.literal("openenv").describe("Protocol between trainer and environment."),
        reward: z.string().describe("Scorer whose value is the reward."),
        maxTokens: z.number().int().positive().nullable().describe("Maximum tokens per episode, or null if unlimited."),
      })
      .readonly()
      .exactOptional()
      .describe(
        "Training environment whose episodes are the tasks. A trainer called the model, so the prompt and limits of its calls are unknown. Absent for runs that art-e itself executed.",
      ),
    changes: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe("Descriptions of settings that changed when the run was resumed with --resume --force."),
  })
  .describe("Settings that make the run repeatable.");

export type RunSettings = Readonly<z.output<typeof runSettingsSchema>>;
