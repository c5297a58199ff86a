// Sessions of the OpenEnv protocol, with the schemas of their messages and answers, for all transports.
import { z } from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { resultValue, type Tool, type ToolResult } from "../../tools/tool.js";
import {
  type BegunEpisode,
  type EpisodeRequest,
  NoSuchTask,
  type TrainingEnvironment,
} from "../../training/environment.js";
import type { EpisodeEnd, EpisodeStep } from "../../training/episode.js";
import type { Access } from "../access.js";

const NAMES_TOLD = 20;

export interface SessionLimits {
  readonly maxSessions: number;
  /** Milliseconds without a message after which a session ends. */
  readonly idleMs: number;
}

/** Other keys of a reset are allowed and reported as ignored. */
export const resetSchema = z.looseObject({
  seed: z.int().nonnegative().nullish(),
  episode_id: z.string().min(1).max(255).nullish(),
  split: z.string().max(100).nullish(),
  index: z.int().nonnegative().nullish(),
  task_id: z.coerce.number().int().nullish(),
});

/** A checked reset: the requested task, and the names of the other keys. */
interface Reset {
  readonly request: EpisodeRequest;
  readonly ignored: readonly string[];
}

/** The message is parsed JSON, so only the outermost type is unknown. Each tool checks the properties itself. */
export const toolArgumentsSchema = z.custom<JsonObject>(
  (value) => isJsonObject(value as JsonValue),
  "Input should be a valid dictionary",
);

const actionSchema = z.union([
  z.strictObject({ type: z.literal("list_tools"), metadata: z.record(z.string(), z.unknown()).optional() }),
  z.strictObject({
    type: z.literal("call_tool").default("call_tool"),
    tool_name: z.string(),
    arguments: toolArgumentsSchema.default({}),
    metadata: z.record(z.string(), z.unknown()).optional(),
  }),
]);

type Action = z.output<typeof actionSchema>;

export function readReset({ seed, episode_id, split, index, task_id, ...others }: z.output<typeof resetSchema>): Reset {
  return { request: presentProperties({ seed, episode_id, split, index, task_id }), ignored: Object.keys(others) };
}

/** Formats issues like pydantic. */
export function issuesOf({ issues }: z.ZodError, input: unknown, at: readonly string[] = []): JsonObject[] {
  return issues.slice(0, NAMES_TOLD).flatMap((issue) => {
    const path = issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));
    const loc = [...at, ...path];
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        type: "extra_forbidden",
        loc: [...loc, key],
        msg: "Extra inputs are not permitted",
        input: null,
      }));
    }
    const isMissing = issue.code === "invalid_type" && !has(input, path);
    return [
      { type: isMissing ? "missing" : issue.code, loc, msg: isMissing ? "Field required" : issue.message, input: null },
    ];
  });
}

function has(input: unknown, path: readonly (string | number)[]): boolean {
  let value = input;
  for (const part of path) {
    if (typeof value !== "object" || value === null || !(part in value)) return false;
    value = (value as Record<string | number, unknown>)[part];
  }
  return true;
}

/** Parses an action. Throws a `Refused` with the errors for the type of action that it most resembles. */
export function readAction(data: unknown): Action {
  const isListing = typeof data === "object" && data !== null && "type" in data && data.type === "list_tools";
  const read = actionSchema.options[isListing ? 0 : 1].safeParse(data);
  if (read.success) return read.data;
  throw invalid(read.error, data);
}

/** A refused message. The session continues unless `ends` is true. */
export class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly details: JsonObject = {},
    readonly ends = false,
  ) {
    super(message);
  }

  toJson(): JsonObject {
    return { type: "error", data: { message: this.message, code: this.code, ...this.details } };
  }
}

export function invalid(error: z.ZodError, input: unknown): Refused {
  return new Refused("VALIDATION_ERROR", "Invalid message", { errors: issuesOf(error, input) });
}

/** The sessions of all WebSocket and MCP clients, with a common limit. */
export class Sessions {
  private readonly open = new Set<Session>();
  private readonly ending = new Set<Promise<void>>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly environment: TrainingEnvironment,
    private readonly limits: SessionLimits,
    private readonly report: (fault: unknown, where: string) => void,
  ) {
    const every = Math.min(60_000, Math.max(100, limits.idleMs / 4));
    this.timer = setInterval(() => this.endIdle(), every).unref();
  }

  /** Throws a `Refused` if the maximum number of sessions is reached. */
  take(): Session {
    const { open, limits } = this;
    if (open.size >= limits.maxSessions) {
      const counts = { active_sessions: open.size, max_sessions: limits.maxSessions };
      const message = `Server at capacity: ${open.size}/${limits.maxSessions} sessions active. Cannot accept new connections.`;
      throw new Refused("CAPACITY_REACHED", message, counts, true);
    }
    const session = new Session(this.environment, (closing) => {
      open.delete(session);
      this.ending.add(closing);
      closing.catch((fault) => this.report(fault, "episode")).finally(() => this.ending.delete(closing));
    });
    open.add(session);
    return session;
  }

  /** Ends all sessions. Resolves when their episodes are saved. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    for (const session of this.open) session.end("the server was stopped");
    await Promise.allSettled(this.ending);
  }

  private endIdle(): void {
    const since = performance.now() - this.limits.idleMs;
    for (const session of this.open) {
      if (session.usedAt < since) session.end(`no message for ${Math.round(this.limits.idleMs / 1_000)} s`);
    }
  }
}

/** A client's environment, with at most one episode at a time. */
export class Session {
  usedAt = performance.now();
  private begun: BegunEpisode | null = null;
  private steps = 0;
  private onEnd: ((why: string) => void) | null = null;
  private hasEnded = false;

  constructor(
    private readonly environment: TrainingEnvironment,
    private readonly release: (closing: Promise<void>) => void,
  ) {}

  /** Registers a listener that is called once, with the reason for the end. */
  whenEnded(listener: (why: string) => void): void {
    this.onEnd = listener;
  }

  get hasEpisode(): boolean {
    return this.begun !== null;
  }

  async reset(request: EpisodeRequest): Promise<BegunEpisode> {
    this.usedAt = performance.now();
    const episode = await this.environment.begin(request).catch((error: unknown) => {
      if (error instanceof NoSuchTask) throw new Refused("VALIDATION_ERROR", error.message);
      throw error;
    });
    const previous = this.begun;
    this.begun = episode;
    if (this.hasEnded) {
      await episode.episode.interrupt("The client disconnected before an answer.");
      throw new Refused("SESSION_ERROR", "The session has ended.", {}, true);
    }
    await previous?.episode.interrupt("The client started another episode before it answered this one.");
    return episode;
  }

  /** Returns the observation. */
  async step(action: Action): Promise<JsonObject> {
    if (action.type === "list_tools") {
      if (this.begun !== null) this.begun.episode.stepCount++;
      else this.steps++;
      return toolsObservation(this.environment.tools);
    }
    const { tool_name, arguments: args, metadata } = action;
    const step = await this.call(tool_name, args, metadata);
    return stepObservation(tool_name, step, this.begun?.episode.turnsLeft ?? 0);
  }

  async call(name: string, args: JsonObject, metadata?: unknown): Promise<EpisodeStep> {
    this.usedAt = performance.now();
    if (this.begun === null) throw new Refused("EXECUTION_ERROR", "No episode is running. Start one with reset.");
    return this.begun.episode.call(name, args, metadata);
  }

  state(): JsonObject {
    if (this.begun === null) return { episode_id: null, step_count: this.steps };
    const { episode, task } = this.begun;
    const { split, index, task_id } = task;
    return { episode_id: episode.id, step_count: episode.stepCount, split, index, task_id, ending: episode.ending };
  }

  /** Releases the slot immediately. An unfinished episode is recorded as interrupted. */
  end(why: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.onEnd?.(why);
    this.release(this.begun?.episode.interrupt(`Interrupted: ${why}.`) ?? Promise.resolve());
  }
}

const METADATA = { type: "object", additionalProperties: true } as const;

/** Trainers recognize a tool environment by this title and these property names. */
export const actionJsonSchema = {
  title: "CallToolAction",
  description: 'Calls a tool. {"type": "list_tools"} lists the tools.',
  type: "object",
  properties: {
    type: { const: "call_tool", default: "call_tool", type: "string" },
    tool_name: { type: "string", description: "Name of the tool to call" },
    arguments: { type: "object", additionalProperties: true, description: "Arguments for the tool" },
    metadata: {
      ...METADATA,
      description: "Model output for the trace: text (content), model name (model) and tokens (usage)",
    },
  },
  required: ["tool_name"],
  additionalProperties: false,
};

export const observationJsonSchema = {
  title: "CallToolObservation",
  description: "Result of a tool call, or the task of a new episode.",
  type: "object",
  properties: {
    tool_name: { type: "string" },
    result: { description: "The tool's result, in its property data, or the task after a reset" },
    error: {
      anyOf: [
        {
          type: "object",
          properties: {
            error_type: {
              enum: ["execution_error", "invalid_args", "transport_error", "tool_not_found", "timeout"],
              type: "string",
            },
            message: { type: "string" },
          },
          required: ["error_type", "message"],
          additionalProperties: false,
        },
        { type: "null" },
      ],
    },
    tools: {
      type: "array",
      items: { type: "object" },
      description: "Tools of the environment. Present only for list_tools",
    },
    done: { type: "boolean", default: false },
    reward: { anyOf: [{ type: "number" }, { type: "null" }], default: null },
    metadata: METADATA,
  },
  additionalProperties: false,
};

export const stateJsonSchema = {
  title: "State",
  type: "object",
  properties: {
    episode_id: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
    step_count: { type: "integer", minimum: 0, default: 0 },
    split: { type: "string" },
    index: { type: "integer", minimum: 0 },
    task_id: { type: "integer" },
    ending: { anyOf: [{ type: "string" }, { type: "null" }], description: "How the episode ended" },
  },
  additionalProperties: true,
};

/** Returns the answer to a reset. The task is in both the result and the metadata, so that every client sees it. */
export function resetObservation(
  { task, maxTurns, instructions }: BegunEpisode,
  ignored: readonly string[],
): JsonObject {
  const metadata = { ...task, max_turns: maxTurns, ...(ignored.length === 0 ? {} : { ignored: cut(ignored) }) };
  const fields = { tool_name: "reset", result: { ...metadata, instructions }, error: null };
  return observation(fields, metadata, null, false);
}

function cut(names: readonly string[]): string[] {
  return names.slice(0, NAMES_TOLD).map((name) => name.slice(0, 100));
}

export function toolsObservation(tools: readonly Tool[]): JsonObject {
  const toolList = tools.map(({ id, description, parameters }) => ({
    name: id,
    description,
    input_schema: parameters,
  }));
  return observation({ tools: toolList }, {}, 0, false);
}

export function stepObservation(
  name: string,
  { result, text, reward, done, end }: EpisodeStep,
  turnsLeft: number,
): JsonObject {
  const metadata = { turns_left: turnsLeft, ...(end === null ? {} : endMetadata(end)) };
  const outcome = result.ok
    ? { result: toolResult(result, text), error: null }
    : { result: null, error: { error_type: ERROR_TYPES[result.kind], message: text } };
  return observation({ tool_name: name, ...outcome }, metadata, reward, done);
}

/** Returns the metadata at the end of an episode, which explains the reward but never contains the gold answer. */
export function endMetadata({ ending, reward, scores, traceId }: EpisodeEnd): JsonObject {
  const { value, scorer, explanation } = reward;
  return { ending, reward: { value, scorer, ...presentProperties({ explanation }) }, scores, trace_id: traceId };
}

/** Newer clients read the metadata next to the reward, older ones inside the observation. */
function observation(fields: JsonObject, metadata: JsonObject, reward: number | null, done: boolean): JsonObject {
  return { observation: { ...fields, metadata }, reward, done, metadata };
}

/**
 * Formats a tool result like FastMCP (https://gofastmcp.com/clients/tools). Programs read `data`. The text is for the
 * model, and can be marked as data or have notes.
 */
export function toolResult(result: Extract<ToolResult, { ok: true }>, text: string) {
  const value = resultValue(result);
  return {
    content: [{ type: "text", text }],
    structured_content: isJsonObject(value) ? value : { result: value },
    data: value,
    is_error: false,
    meta: null,
  };
}

const ERROR_TYPES: Readonly<Record<Extract<EpisodeStep["result"], { ok: false }>["kind"], string>> = {
  unparsable_call: "invalid_args",
  bad_arguments: "invalid_args",
  unknown_tool: "tool_not_found",
  invalid_email: "execution_error",
  failed: "execution_error",
  timeout: "timeout",
};

export interface OpenEnvOptions extends SessionLimits {
  readonly access: Pick<Access, "host" | "token">;
  readonly port: number;
  readonly version: string;
  /** The interval between pings, and the silence after which a client counts as disconnected. */
  readonly pings?: { readonly everyMs: number; readonly silentMs: number };
  /** Logs an error caused by a bug in this program. */
  report(fault: unknown, where: string): void;
}
