import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LiveDelivery, type LiveDeliveryOptions, type LiveTrace } from "../../src/trace-formats/otlp-live.js";
import { scoreDestination } from "../../src/trace-formats/otlp-post.js";
import { otlpSpans, scoreRecords, spanSource } from "../../src/trace-formats/otlp-write.js";
import { type Answer, Collector } from "./collector.js";
import { ANSWERED } from "./traces.js";

const RETRY = { attempts: 4, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0 };
const NEVER = new AbortController().signal;

/** Of each trace here. */
const SPANS = 5;

let collector: Collector;
beforeEach(async () => {
  collector = await Collector.start();
});
afterEach(() => collector.stop());

function delivery(changes: Partial<LiveDeliveryOptions> = {}): LiveDelivery {
  const server = { url: `${collector.url}/v1/traces`, headers: {}, retry: RETRY };
  const to = { server, source: spanSource("9.9.9") };
  return new LiveDelivery({ to, scores: null, maxQueued: 1_000_000, gatherMs: 1, ...changes });
}

function liveTrace(i: number, changes: Partial<LiveTrace> = {}): LiveTrace {
  const trace = { ...ANSWERED, traceId: `trace_${i}` };
  return {
    spans: SPANS,
    size: 100,
    toSpans: () => otlpSpans(trace, { content: true, tools: [] }),
    toScores: () => scoreRecords(trace, true),
    ...changes,
  };
}

function add(live: LiveDelivery, count: number): void {
  for (let i = 0; i < count; i++) live.add(liveTrace(i));
}

describe("a live delivery", () => {
  it("delivers every trace by its end", async () => {
    const live = delivery();
    add(live, 30);
    expect(await live.close(NEVER)).toMatchObject({ delivered: 30 * SPANS, dropped: 0, reasons: [] });
    expect(collector.spans).toHaveLength(30 * SPANS);
  });

  it("delivers before its end, and again what is added after all was sent", async () => {
    const live = delivery();
    for (let i = 1; i <= 3; i++) {
      live.add(liveTrace(i));
      await expect.poll(() => collector.spans.length).toBe(i * SPANS);
    }
    expect(await live.close(NEVER)).toMatchObject({ delivered: 3 * SPANS, dropped: 0 });
  });

  it("delivers all in the end to a server that loses connections and answers 429 and 503", async () => {
    collector.answers = ["drop", { status: 429, headers: { "retry-after": "0" } }, { status: 503 }];
    const live = delivery();
    add(live, 10);
    expect(await live.close(NEVER)).toMatchObject({ delivered: 10 * SPANS, dropped: 0 });
    expect(collector.requests).toBeGreaterThan(3);
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(10);
  });

  it.each<[string, Answer]>([
    ["the server answered 400: bad", { status: 400, body: "bad" }],
    ["the server answered 503", { status: 503 }],
  ])("counts what is refused with: %s", async (reason, answer) => {
    collector.always = answer;
    const live = delivery();
    add(live, 3);
    const { delivered, dropped, reasons } = await live.close(NEVER);
    expect({ delivered, dropped, reasons }).toEqual({ delivered: 0, dropped: 3 * SPANS, reasons: [reason] });
  });

  it("counts what is more than it holds in memory", async () => {
    const live = delivery({ maxQueued: 250 });
    add(live, 5);
    expect(await live.close(NEVER)).toMatchObject({
      delivered: 2 * SPANS,
      dropped: 3 * SPANS,
      reasons: ["more waited than is held in memory"],
    });
  });

  it("counts what the server has not taken when there is no more time", async () => {
    collector.always = "hang";
    const live = delivery();
    add(live, 4);
    const time = new AbortController();
    const summary = live.close(time.signal);
    await expect.poll(() => collector.requests).toBe(1);
    time.abort();
    expect(await summary).toMatchObject({
      delivered: 0,
      dropped: 4 * SPANS,
      reasons: ["the run was over, and the server had not taken them in time"],
    });
    expect(await delivery().close(time.signal)).toMatchObject({ dropped: 0, reasons: [] });
  });

  it("counts a trace that cannot be written, and delivers the others", async () => {
    const live = delivery();
    const toSpans = () => {
      throw new Error("no such thing");
    };
    live.add(liveTrace(1, { toSpans }));
    live.add(liveTrace(2));
    const { delivered, dropped, reasons } = await live.close(NEVER);
    expect({ delivered, dropped, reasons }).toEqual({ delivered: SPANS, dropped: SPANS, reasons: ["no such thing"] });
  });

  it("sends scores after the spans, and counts those that are refused", async () => {
    const server = { url: `${collector.url}/v1/traces`, headers: {}, retry: RETRY };
    const scores = scoreDestination("phoenix", server);
    const live = delivery({ scores });
    add(live, 2);
    expect(await live.close(NEVER)).toMatchObject({ delivered: 2 * SPANS, scores: 4, droppedScores: 0 });
    expect(collector.taken.map(({ path }) => path)).toEqual(["/v1/traces", "/v1/trace_annotations"]);

    collector.answers = [{ status: 200 }, { status: 400 }];
    const other = delivery({ scores });
    add(other, 2);
    expect(await other.close(NEVER)).toMatchObject({ delivered: 2 * SPANS, scores: 0, droppedScores: 4 });
  });
});
