import { z } from "zod";
import { sentParametersSchema } from "../models/model.js";
import { REASONING_EFFORTS } from "../models/reasoning-effort.js";
import { extrasShape } from "../models/request-extras.js";
import { jsonObjectSchema } from "../platform/json.js";
import { judgeSettingsSchema } from "./trace.js";

export const runLimitsSchema = z
  .strictObject({
    maxCostUsd: z.number().positive().nullable().describe("US dollars, what judging costs included."),
    maxTokens: z.number().int().positive().nullable().describe("Tokens, in and out."),
    maxTimeMs: z.number().positive().nullable().describe("Time that is worked on it."),
    maxFailures: z
      .union([z.strictObject({ tasks: z.number() }), z.strictObject({ share: z.number() })])
      .nullable()
      .describe(
        "Failed tasks: a number of them, or a share of those finished (which counts from the twentieth on). Counted anew when the run is resumed.",
      ),
  })
  .describe("What the run may spend; null: no limit.");

export type RunLimits = Readonly<z.output<typeof runLimitsSchema>>;

export const NO_LIMITS: RunLimits = { maxCostUsd: null, maxTokens: null, maxTimeMs: null, maxFailures: null };

/** Where the agent of a run lives, if not in this program. Part of a run's settings: never a secret. */
const agentTargetSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("api").describe("A server that speaks the playground API."),
      url: z.string().describe("Its address."),
      workspace: z.string().nullable().describe("The workspace there."),
      tellTask: z.boolean().describe("Mailbox and day are put into the question too."),
    }),
    z.strictObject({
      kind: z.literal("command").describe("A program."),
      argv: z.array(z.string()).readonly().describe("The program and its arguments."),
    }),
    z.strictObject({
      kind: z.literal("human").describe("A person at the terminal."),
    }),
    z.strictObject({
      kind: z.literal("endpoint").describe("An OpenAI-compatible address that runs its own tools."),
      url: z.string().describe("Its address."),
    }),
  ])
  .readonly();

export type AgentTarget = z.output<typeof agentTargetSchema>;

export const runSettingsSchema = z
  .strictObject({
    agentId: z.string().describe("The agent."),
    agentVersion: z
      .number()
      .int()
      .nonnegative()
      .describe(
        "Its version, 0 where it lives elsewhere: prompt, model, settings and tools are kept whole under this number.",
      ),
    repeats: z.string().exactOptional().describe("The run that this one repeats."),
    model: z.string().describe("provider/name."),
    baseUrl: z.string().nullable().describe("Address of a compatible server; null for the maker's own."),
    wireApi: z.enum(["chat", "responses"]).nullable().describe("OpenAI's wire format; null by server."),
    prompt: z.string().describe("The agent's prompt, its variables not filled in."),
    tools: z.array(z.string()).readonly().describe("Ids of the agent's tools."),
    toolsDigest: z.string().describe("SHA-256 over what the model is told of the tools and how they are configured."),
    maxTurns: z.number().int().positive().describe("Model calls before a task ends as out_of_turns."),
    maxTokens: z.number().int().positive().describe("Tokens of one reply, its reasoning not counted."),
    reasoningTokens: z
      .number()
      .int()
      .nonnegative()
      .exactOptional()
      .describe("Tokens for reasoning beside maxTokens; absent: by what the model is."),
    temperature: z.number().nullable().describe("Null: the provider's default."),
    reasoningEffort: z
      .enum(REASONING_EFFORTS)
      .exactOptional()
      .describe("How much the model should reason; absent: the model's default."),
    ...extrasShape,
    toolCalls: z.string().describe("all, or first: only the first tool call of a reply is made."),
    toolChoice: z.string().describe("auto, or required: the model must call a tool in every turn."),
    sent: sentParametersSchema
      .readonly()
      .exactOptional()
      .describe(
        "What of these settings a call sent to the provider; absent where nothing was sent, or by older versions.",
      ),
    cutoff: z.enum(["query_date", "off"]).describe("Whether mail from after the question's day is invisible."),
    mailFilter: z
      .enum(["none", "art"])
      .exactOptional()
      .describe(
        "Whether all mail was imported through ART's filter; absent: not known, or the agent has mail of its own.",
      ),
    taskTimeoutMs: z.number().positive().describe("How long a task may take."),
    maxTaskCostUsd: z.number().nullable().describe("What a task may cost; null: no limit."),
    price: z
      .strictObject({ input: z.number(), output: z.number(), cachedInput: z.number() })
      .readonly()
      .nullable()
      .describe("US dollars for a million tokens, where --price gave it; null: by the price table."),
    concurrency: z.union([z.literal("auto"), z.number()]).describe("Tasks under way at once."),
    selection: z.record(z.string(), z.unknown()).readonly().describe("Which questions of the dataset were asked."),
    functions: z
      .string()
      .exactOptional()
      .describe("The module of the user's own set-up and evaluation functions, for tasks of a suite."),
    unsafeHostPython: z
      .literal(true)
      .exactOptional()
      .describe("Python ran on the bare host (--unsafe-host-python); absent: in a sandbox, if at all."),
    epochs: z.number().int().positive().describe("Repeats of every question."),
    elsewhere: agentTargetSchema
      .exactOptional()
      .describe("Where the agent lives, if not in this program: its prompt, tools and limits are then its own affair."),
    scorers: z.array(z.string()).readonly().describe("Names of the scorers, in the order of their table."),
    oracle: z
      .string()
      .exactOptional()
      .describe("The oracle file that the model offline/oracle goes by; absent: another model."),
    judge: judgeSettingsSchema.readonly().nullable().describe("The model that judged the answers; null: none."),
    imported: z
      .strictObject({
        format: z.string().describe("The format of the file."),
        file: z.string().describe("Its name."),
        sha256: z.string().describe("SHA-256 of its bytes."),
        tools: z
          .array(
            z.strictObject({
              name: z.string().describe("The tool."),
              description: z.string().describe("What it does."),
              parameters: jsonObjectSchema.describe("A JSON Schema of its parameters."),
            }),
          )
          .readonly()
          .describe("What the model was told of its tools, as far as the file says it."),
      })
      .readonly()
      .exactOptional()
      .describe(
        "The traces were imported from a file: of the settings only agent, model, maxTurns and epochs are known, the others are defaults.",
      ),
    environment: z
      .strictObject({
        protocol: z.literal("openenv").describe("How the trainer talked to it."),
        reward: z.string().describe("The scorer whose value was paid."),
        maxTokens: z.number().int().positive().nullable().describe("Tokens of an episode; null: no limit."),
      })
      .readonly()
      .exactOptional()
      .describe(
        "The tasks are episodes of a training environment: the model was a trainer's, and prompt and limits of its calls are not known. Absent: the run was art-e's own.",
      ),
    changes: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe("Settings that were changed when the run went on (--resume --force): what differed, in words."),
  })
  .describe("What makes the run repeatable.");

export type RunSettings = Readonly<z.output<typeof runSettingsSchema>>;
