// Sends traces to an OTLP server while a run is going on. It never delays a task.
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { openDeadline } from "../platform/deadline.js";
import { EXIT, UserError } from "../platform/errors.js";
import { DEFAULT_RETRY } from "../platform/retry-delay.js";
import { type Db, withStore } from "../store/open-store.js";
import { counted } from "../text/format.js";
import { getRun, type RunRow } from "../traces/runs-store.js";
import { readTraces } from "../traces/traces-store.js";
import type { ExportedTrace } from "./export-traces/exported-trace.js";
import { type ExportSource, openTraceTools, selectTraces, type TraceSelection } from "./export-traces.js";
import { type Span, type SpanBatch, SpanBatcher } from "./otlp/otlp-encode.js";
import {
  addDelivery,
  type Delivery,
  deliverBatch,
  deliverScores,
  deliverSpans,
  NO_DELIVERY,
  NotDelivered,
  type ScoreDestination,
  scoreDestination,
} from "./otlp/otlp-post.js";
import { otlpSpans, type ScoreRecord, scoreRecords } from "./otlp/otlp-write.js";
import { type OtlpServer, otlpServerOf, type ScoreApi } from "./otlp-endpoint.js";

interface SendRequest {
  readonly source: ExportSource;
  readonly selection: TraceSelection;
  /** Whether to send messages, arguments, results, answers and explanations. */
  readonly content: boolean;
  /** OTLP endpoint, or undefined to take it from the environment. */
  readonly endpoint: string | undefined;
  /** Score API of the same server if scores are also sent. */
  readonly scores: ScoreApi | undefined;
}

interface SentTraces extends Delivery {
  /** Run id, or null for chats. */
  readonly runId: string | null;
  readonly traces: number;
  readonly scores: number;
  /** Host and port of the server. */
  readonly host: string;
}

/** Flags for sending traces as soon as they finish. */
export interface LiveOptions {
  readonly otlp: boolean;
  readonly otlpEndpoint?: string | undefined;
  readonly scores?: ScoreApi | undefined;
  readonly noContent: boolean;
}

export interface LiveTraces {
  /** `add` neither waits nor throws. */
  add(trace: ExportedTrace): void;
  /** Sends the remaining traces for at most 10 seconds or until the signal aborts, then reports the totals. */
  close(signal: AbortSignal): Promise<void>;
}

/** A finished trace that is waiting to be sent. */
export interface LiveTrace {
  /** Number of spans. */
  readonly spans: number;
  /** Approximate size in characters. */
  readonly size: number;
  toSpans(): readonly Span[];
  toScores(): readonly ScoreRecord[];
}

/** Totals of a live delivery. */
interface LiveSummary extends Delivery {
  readonly scores: number;
  /** Number of spans that were not delivered. */
  readonly dropped: number;
  readonly droppedScores: number;
  /** Distinct reasons for spans that were not delivered. */
  readonly reasons: readonly string[];
}

export interface LiveDeliveryOptions {
  readonly server: OtlpServer;
  /** Destination of scores, or null if scores are not sent. */
  readonly scores: ScoreDestination | null;
  /** Maximum characters of waiting traces. */
  readonly maxQueued: number;
  /** Milliseconds that the first trace waits for others that can be sent with it. */
  readonly gatherMs: number;
}

const SCORES_AT_ONCE = 1_000;

/** Sends traces to an OTLP server. */
export function sendTraces(request: SendRequest, context: AppContext): Promise<SentTraces> {
  const { settings, signal } = context;
  const server: OtlpServer = { ...otlpServerOf(request.endpoint, settings.env), retry: DEFAULT_RETRY };
  const scoreApi = request.scores === undefined ? null : scoreDestination(request.scores, server);
  return withStore(settings, async (db) => {
    const { source, selection, content } = request;
    const { run, ids } = selectTraces(db, source, selection);
    const toolsOf = openTraceTools(db, run);
    const bar = context.progress("Sending");
    const read = { traces: 0 };
    function* spans() {
      for (const trace of readTraces<ExportedTrace>(db, ids)) {
        read.traces++;
        yield otlpSpans(trace, { content, tools: toolsOf(trace), run });
      }
    }
    try {
      const delivery = await deliverSpans(server, spans(), signal, (sum) => {
        bar.update(read.traces, ids.length, `${sum.delivered} spans`);
      });
      const scores = scoreApi === null ? 0 : await sendScores(readTraces(db, ids), scoreApi, content, signal);
      return { ...delivery, runId: run?.id ?? null, traces: ids.length, scores, host: new URL(server.url).host };
    } catch (error) {
      if (signal.aborted) throw new Interrupted(`sending stopped after ${counted(read.traces, "trace")}. ${AGAIN}`);
      throw error instanceof NotDelivered ? refused(error, server) : error;
    } finally {
      bar.stop();
    }
  });
}

const AGAIN = "Run the same command again. Delivered traces have the same ids and are not stored twice.";

async function sendScores(
  traces: Iterable<ExportedTrace>,
  to: ScoreDestination,
  content: boolean,
  signal: AbortSignal,
): Promise<number> {
  let sentSpans = 0;
  let waiting: ScoreRecord[] = [];
  for (const trace of traces) {
    waiting.push(...scoreRecords(trace, content));
    if (waiting.length < SCORES_AT_ONCE) continue;
    sentSpans += await deliverScores(to, waiting, signal);
    waiting = [];
  }
  return sentSpans + (await deliverScores(to, waiting, signal));
}

function refused({ message, status }: NotDelivered, { url, headers }: OtlpServer): UserError {
  const { origin, pathname } = new URL(url);
  const keys = Object.keys(headers).length === 0 ? "is set" : "contains the right keys";
  const isDenied = status === 401 || status === 403;
  const hint = isDenied ? `Check that OTEL_EXPORTER_OTLP_HEADERS ${keys}.` : AGAIN;
  return new UserError("otlp_not_delivered", `${origin}${pathname}: ${message}.`, hint, EXIT.failed);
}

/** Maximum total characters of waiting traces, enough for several thousand traces. */
const MAX_QUEUED = 64_000_000;

const GATHER_MS = 1_000;

const CLOSE_MS = 10_000;

/** Returns null if live sending is off. Throws a UserError if traces cannot be sent. */
export function openLiveTraces(
  db: Db,
  options: LiveOptions,
  context: Pick<AppContext, "settings" | "note">,
): LiveTraces | null {
  const { otlp, otlpEndpoint, scores, noContent } = options;
  if (!otlp && otlpEndpoint === undefined) return null;
  const { settings, note } = context;
  const server = { ...otlpServerOf(otlpEndpoint, settings.env), retry: DEFAULT_RETRY };
  const delivery = new LiveDelivery({
    server,
    scores: scores === undefined ? null : scoreDestination(scores, server),
    maxQueued: MAX_QUEUED,
    gatherMs: GATHER_MS,
  });
  const content = !noContent;
  let run: RunRow | null = null;
  let toolsOf: ReturnType<typeof openTraceTools> | null = null;
  return {
    add(trace) {
      delivery.add({
        spans: 1 + trace.turns.length + trace.toolCalls.length,
        size: sizeOf(trace),
        toSpans() {
          run ??= trace.kind === "chat" ? null : getRun(db, trace.runId);
          toolsOf ??= openTraceTools(db, run);
          return otlpSpans(trace, { content, tools: toolsOf(trace), run });
        },
        toScores: () => scoreRecords(trace, content),
      });
    },
    async close(signal) {
      const deadline = openDeadline(signal, CLOSE_MS, () => new NotDelivered(LATE, false));
      const summary = await delivery.close(deadline.signal).finally(deadline.close);
      for (const line of summaryLines(summary, new URL(server.url).host)) note(line);
    },
  };
}

/** Excludes the tool results in `toolCalls`, because the messages contain them too. */
function sizeOf({ messages }: ExportedTrace): number {
  return messages.reduce((sum, { content }) => sum + content.length, 0);
}

function* summaryLines(summary: LiveSummary, host: string): Generator<string> {
  const { delivered, rejected, scores, dropped, droppedScores, shortened, reasons, messages } = summary;
  const withScores = scores === 0 ? "" : ` and ${counted(scores, "score")}`;
  yield `art-e: ${counted(delivered, "span")}${withScores} sent to ${host}.`;
  if (shortened > 0)
    yield `art-e: ${shortened} spans were sent without their largest texts, because a request can contain at most 4 MB.`;
  if (rejected > 0) yield `art-e: ${host} rejected ${counted(rejected, "span")}.`;
  for (const message of messages) yield `art-e: ${host} says: ${message}`;
  if (dropped + droppedScores === 0) return;
  const scoresText = droppedScores === 0 ? "" : ` and ${droppedScores} scores`;
  yield `art-e: ${dropped} spans${scoresText} were not delivered: ${reasons.join("; ")}. ${commandLine`art-e export-traces --otlp`} sends them again.`;
}

const MAX_REASONS = 3;

const FULL = "the queue in memory was full";
const LATE = "the server did not accept them before the run ended";

/**
 * Sends traces while other tasks are still running. Adding a trace neither waits nor throws. Traces that exceed the
 * memory limit, or that the server does not accept in time, are dropped and counted.
 */
export class LiveDelivery {
  private readonly queue: LiveTrace[] = [];
  private queued = 0;
  private sum: Delivery = NO_DELIVERY;
  private scores = 0;
  private dropped = 0;
  private droppedScores = 0;
  private readonly reasons = new Set<string>();
  private readonly closing = new AbortController();
  private readonly stop = new AbortController();
  private sending: Promise<void> | null = null;

  constructor(private readonly options: LiveDeliveryOptions) {}

  add(trace: LiveTrace): void {
    if (this.queued + trace.size > this.options.maxQueued) {
      this.drop(trace.spans, FULL);
      return;
    }
    this.queue.push(trace);
    this.queued += trace.size;
    this.startSending();
  }

  /** Sends the remaining traces until the signal aborts. */
  async close(signal: AbortSignal): Promise<LiveSummary> {
    const stop = () => this.stop.abort(new NotDelivered(LATE, false));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    this.closing.abort();
    while (this.queue.length > 0 || this.sending !== null) {
      this.startSending();
      await this.sending;
    }
    signal.removeEventListener("abort", stop);
    const { sum, scores, dropped, droppedScores, reasons } = this;
    return { ...sum, scores, dropped, droppedScores, reasons: [...reasons] };
  }

  private startSending(): void {
    this.sending ??= this.sendQueued().finally(() => {
      this.sending = null;
    });
  }

  private async sendQueued(): Promise<void> {
    await delay(this.options.gatherMs, undefined, { signal: this.closing.signal, ref: false }).catch(() => undefined);
    while (this.queue.length > 0) {
      const batcher = new SpanBatcher();
      const scores: ScoreRecord[] = [];
      for (let trace = this.queue.shift(); trace !== undefined; trace = this.queue.shift()) {
        const encoded = [...this.encoded(trace, batcher)];
        scores.push(...this.scoresOf(trace));
        for (const batch of encoded) await this.send(batch);
        this.queued -= trace.size;
        if (encoded.length > 0) break;
        // Encoding takes about 1 ms per trace, so let the tasks run in between.
        await setImmediate();
      }
      for (const batch of batcher.flush()) await this.send(batch);
      await this.sendScores(scores);
    }
  }

  /** An error in one trace loses only that trace, and does not end the run. */
  private encoded(trace: LiveTrace, batcher: SpanBatcher): readonly SpanBatch[] {
    try {
      return [...batcher.add(trace.toSpans())];
    } catch (error) {
      this.drop(trace.spans, (error as Error).message);
      return [];
    }
  }

  private scoresOf(trace: LiveTrace): readonly ScoreRecord[] {
    return this.options.scores === null ? [] : trace.toScores();
  }

  private async send(batch: SpanBatch): Promise<void> {
    try {
      this.sum = addDelivery(this.sum, await deliverBatch(this.options.server, batch, this.stop.signal));
    } catch (error) {
      this.drop(batch.spans.length, (error as Error).message);
    }
  }

  private async sendScores(scores: readonly ScoreRecord[]): Promise<void> {
    if (this.options.scores === null || scores.length === 0) return;
    try {
      this.scores += await deliverScores(this.options.scores, scores, this.stop.signal);
    } catch (error) {
      this.droppedScores += scores.length;
      this.note((error as Error).message);
    }
  }

  private drop(spans: number, reason: string): void {
    this.dropped += spans;
    this.note(reason);
  }

  private note(reason: string): void {
    if (this.reasons.size < MAX_REASONS) this.reasons.add(reason);
  }
}
