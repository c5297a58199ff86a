import { EXIT, UserError } from "../../domain/errors.js";
import { otlpSpans, spanSource } from "../../exports/otlp/otlp-format.js";
import { scoreRecords } from "../../exports/otlp/score-records.js";
import type { ExportedTrace } from "../../exports/trace-format.js";
import { type Delivery, deliverSpans } from "../../otlp/deliver-spans.js";
import { deliverScores, type ScoreDestination, scoreDestination } from "../../otlp/langfuse-phoenix-scores.js";
import { NotDelivered, type OtlpServer } from "../../otlp/post-request.js";
import type { ScoreApi } from "../../otlp/score-api-names.js";
import type { ScoreRecord } from "../../otlp/score-record.js";
import { DEFAULT_RETRY } from "../../platform/retry.js";
import { readTraces } from "../../store/runs/traces.js";
import { otlpServerOf } from "../settings/otlp-server.js";
import { programVersion } from "../settings/program-version.js";
import { type AppContext, Interrupted } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { type ExportSource, selectTraces } from "./select-traces.js";
import type { TraceSelection } from "./trace-filter.js";
import { openTraceTools } from "./trace-tools.js";

export interface SendRequest {
  readonly source: ExportSource;
  readonly selection: TraceSelection;
  /** False: without what was said, called, answered and explained. */
  readonly content: boolean;
  /** Undefined: the address of the environment. */
  readonly endpoint: string | undefined;
  /** Also send the scores to this API of the same server. */
  readonly scores: ScoreApi | undefined;
}

export interface SentTraces extends Delivery {
  /** Null: of chats. */
  readonly runId: string | null;
  readonly traces: number;
  readonly scores: number;
  /** Host and port of the server. */
  readonly host: string;
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
    const to = { server, source: spanSource(programVersion()) };
    const bar = context.progress("Sending");
    const read = { traces: 0 };
    function* spans() {
      for (const trace of readTraces<ExportedTrace>(db, ids)) {
        read.traces++;
        yield otlpSpans(trace, { content, tools: toolsOf(trace) });
      }
    }
    try {
      const delivery = await deliverSpans(to, spans(), signal, (sum) => {
        bar.update(read.traces, ids.length, `${sum.delivered} spans`);
      });
      const scores = scoreApi === null ? 0 : await sendScores(readTraces(db, ids), scoreApi, content, signal);
      return { ...delivery, runId: run?.id ?? null, traces: ids.length, scores, host: new URL(server.url).host };
    } catch (error) {
      if (signal.aborted) throw new Interrupted(`sending stopped after ${read.traces} traces. ${AGAIN}`);
      throw error instanceof NotDelivered ? refused(error, server) : error;
    } finally {
      bar.stop();
    }
  });
}

const AGAIN = "Give the same command again: what has arrived has the same ids, and is not stored twice.";

async function sendScores(
  traces: Iterable<ExportedTrace>,
  to: ScoreDestination,
  content: boolean,
  signal: AbortSignal,
): Promise<number> {
  let sent = 0;
  let waiting: ScoreRecord[] = [];
  for (const trace of traces) {
    waiting.push(...scoreRecords(trace, content));
    if (waiting.length < SCORES_AT_ONCE) continue;
    sent += await deliverScores(to, waiting, signal);
    waiting = [];
  }
  return sent + (await deliverScores(to, waiting, signal));
}

function refused({ message, status }: NotDelivered, { url, headers }: OtlpServer): UserError {
  const { origin, pathname } = new URL(url);
  const keys = Object.keys(headers).length === 0 ? "is set" : "holds the right keys";
  const isDenied = status === 401 || status === 403;
  const hint = isDenied ? `See that OTEL_EXPORTER_OTLP_HEADERS ${keys}.` : AGAIN;
  return new UserError("otlp_not_delivered", `${origin}${pathname}: ${message}.`, hint, EXIT.failed);
}
