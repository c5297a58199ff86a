/**
 * Messages between a running run and `art-e ctl`: one JSON line per request and one per reply, over a Unix socket.
 * Both sides parse what they receive.
 */
import { z } from "zod";
import { firstIssue } from "../platform/json.js";
import { LIMIT_VALUES, runLimitsSchema } from "../traces/run-settings.js";

/** Maximum characters of a message. */
export const MAX_MESSAGE_CHARS = 1_000_000;

const reason = z.string().max(1_000).nullable().default(null).describe("Reason from the user, or null.");

/** Not `exactOptional`, which the OpenAPI document would list as required. */
const controlChangesSchema = z
  .strictObject({
    concurrency: LIMIT_VALUES.concurrency.optional(),
    rpm: LIMIT_VALUES.rpm.optional().describe("Requests per minute."),
    tpm: LIMIT_VALUES.tpm.optional().describe("Tokens per minute."),
    taskTimeoutMs: LIMIT_VALUES.taskTimeoutMs.optional(),
    maxCostUsd: LIMIT_VALUES.maxCostUsd.optional(),
    maxTokens: LIMIT_VALUES.maxTokens.optional(),
    maxTimeMs: LIMIT_VALUES.maxTimeMs.optional(),
  })
  .refine((changes) => Object.keys(changes).length > 0, "expected at least one limit");

export type ControlChanges = Readonly<z.output<typeof controlChangesSchema>>;

export const controlCommandSchema = z.discriminatedUnion("command", [
  z.strictObject({ command: z.enum(["pause", "resume", "requeue"]), reason }),
  z.strictObject({ command: z.literal("cancel"), now: z.boolean().describe("Stop running tasks, too."), reason }),
  z.strictObject({ command: z.literal("set"), changes: controlChangesSchema, reason }),
]);

/** A request that changes the run. */
export type ControlCommand = Readonly<z.output<typeof controlCommandSchema>>;

export const controlRequestSchema = z.discriminatedUnion("command", [
  z.strictObject({ command: z.literal("show"), showText: z.boolean() }),
  ...controlCommandSchema.options,
]);

export type ControlRequest = Readonly<z.output<typeof controlRequestSchema>>;

const count = z.number().int().nonnegative();

export const controlledRunSchema = z.strictObject({
  runId: z.string(),
  pid: z.number().int(),
  db: z.string().describe("Path of the database."),
  state: z.enum(["running", "paused", "canceled"]),
  totalTasks: count,
  savedTasks: count,
  failedTasks: count,
  running: z
    .array(
      z.strictObject({
        taskId: z.union([z.number(), z.string()]),
        epoch: z.number().int(),
        seconds: z.number(),
        question: z.string().nullable().describe("Null unless the text was requested."),
      }),
    )
    .readonly(),
  costUsd: z.number().nullable().describe("The agent's cost in US dollars, over the saved tasks, or null if unknown."),
  judgeCostUsd: z.number().nullable().describe("Cost of judging the saved tasks in US dollars, or null if unknown."),
  totalCostUsd: z.number().nullable().describe("Sum of both, or null if either is unknown."),
  spentUsd: z
    .number()
    .describe("US dollars for new calls, including judging and running tasks. This counts toward the cost budget."),
  tokens: z.number(),
  limits: runLimitsSchema,
  held: z
    .strictObject({ state: z.enum(["paused", "stopping", "waiting"]), text: z.string() })
    .nullable()
    .describe("Reason why the run does not go forward, or null."),
  changes: z.array(z.string()).readonly().describe("Changes of the run's settings, oldest first."),
});

/** State of a running run. Contains no email text unless it was requested. */
export type ControlledRun = Readonly<z.output<typeof controlledRunSchema>>;

export const controlReplySchema = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true), run: controlledRunSchema, message: z.string() }),
  z.strictObject({ ok: z.literal(false), code: z.string(), message: z.string(), hint: z.string() }),
]);

export type ControlReply = Readonly<z.output<typeof controlReplySchema>>;

/** Must not throw. */
export type AnswerControl = (request: ControlRequest) => Promise<ControlReply>;

/** Parses a received request, and returns the answer, or an error for a request that cannot be read. */
export async function replyToControl(received: unknown, answer: AnswerControl): Promise<ControlReply> {
  const request = controlRequestSchema.safeParse(received);
  if (!request.success) {
    const message = `Cannot read the control request: ${firstIssue(request.error)}.`;
    const hint = "Correct the value, or use the same version of art-e for the run and for art-e ctl.";
    return { ok: false, code: "control_request_invalid", message, hint };
  }
  return answer(request.data);
}
