import { otlpSpans, spanSource } from "../../exports/otlp/otlp-format.js";
import { scoreRecords } from "../../exports/otlp/score-records.js";
import type { ExportedTrace } from "../../exports/trace-format.js";
import { scoreDestination } from "../../otlp/langfuse-phoenix-scores.js";
import { LiveDelivery, type LiveSummary } from "../../otlp/live-delivery.js";
import type { ScoreApi } from "../../otlp/score-api-names.js";
import { DEFAULT_RETRY } from "../../platform/retry.js";
import type { Db } from "../../store/connection/open-store.js";
import { getRun } from "../../store/runs/runs.js";
import { otlpServerOf } from "../settings/otlp-server.js";
import { programVersion } from "../settings/program-version.js";
import type { AppContext } from "../use-case-context.js";
import { openTraceTools } from "./trace-tools.js";

/** Where finished traces are sent at once, as `--otlp` and its companions ask. */
export interface LiveOptions {
  readonly otlp: boolean;
  readonly otlpEndpoint?: string | undefined;
  readonly scores?: ScoreApi | undefined;
  readonly noContent: boolean;
}

export interface LiveTraces {
  /** Neither waits nor throws. */
  add(trace: ExportedTrace): void;
  /** Sends what is left for at most ten seconds, or until the signal aborts, and says what became of all. */
  close(signal: AbortSignal): Promise<void>;
}

/** Characters of traces that wait: some thousand traces. */
const MAX_QUEUED = 64_000_000;

const GATHER_MS = 1_000;

const CLOSE_MS = 10_000;

/** Null: traces are not sent. Throws a UserError where they cannot be. */
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
    to: { server, source: spanSource(programVersion()) },
    scores: scores === undefined ? null : scoreDestination(scores, server),
    maxQueued: MAX_QUEUED,
    gatherMs: GATHER_MS,
  });
  const content = !noContent;
  let toolsOf: ReturnType<typeof openTraceTools> | null = null;
  return {
    add(trace) {
      delivery.add({
        spans: 1 + trace.turns.length + trace.toolCalls.length,
        size: sizeOf(trace),
        toSpans() {
          toolsOf ??= openTraceTools(db, "runId" in trace ? getRun(db, trace.runId) : null);
          return otlpSpans(trace, { content, tools: toolsOf(trace) });
        },
        toScores: () => scoreRecords(trace, content),
      });
    },
    async close(signal) {
      const summary = await delivery.close(AbortSignal.any([signal, AbortSignal.timeout(CLOSE_MS)]));
      for (const line of summaryLines(summary, new URL(server.url).host)) note(line);
    },
  };
}

/** Without the tool results in `toolCalls`, which the messages hold too. */
function sizeOf({ messages }: ExportedTrace): number {
  return messages.reduce((sum, { content }) => sum + content.length, 0);
}

function* summaryLines(summary: LiveSummary, host: string): Generator<string> {
  const { delivered, rejected, scores, dropped, droppedScores, shortened, reasons, messages } = summary;
  const withScores = scores === 0 ? "" : ` and ${scores} scores`;
  yield `art-e: ${delivered} spans${withScores} sent to ${host}.`;
  if (shortened > 0) yield `art-e: ${shortened} spans lack their largest texts: a request holds 4 MB.`;
  if (rejected > 0) yield `art-e: ${host} rejected ${rejected} spans.`;
  for (const message of messages) yield `art-e: ${host} says: ${message}`;
  if (dropped + droppedScores === 0) return;
  const lost = droppedScores === 0 ? "" : ` and ${droppedScores} scores`;
  yield `art-e: ${dropped} spans${lost} were not delivered: ${reasons.join("; ")}. art-e export-traces --otlp sends them again.`;
}
