import type { RunActivity } from "../../app/run/answer/task-answerer.js";
import { TasksUnderWay } from "../../app/watch/tasks-under-way.js";
import type { RunEvent } from "../../domain/runs/run-event.js";
import { WorkerRpc } from "../../platform/worker-rpc.js";
import type { RunPageAnswer, RunPageCall, RunPageData } from "./run-page-rpc.js";

const YOUNG_GENERATION_MB = 16;

/** How often the thread hears what the tasks are doing. */
const PUBLISH_MS = 250;

export interface RunPageOptions extends RunPageData {
  readonly activity: RunActivity;
  /** The user has asked the run to stop. */
  isStopping(): boolean;
  /** Called with the address of the run's page, and with why there is none any more. */
  note(text: string): void;
}

/**
 * A page that shows the run of this process as it goes on, and ends with it. A thread serves it, so that no browser
 * slows the run; where the thread fails, the run goes on without the page.
 */
export class RunPage {
  private readonly tasks: TasksUnderWay;
  private readonly thread: WorkerRpc<RunPageCall, RunPageAnswer>;
  private readonly url: Promise<string | null>;
  private runId: string | null = null;
  private publishing: NodeJS.Timeout | undefined;
  private published = "";
  /** Nothing more is sent to the thread: the run has ended, or the thread has failed. */
  private isClosed = false;

  constructor(private readonly options: RunPageOptions) {
    const { path, version, token, activity } = options;
    this.tasks = new TasksUnderWay(activity);
    const data: RunPageData = { path, version, token };
    const file = new URL("./run-page-thread.js", import.meta.url);
    this.thread = new WorkerRpc(file, { data, youngGenerationMb: YOUNG_GENERATION_MB });
    this.url = this.call({ type: "open" });
  }

  add(event: RunEvent): void {
    this.tasks.add(event);
    if (event.type === "run_started") void this.announce(event.runId);
  }

  /** Open pages get the run's last state, then the server ends. */
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
    const state = this.tasks.state(this.options.isStopping());
    const json = JSON.stringify(state);
    if (json === this.published) return;
    this.published = json;
    void this.call({ type: "process_state", runId: this.runId, state });
  }

  /** Null where the thread has failed, of which the user hears once. */
  private async call(call: RunPageCall): Promise<RunPageAnswer> {
    try {
      return await this.thread.call(call);
    } catch (error) {
      if (!this.isClosed) this.options.note(`art-e: the run goes on without its page: ${(error as Error).message}`);
      this.isClosed = true;
      return null;
    }
  }
}
