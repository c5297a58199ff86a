// Connection to a queue. Its commands wait while Redis refuses them (out of memory, failover, loading, a changed
// password), just as ioredis lets them wait while the connection is lost. art-e and BullMQ send all commands through
// it, so neither sees a temporary refusal. Transactions (MULTI) are not covered, because a single command of a
// transaction cannot be resent.
import { Command, Redis, type RedisOptions } from "ioredis";
import { UserError } from "../../platform/errors.js";
import { redact } from "../../platform/secrets.js";

/** Location of the queue. `url` can contain a password; `displayUrl` never does. */
export interface QueueAddress {
  readonly url: string;
  readonly displayUrl: string;
  readonly secrets: readonly string[];
}

export interface ConnectionListener {
  lost(why: string): void;
  /** `why` is Redis's reply, such as `OOM command not allowed when used memory > 'maxmemory'`. */
  refused(why: string): void;
  restored(): void;
}

/** Error codes of temporary refusals. */
const TEMPORARY = [
  "OOM",
  "READONLY",
  "NOAUTH",
  "WRONGPASS",
  "LOADING",
  "MISCONF",
  "BUSY",
  "NOREPLICAS",
  "UNBLOCKED",
  "MASTERDOWN",
  "CLUSTERDOWN",
  "TRYAGAIN",
  "ERR max number of clients",
];

/**
 * Matches the first sentence of a refusal and its code. If Redis 6 refuses a script, its own text precedes the code.
 */
const REFUSAL = new RegExp(`^(?:ERR Error running script .* -)?((${TEMPORARY.join("|")})\\b.*?)(?:\\.\\s|\\.?$)`, "s");

interface Refusal {
  readonly code: string;
  readonly why: string;
}

/** Returns null if the error is not temporary. */
function refusalOf({ message }: Error): Refusal | null {
  const [, why = "", code = ""] = REFUSAL.exec(message) ?? [];
  return code === "" ? null : { code, why };
}

/** Longest pause in milliseconds between two attempts to reconnect or to send a refused command. */
export const LONGEST_PAUSE_MS = 3_000;

const pauseMs = (attempts: number) => Math.min(LONGEST_PAUSE_MS, 50 * 2 ** Math.min(attempts, 10));

const OPTIONS: RedisOptions = {
  lazyConnect: true,
  maxRetriesPerRequest: null,
  /** A server that does not accept the connection within this time is unreachable. */
  connectTimeout: 10_000,
  /** A server that does not close its side within this time has stopped responding. */
  disconnectTimeout: 200,
  retryStrategy: pauseMs,
};

/** BullMQ recognizes a closed connection by this text. */
const CLOSED = "Connection is closed.";

export class QueueConnection extends Redis {
  /** Commands without a reply. ioredis does not reject all of them when a connection ends after failed attempts. */
  private readonly unanswered = new Set<Command>();
  private readonly refused = new Set<Command>();
  private readonly copies = new Set<QueueConnection>();
  /** The last reported trouble: an error code or `lost`. Null if all is well or nothing can be reported yet. */
  private trouble: string | null = null;
  private lastError = "";
  private hasConnected = false;
  private attempts = 0;
  private retryTimer: NodeJS.Timeout | undefined;
  /** Whether the connection has ended for good. */
  isAbandoned = false;

  /** @param listener null if refused commands fail instead of waiting */
  constructor(
    private readonly address: QueueAddress,
    private readonly listener: ConnectionListener | null,
    private isPatient = listener !== null,
    options: RedisOptions = OPTIONS,
  ) {
    super(address.url, options);
    this.on("error", (error: Error) => {
      this.lastError = redact(messageOf(error), address.secrets);
      const refusal = refusalOf(error);
      if (refusal !== null && this.hasConnected) this.reportRefusal(refusal);
    });
    this.on("close", () => this.closed());
    this.on("ready", () => {
      this.hasConnected = true;
      this.lastError = "";
      this.checkRestored();
    });
  }

  /** Whether commands have to wait now. */
  get isAway(): boolean {
    return this.status !== "ready" || this.refused.size > 0;
  }

  /** Reason for the last failure to connect, without secrets. Empty if there was none. */
  get whyAway(): string {
    return this.lastError;
  }

  /** Abandons the connection now if commands have to wait, otherwise as soon as one has to. */
  endPatience(): void {
    this.isPatient = false;
    if (this.isAway) this.abandon();
  }

  /** Ends the connection immediately, in any state, and rejects all commands without a reply. */
  abandon(): void {
    this.isPatient = false;
    this.isAbandoned = true;
    clearTimeout(this.retryTimer);
    for (const copy of this.copies) copy.abandon();
    this.disconnect();
    for (const command of [...this.unanswered]) command.reject(new Error(CLOSED));
  }

  override disconnect(reconnect = false): void {
    // There is no socket between two attempts to connect, so ioredis would never end.
    if (!reconnect && this.status === "reconnecting") this.status = "wait";
    super.disconnect(reconnect);
  }

  /** BullMQ uses a copy for the command that blocks until a task is added. */
  override duplicate(override?: Partial<RedisOptions>): Redis {
    const copy = new QueueConnection(this.address, null, this.isPatient, { ...this.options, ...override });
    this.copies.add(copy);
    copy.once("end", () => this.copies.delete(copy));
    // If BullMQ connected it and the first attempt failed, its worker would never complete a task.
    copy.connect().catch(() => undefined);
    return copy;
  }

  override sendCommand(command: Command, stream?: Parameters<Redis["sendCommand"]>[1]): unknown {
    if (this.isAbandoned) {
      command.reject(new Error(CLOSED));
      return command.promise;
    }
    if (this.canBeRepeated(command) && !this.unanswered.has(command)) this.guard(command);
    return super.sendCommand(command, stream);
  }

  /**
   * Returns whether a command can be resent. The handshake must fail immediately, and one command of a transaction is
   * meaningless by itself.
   */
  private canBeRepeated({ name, inTransaction }: Command): boolean {
    const isTransaction = inTransaction || name === "multi" || name === "exec";
    return !isTransaction && !(this.status === "connect" && Command.checkFlag("HANDSHAKE_COMMANDS", name));
  }

  private guard(command: Command): void {
    const { resolve, reject } = command;
    this.unanswered.add(command);
    command.resolve = (reply) => {
      this.answered(command);
      resolve(reply);
    };
    command.reject = (error) => {
      if (this.isPatient && error.name === "AbortError") {
        // The connection was lost in the middle of a pipeline.
        super.sendCommand(command);
        return;
      }
      const refusal = refusalOf(error);
      if (this.isPatient && refusal !== null) {
        this.sendLater(command, refusal);
        return;
      }
      this.answered(command);
      reject(this.explain(error, command));
      if (refusal !== null && this.listener !== null) this.abandon();
    };
  }

  private sendLater(command: Command, refusal: Refusal): void {
    this.refused.add(command);
    this.reportRefusal(refusal);
    this.retryTimer ??= setTimeout(
      () => {
        this.retryTimer = undefined;
        // After a failover the host name might resolve to another server.
        if (this.trouble === "READONLY") this.disconnect(true);
        for (const waiting of this.refused) super.sendCommand(waiting);
      },
      pauseMs(++this.attempts),
    );
  }

  private reportRefusal({ code, why }: Refusal): void {
    if (this.trouble === code) return;
    this.trouble = code;
    this.listener?.refused(why);
  }

  private answered(command: Command): void {
    this.unanswered.delete(command);
    if (this.refused.delete(command)) this.checkRestored();
  }

  private closed(): void {
    if (!this.hasConnected || this.status === "end") return;
    if (!this.isPatient) this.abandon();
    if (this.trouble !== null || this.isAbandoned) return;
    this.trouble = "lost";
    this.listener?.lost(this.lastError || "the connection was closed");
  }

  private checkRestored(): void {
    if (this.isAway || this.trouble === null) return;
    this.trouble = null;
    this.attempts = 0;
    this.listener?.restored();
  }

  /** Turns an error reply into an error for the user. BullMQ and ioredis handle some errors themselves. */
  private explain(error: Error, command: Command): Error {
    if (error.name !== "ReplyError" || error.message.startsWith("NOSCRIPT")) return error;
    const [key] = command.getKeys();
    const place = key === undefined ? "" : ` (key ${key})`;
    return new UserError(
      "queue_refused",
      `Cannot use the queue at ${this.address.displayUrl}: ${error.message.replace(/\.$/, "")}${place}.`,
      "Check the Redis server, and make sure that no other program writes to keys that start with art-e.",
      1,
      { cause: error },
    );
  }
}

/** Returns the message of a connection error. A host with several IP addresses causes one error per IP address. */
export function messageOf(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  return (first ?? error).message || error.name;
}
