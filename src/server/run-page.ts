// The page of a running run, served by a thread from a read-only connection, so that no browser delays a task.
import { builtFile } from "../platform/program-files.js";
import { WorkerRpc } from "../platform/worker-rpc.js";
import type { RunSubscriptions } from "../runs/run-progress.js";
import type { RunTracker } from "../runs/run-tracker.js";
import { type RunEvent, type RunProcessState, type RunProgress, runProgressSchema } from "../traces/progress.js";
import { getRun } from "../traces/runs-store.js";
import { defineRoute, type Route, type Services } from "./app/route.js";
import { EVENT_STREAM_HEADERS, SseWriter, type StreamLimits } from "./app/sse-writer.js";

interface RunPageOptions extends RunPageData {
  readonly tracker: RunTracker;
  /** Called with the URL of the run's page, and with the reason if the page fails. */
  note(text: string): void;
}

/** Startup data for the thread of a run's page. */
export interface RunPageData {
  /** Path of the database. */
  readonly path: string;
  readonly version: string;
  /** The required token, or null. */
  readonly token: string | null;
}

export type RunPageCall =
  /** The answer is the URL of the page. */
  | { readonly type: "open" }
  | { readonly type: "process_state"; readonly runId: string; readonly state: RunProcessState }
  /** The run has ended, so open pages get its last state. */
  | { readonly type: "end" };

export type RunPageAnswer = string | null;

export function runStreamRoutes({ db }: Pick<Services, "db">, streams: RunStreams): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/runs/:id/events",
      tag: "runs",
      summary: "Stream the progress of a run: the current state, then every change",
      status: 200,
      response: null,
      events: runProgressSchema,
      handle: ({ params, destroyConnection }) => streams.respond(getRun(db, params.id).id, destroyConnection),
    }),
  ];
}

const YOUNG_GENERATION_MB = 16;

/** Milliseconds between updates of the tasks' activity to the thread. */
const PUBLISH_MS = 250;

/**
 * A page that shows the progress of this process's run and ends with it. A thread serves it, so that no browser slows
 * down the run. If the thread fails, the run continues without the page.
 */
export class RunPage {
  private readonly thread: WorkerRpc<RunPageCall, RunPageAnswer>;
  private readonly url: Promise<string | null>;
  private runId: string | null = null;
  private publishing: NodeJS.Timeout | undefined;
  private published = "";
  /** Nothing more is sent to the thread, because the run has ended or the thread has failed. */
  private isClosed = false;

  constructor(private readonly options: RunPageOptions) {
    const { path, version, token } = options;
    const data: RunPageData = { path, version, token };
    const file = builtFile("server/run-page/run-page-thread.js");
    this.thread = new WorkerRpc(file, { data, youngGenerationMb: YOUNG_GENERATION_MB });
    this.url = this.call({ type: "open" });
  }

  add(event: RunEvent): void {
    if (event.type === "run_started") void this.announce(event.runId);
  }

  /** Sends the run's last state to open pages, then stops the server. */
  async close(): Promise<void> {
    clearInterval(this.publishing);
    if ((await this.url) !== null) await this.call({ type: "end" });
    this.isClosed = true;
    await this.thread.close();
  }

  private async announce(runId: string): Promise<void> {
    this.runId = runId;
    const url = await this.url;
    if (url === null || this.isClosed) return;
    this.publish();
    this.publishing = setInterval(() => this.publish(), PUBLISH_MS).unref();
    this.options.note(`art-e: watch run ${runId} at ${url}/#runs/${runId} until it ends`);
  }

  private publish(): void {
    if (this.runId === null || this.isClosed) return;
    const state = this.options.tracker.state();
    const json = JSON.stringify(state);
    if (json === this.published) return;
    this.published = json;
    void this.call({ type: "process_state", runId: this.runId, state });
  }

  /** Returns null if the thread has failed. The user is notified once. */
  private async call(call: RunPageCall): Promise<RunPageAnswer> {
    try {
      return await this.thread.call(call);
    } catch (error) {
      if (!this.isClosed) this.options.note(`art-e: the run continues without its page: ${(error as Error).message}`);
      this.isClosed = true;
      return null;
    }
  }
}

/** The open streams of run progress. */
export class RunStreams {
  private readonly open = new Set<RunStream>();

  constructor(
    private readonly subscriptions: RunSubscriptions,
    private readonly limits: StreamLimits,
  ) {}

  /** Returns a response that sends the run's current progress and then every change. */
  respond(runId: string, destroyConnection: () => void): Response {
    const stream = new RunStream(this.limits, destroyConnection, () => {
      unsubscribe();
      this.open.delete(stream);
    });
    this.open.add(stream);
    const unsubscribe = this.subscriptions.subscribe(
      runId,
      (progress) => stream.send(progress),
      () => void stream.end({ isDone: false }),
    );
    return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
  }

  /** Sends the last changes and ends all streams. */
  async end(): Promise<void> {
    await this.subscriptions.refresh();
    await Promise.all([...this.open].map((stream) => stream.end()));
  }
}

/** A client that follows a run. A slow client does not receive states that are already out of date. */
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

  /** A stream that ends early makes the page connect again, so that it learns why. */
  async end({ isDone } = { isDone: true }): Promise<void> {
    await this.sending;
    if (isDone) await this.writer.send("[DONE]");
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
