import { z } from "zod";
import { DEFAULT_RETRY, type RetryPolicy, retry, type Sleep } from "../platform/retry.js";
import { stripControls } from "../platform/text.js";
import {
  type CallProgress,
  type Completion,
  callWaitSchema,
  FINISH_REASONS,
  type Model,
  ModelError,
  type PriceOf,
  providerStateSchema,
  type Retry,
  retrySchema,
  sentParametersSchema,
  toolCallSchema,
  usageSchema,
} from "./model.js";
import { isProvider, isRemote } from "./names.js";
import { withMessage } from "./provider-errors.js";
import { CallWaits } from "./rate-limiter.js";

/** The same model, with the cost in its replies. A reply that has a cost already, such as a recorded one, keeps it. */
export function withPrices(model: Model, priceOf: PriceOf): Model {
  return {
    id: model.id,
    async complete(request, signal) {
      const completion = await model.complete(request, signal);
      const { usage, costUsd = usage === null ? null : priceOf(usage, completion.model) } = completion;
      return { ...completion, costUsd };
    },
  };
}

interface Tried<T> {
  readonly done: T;
  /** The attempts that failed before. */
  readonly retries: readonly Retry[];
}

interface RetryOptions {
  readonly policy?: RetryPolicy | undefined;
  readonly sleep?: Sleep | undefined;
  readonly onRetry?: ((failed: Retry) => void) | undefined;
}

/**
 * Calls a model, or an agent, again while it fails with a retryable `ModelError`. What was tried stands in `retries`,
 * or in the last error's, whose message `name` begins.
 */
async function retryWithPolicy<T>(
  name: string,
  attemptOnce: () => Promise<T>,
  signal: AbortSignal,
  { policy = DEFAULT_RETRY, sleep, onRetry }: RetryOptions = {},
): Promise<Tried<T>> {
  const retries: Retry[] = [];
  try {
    const done = await retry(attemptOnce, {
      policy,
      signal,
      sleep,
      failureOf: (error) => (error instanceof ModelError ? error : null),
      onRetry(error, waitedMs) {
        const failed = { attempt: retries.length + 1, reason: (error as Error).message, waitedMs };
        retries.push(failed);
        onRetry?.(failed);
      },
    });
    return { done, retries };
  } catch (error) {
    if (!(error instanceof ModelError) || error === signal.reason) throw error;
    const often = retries.length === 0 ? "" : ` (after ${retries.length + 1} attempts)`;
    throw withMessage(error, `${name}: ${error.message}${often}`, retries);
  }
}

/** A call that was tried until it was done, with what it waited for. */
interface FollowedTry<T> extends Tried<T> {
  readonly waits: ReturnType<CallWaits["toField"]>;
  /** Of all attempts and pauses. */
  readonly elapsedMs: number;
}

/** As `retryWithPolicy`; each attempt tells its progress, which `listener` hears too, with the retries. */
export async function retryFollowed<T>(
  name: string,
  attempt: (onProgress: (progress: CallProgress) => void) => Promise<T>,
  signal: AbortSignal,
  options: Omit<RetryOptions, "onRetry"> & { readonly listener: ((progress: CallProgress) => void) | undefined },
): Promise<FollowedTry<T>> {
  const { policy, sleep, listener } = options;
  const waits = new CallWaits();
  const onProgress = (progress: CallProgress) => {
    waits.add(progress);
    listener?.(progress);
  };
  const startedAt = performance.now();
  const onRetry = (retry: Retry) => onProgress({ type: "retry", retry });
  const tried = await retryWithPolicy(name, () => attempt(onProgress), signal, { policy, sleep, onRetry });
  return { ...tried, waits: waits.toField(), elapsedMs: performance.now() - startedAt };
}

/**
 * The same model, its failed calls tried again. It knows what each reply was waited for, throttling inside it
 * included.
 */
export function withRetry(model: Model, policy: RetryPolicy = DEFAULT_RETRY, sleep?: Sleep): Model {
  return {
    id: model.id,
    async complete(request, signal): Promise<Completion> {
      const { done, retries, waits, elapsedMs } = await retryFollowed(
        model.id,
        (onProgress) => model.complete({ ...request, onProgress }, signal),
        signal,
        { policy, sleep, listener: request.onProgress },
      );
      return { ...done, waitedMs: Math.max(0, elapsedMs - done.latencyMs), ...waits, retries };
    },
  };
}

export const completionSchema = z.object({
  content: z.string(),
  toolCalls: z.array(toolCallSchema),
  finishReason: z.enum(FINISH_REASONS),
  rawFinishReason: z.string(),
  model: z.string().optional(),
  responseId: z.string().optional(),
  usage: usageSchema.nullable(),
  providerState: providerStateSchema.optional(),
  sent: sentParametersSchema.optional(),
  latencyMs: z.number().nonnegative(),
  waitedMs: z.number().nonnegative().optional(),
  waits: z.array(callWaitSchema).optional(),
  retries: z.array(retrySchema),
  cached: z.boolean().optional(),
  costUsd: z.number().nullable().optional(),
});

/** The same model. Notes once for each other model that its replies name. */
export function warnOfOtherModel(model: Model, note: (text: string) => void): Model {
  return watchAnsweringModel(model, (named) => note(stripControls(otherModelNote(model.id, named))));
}

/** Suffixes of snapshots and aliases: dates, Google's version numbers, `-latest`. */
const SNAPSHOT = /[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3}|latest)$/;

/** Bounds the notes: a server may name a new model in each reply. */
const MAX_REPORTED = 20;

/**
 * Whether a reply names another model than was requested. A name equals its dated snapshot, itself with a maker
 * prefix, and itself with dots for dashes; a moving alias (`-latest`) matches any version. `asked` is
 * `provider/name`.
 */
export function isOtherModel(asked: string, named: string): boolean {
  const a = plainName(asked);
  const b = plainName(named);
  if (a === b || /(^|-)latest$/.test(a)) return false;
  const [snapshotA, snapshotB] = [SNAPSHOT.test(a), SNAPSHOT.test(b)];
  // Two snapshots are two models.
  if (snapshotA && snapshotB) return true;
  return familyOf(a) !== familyOf(b);
}

/** Without folder or maker prefix, and without the variant suffix of a router or local server. */
function plainName(name: string): string {
  const bare = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const variant = bare.startsWith("ft:") ? bare : bare.replace(/:[a-z0-9._-]*$/, "");
  return variant.replaceAll(".", "-");
}

function familyOf(name: string): string {
  return name.replace(SNAPSHOT, "").replace(/-0$/, "");
}

/** The models named in replies that differ from the one requested; none for offline and replay. */
export function otherModels(asked: string, named: Readonly<Record<string, number>> = {}): string[] {
  return isAskedByName(asked) ? Object.keys(named).filter((model) => isOtherModel(asked, model)) : [];
}

function otherModelNote(asked: string, named: string): string {
  return `${asked} was asked, and replies say they are by ${named}: its provider may have put another model in its place.`;
}

/** Decorates a model: calls `onOther` once for each other model that its replies name. */
export function watchAnsweringModel(model: Model, onOther: (named: string) => void): Model {
  if (!isAskedByName(model.id)) return model;
  const seen = new Set<string>();
  return {
    id: model.id,
    async complete(request, signal): Promise<Completion> {
      const reply = await model.complete(request, signal);
      const { model: named } = reply;
      if (named !== undefined && !seen.has(named) && seen.size < MAX_REPORTED) {
        seen.add(named);
        if (isOtherModel(model.id, named)) onOther(named);
      }
      return reply;
    },
  };
}

/**
 * False for replay and offline models, whose names are this program's own, and for external agents, whose model is
 * unknown.
 */
function isAskedByName(id: string): boolean {
  const provider = id.slice(0, id.indexOf("/"));
  return isProvider(provider) && isRemote(provider);
}
