import type { RunSubscriptions } from "../../app/watch/run-subscriptions.js";
import type { RunProgress } from "../../domain/runs/run-progress.js";
import { EVENT_STREAM_HEADERS, SseWriter, type StreamLimits } from "../http/sse-writer.js";

/** The open streams of runs' progress. */
export class RunStreams {
  private readonly open = new Set<RunStream>();

  constructor(
    private readonly subscriptions: RunSubscriptions,
    private readonly limits: StreamLimits,
  ) {}

  /** A response that sends the run's present progress, then every change. */
  respond(runId: string, destroyConnection: () => void): Response {
    const stream = new RunStream(this.limits, destroyConnection, () => {
      unsubscribe();
      this.open.delete(stream);
    });
    this.open.add(stream);
    const unsubscribe = this.subscriptions.subscribe(runId, (progress) => stream.send(progress));
    return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
  }

  /** Sends what has changed last, and ends all streams. */
  async end(): Promise<void> {
    await this.subscriptions.refresh();
    await Promise.all([...this.open].map((stream) => stream.end()));
  }
}

/** One client that follows a run. A slow one is spared what is out of date before it could be sent. */
class RunStream {
  private readonly writer: SseWriter;
  private next: RunProgress | null = null;
  private sending: Promise<void> | null = null;

  constructor(
    limits: StreamLimits,
    destroyConnection: () => void,
    private readonly onEnd: () => void,
  ) {
    this.writer = new SseWriter(limits, onEnd, destroyConnection);
  }

  get body(): ReadableStream<Uint8Array> {
    return this.writer.body;
  }

  send(progress: RunProgress): void {
    this.next = progress;
    this.sending ??= this.sendNewest();
  }

  async end(): Promise<void> {
    await this.sending;
    await this.writer.send("[DONE]");
    this.writer.close();
    this.onEnd();
  }

  private async sendNewest(): Promise<void> {
    while (this.next !== null) {
      const progress = this.next;
      this.next = null;
      await this.writer.send(progress);
    }
    this.sending = null;
  }
}
