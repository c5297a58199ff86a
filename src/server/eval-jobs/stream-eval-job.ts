// Work on evals that takes long: suggesting, testing and reviewing them. Each job has a thread, so no request waits.
import { builtFile } from "../../platform/program-files.js";
import { WorkerRpc } from "../../platform/worker-rpc.js";
import { toApiError } from "../app/api-error.js";
import { EVENT_STREAM_HEADERS, SseWriter, type StreamLimits } from "../app/sse-writer.js";
import type { EvalJobEventJson, EvalJobRequest } from "../response-shapes.js";

/** Startup data for the thread of a job. */
export interface EvalJobData {
  /** Path of the database. */
  readonly path: string;
  readonly cacheDir: string;
}

export type EvalJobCall = EvalJobRequest | { readonly action: "progress" } | { readonly action: "abort" };

type ProgressEvent = Extract<EvalJobEventJson, { readonly type: "progress" }>;

/** The result of a job, its progress, or null if there is nothing to tell. */
export type EvalJobAnswer = EvalJobEventJson | null;

interface EvalJobOptions extends EvalJobData {
  readonly stream: StreamLimits;
  destroyConnection(): void;
  /** Logs an error caused by a bug in this program. */
  report(fault: unknown): void;
}

const YOUNG_GENERATION_MB = 16;

/** Milliseconds between reports of progress. */
const PROGRESS_MS = 500;

/** Streams the progress and the result of a job. The job ends without a result if the client disconnects. */
export function streamEvalJob(
  request: EvalJobRequest,
  { path, cacheDir, stream, destroyConnection, report }: EvalJobOptions,
): Response {
  const data: EvalJobData = { path, cacheDir };
  const file = builtFile("server/eval-jobs/eval-job-thread.js");
  const thread = new WorkerRpc<EvalJobCall, EvalJobAnswer>(file, { data, youngGenerationMb: YOUNG_GENERATION_MB });
  const abort = () => void thread.call({ action: "abort" }).catch(() => undefined);
  const writer = new SseWriter(stream, abort, destroyConnection);
  let shown: ProgressEvent | null = null;
  const showProgress = async () => {
    const progress = await thread.call({ action: "progress" }).catch(() => null);
    if (progress?.type !== "progress" || progress.done === shown?.done) return;
    shown = progress;
    await writer.send(progress);
  };
  const timer = setInterval(() => void showProgress(), PROGRESS_MS);
  const last = thread.call(request).catch((fault: unknown): EvalJobEventJson => {
    const { code, message, details } = toApiError(fault);
    if (code === "INTERNAL_ERROR") report(fault);
    return { type: "error", message, hint: (details as { readonly hint?: string } | null)?.hint ?? "" };
  });
  const finish = async () => {
    const event = await last;
    clearInterval(timer);
    await writer.send(event);
    await writer.send("[DONE]");
    writer.close();
    await thread.close();
  };
  void finish();
  return new Response(writer.body, { headers: EVENT_STREAM_HEADERS });
}
