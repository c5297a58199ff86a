import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { addDelivery, type Delivery, deliverBatch, NO_DELIVERY, type SpanDestination } from "./deliver-spans.js";
import { deliverScores, type ScoreDestination } from "./langfuse-phoenix-scores.js";
import { NotDelivered } from "./post-request.js";
import type { ScoreRecord } from "./score-record.js";
import { type SpanBatch, SpanBatcher } from "./span-batches.js";
import type { Span } from "./traces-data.js";

/** A finished trace that is to be sent. */
export interface LiveTrace {
  /** How many spans it has. */
  readonly spans: number;
  /** Characters, more or less. */
  readonly size: number;
  toSpans(): readonly Span[];
  toScores(): readonly ScoreRecord[];
}

/** What became of all traces of a live delivery. */
export interface LiveSummary extends Delivery {
  readonly scores: number;
  /** Spans that were not delivered. */
  readonly dropped: number;
  readonly droppedScores: number;
  /** Why, each once. */
  readonly reasons: readonly string[];
}

export interface LiveOptions {
  readonly to: SpanDestination;
  /** Null: scores are not sent. */
  readonly scores: ScoreDestination | null;
  /** Of the traces that wait. */
  readonly maxQueued: number;
  /** How long the first trace waits for others that go with it. */
  readonly gatherMs: number;
}

const MAX_REASONS = 3;

const FULL = "more waited than is held in memory";
const LATE = "the run was over, and the server had not taken them in time";

/**
 * Sends traces while others are still answered. Adding one neither waits nor throws: what the server does not take in
 * time, and what exceeds the memory for it, is dropped and counted.
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

  constructor(private readonly options: LiveOptions) {}

  add(trace: LiveTrace): void {
    if (this.queued + trace.size > this.options.maxQueued) {
      this.drop(trace.spans, FULL);
      return;
    }
    this.queue.push(trace);
    this.queued += trace.size;
    this.startSending();
  }

  /** Sends what is left, until the signal aborts. */
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
        // Encoding takes a millisecond: the tasks go on in between.
        await setImmediate();
      }
      for (const batch of batcher.flush()) await this.send(batch);
      await this.sendScores(scores);
    }
  }

  /** A fault in a trace costs this trace, not the run. */
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
      this.sum = addDelivery(this.sum, await deliverBatch(this.options.to, batch, this.stop.signal));
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
