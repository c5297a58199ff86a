import { readFile } from "node:fs/promises";
import { z } from "zod";
import { UserError } from "../../domain/errors.js";
import { jsonValueSchema } from "../../domain/json.js";
import { FINISH_REASONS, MODEL_ERROR_KINDS, NO_USAGE, retrySchema, usageSchema } from "../../domain/models/model.js";
import { completionSchema } from "./completion-schema.js";

/** How a call ended that got no reply: an error of the model's server, or the task's own time-out. */
const recordedFailureSchema = z.union([
  z.strictObject({ timedOut: z.literal(true) }),
  z.strictObject({ kind: z.enum(MODEL_ERROR_KINDS), message: z.string(), retries: z.array(retrySchema) }),
]);

const recordedKey = { key: z.string(), model: z.string() };

/** A line as `recording` writes it. `model` is whom the key was made for. */
export const recordedSchema = z.object({ ...recordedKey, completion: completionSchema });

const failedSchema = z.object({ ...recordedKey, failure: recordedFailureSchema });

export type RecordedFailure = z.output<typeof recordedFailureSchema>;

/** A reply written by hand. */
const scriptedReplySchema = z.strictObject({
  content: z.string().default(""),
  toolCalls: z
    .array(z.strictObject({ name: z.string(), arguments: jsonValueSchema, invalid: z.string().optional() }))
    .default([]),
  finishReason: z.enum(FINISH_REASONS).optional(),
  usage: usageSchema.default(NO_USAGE),
});

/** All replies to one question, in their order. Without `taskQuestion`: to every question that has none of its own. */
export const scriptSchema = z.strictObject({
  taskQuestion: z.string().optional(),
  replies: z.array(scriptedReplySchema),
});

export type Recorded = z.output<typeof recordedSchema> | z.output<typeof failedSchema>;
export type Script = z.output<typeof scriptSchema>;
export type ScriptedReply = z.output<typeof scriptedReplySchema>;

export interface ReplayFile {
  readonly recorded: readonly Recorded[];
  readonly scripts: readonly Script[];
}

/** Reads a replay file: JSON lines, or one JSON document that is an entry or a list of them. Throws a UserError. */
export async function readReplayFile(path: string): Promise<ReplayFile> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    const hint = "replay/FILE needs the path of a file of recorded or scripted replies.";
    throw new UserError("no_replay_file", `Cannot read the replay file ${path}.`, hint, undefined, { cause });
  });
  const recorded: Recorded[] = [];
  const scripts: Script[] = [];
  for (const { where, value } of entries(path, text)) {
    if (typeof value === "object" && value !== null && "key" in value) {
      recorded.push("failure" in value ? check(failedSchema, value, where) : check(recordedSchema, value, where));
    } else {
      scripts.push(check(scriptSchema, value, where));
    }
  }
  return { recorded, scripts };
}

function entries(path: string, text: string): { where: string; value: unknown }[] {
  try {
    const document: unknown = JSON.parse(text);
    const list = Array.isArray(document) ? document : [document];
    return list.map((value, i) => ({ where: `${path}, entry ${i + 1}`, value }));
  } catch {
    // More than one document: JSON lines.
  }
  const lines = text.split("\n").map((line, i) => ({ where: `${path}, line ${i + 1}`, line }));
  return lines
    .filter(({ line }) => line.trim() !== "")
    .map(({ where, line }) => ({ where, value: parseLine(line, where) }));
}

function parseLine(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    const hint = "Every line must be one JSON object; the last one may have been cut off.";
    throw new UserError("bad_replay_file", `${where} is not JSON.`, hint, undefined, { cause });
  }
}

function check<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const what = `${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`.trim();
  throw new UserError(
    "bad_replay_file",
    `${where} is neither a recorded nor a scripted reply: ${what}.`,
    'Recorded lines hold {key, model, completion} or {key, model, failure}; scripts {"taskQuestion": "...", "replies": [{content?, toolCalls?}]}.',
  );
}
