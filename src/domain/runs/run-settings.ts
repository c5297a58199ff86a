import { z } from "zod";
import { agentTargetSchema } from "../agents/agent-target.js";
import { sentParametersSchema } from "../models/model.js";
import { judgeSettingsSchema } from "../scores/judgement.js";

/** What makes a run repeatable. */
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
    changes: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe("Settings that were changed when the run went on (--resume --force): what differed, in words."),
  })
  .describe("What makes the run repeatable.");

export type RunSettings = Readonly<z.output<typeof runSettingsSchema>>;
