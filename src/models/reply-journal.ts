// The paid replies of a task. A reply is stored before the agent uses it, so a killed run does not pay for it again.
// When the task is run again, a request that is identical to an earlier one gets the stored reply. Tool calls are not
// stored. They are executed again, and as long as their results are the same, so are the requests.
import { createHash, type Hash } from "node:crypto";
import { z } from "zod";
import { memoize } from "../platform/memoize.js";
import { deciding } from "./cache.js";
import { type Completion, completionSchema, type Message, type Model, type ModelRequest } from "./model.js";

export const journalEntrySchema = z.strictObject({
  caller: z.enum(["agent", "judge"]),
  /** The caller's sender (`Senders`) when the reply was paid. */
  sender: z.string(),
  /** SHA-256 of the sender, the model's id and everything in the request that affects the reply. */
  request: z.string(),
  reply: completionSchema,
});

/** A paid reply. */
export type JournalEntry = z.output<typeof journalEntrySchema>;

type Caller = JournalEntry["caller"];

/**
 * Digest per caller of what affects all of its replies: the model, its server, and the settings of its requests. A
 * reply to another sender is not used.
 */
export type Senders = Readonly<Record<Caller, string>>;

/** The paid replies of one task. */
export class TaskJournal {
  private unusedEntries: JournalEntry[];

  /**
   * @param stored replies of interrupted attempts at the task, oldest first
   * @param store resolves when the entry is stored. Positions count up from `nextPosition`.
   */
  constructor(
    readonly stored: readonly JournalEntry[],
    private readonly store: (entry: JournalEntry, position: number) => Promise<void>,
    readonly senders: Senders,
    private nextPosition = stored.length,
  ) {
    this.unusedEntries = [...stored];
  }

  /** Stored replies that no request has used. */
  get unused(): readonly JournalEntry[] {
    return this.unusedEntries;
  }

  has(request: string): boolean {
    return this.unusedEntries.some((entry) => entry.request === request);
  }

  /** Returns the first unused reply to this request, or null. Each reply is returned once. */
  take(request: string): Completion | null {
    const i = this.unusedEntries.findIndex((entry) => entry.request === request);
    if (i === -1) return null;
    const [entry] = this.unusedEntries.splice(i, 1);
    return entry?.reply ?? null;
  }

  add(entry: JournalEntry): Promise<void> {
    return this.store(entry, this.nextPosition++);
  }
}

/**
 * Decorates a model: answers from the journal, and stores new replies before they are used. Apply it outside the call
 * budget, because a stored reply is already paid. Replies from the cache are not stored.
 */
export function withJournal(model: Model, journal: TaskJournal, caller: Caller): Model {
  const sender = journal.senders[caller];
  const digests = new RequestDigests(model.id, sender);
  return {
    id: model.id,
    async complete(request, signal) {
      const digest = digests.of(request);
      const reply = journal.take(digest);
      if (reply !== null) {
        signal.throwIfAborted();
        return { ...reply, resumed: true };
      }
      const newReply = await model.complete(request, signal);
      if (newReply.cached !== true) await journal.add({ caller, sender, request: digest, reply: newReply });
      return newReply;
    },
  };
}

/**
 * Computes the digests of a growing conversation. Messages that the previous request also contained are not hashed
 * again, because conversations of agents are long.
 */
export class RequestDigests {
  private hashed: Hash;
  private messages: readonly Message[] = [];

  constructor(
    private readonly modelId: string,
    private readonly sender: string,
  ) {
    this.hashed = createHash("sha256");
  }

  of(request: ModelRequest): string {
    const { messages, tools, system, ...parameters } = deciding(request);
    const isContinued = this.messages.every((message, i) => message === messages[i]);
    if (!isContinued) this.hashed = createHash("sha256");
    const start = isContinued ? this.messages.length : 0;
    for (const message of messages.slice(start)) this.hashed.update(`${JSON.stringify(message)}\n`);
    this.messages = [...messages];
    return this.hashed
      .copy()
      .update(JSON.stringify([this.sender, this.modelId, system, parameters]))
      .update(toolsJson(tools))
      .digest("hex");
  }
}

const toolsJson = memoize((tools: ModelRequest["tools"]) => JSON.stringify(tools));
