import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { programVersion } from "../../src/platform/program-files.js";
import { LEFT_OUT, MAX_BATCH_BYTES, type Span } from "../../src/trace-formats/otlp/otlp-encode.js";
import { type Delivery, deliverSpans, NotDelivered, scoreDestination } from "../../src/trace-formats/otlp/otlp-post.js";
import { otlpSpans, scoreRecords } from "../../src/trace-formats/otlp/otlp-write.js";
import { LiveDelivery, type LiveDeliveryOptions, type LiveTrace } from "../../src/trace-formats/otlp-live.js";
import { type Answer, Collector, partialSuccess } from "./collector.js";
import { hostileTrace } from "./hostile-traces.js";
import { ANSWERED, FAILED } from "./traces.js";

const RETRY = { attempts: 4, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0 };

let collector: Collector;

beforeEach(async () => {
  collector = await Collector.start();
});

afterEach(() => collector.stop());

describe("delivering spans", () => {
  const KEY = "Basic c2VjcmV0LWtleQ==";

  const spansOf = (trace: typeof ANSWERED) => otlpSpans(trace, { content: true, tools: [], run: null });

  function deliver(traces: Iterable<readonly Span[]>, url = `${collector.url}/v1/traces`): Promise<Delivery> {
    const server = { url, headers: { authorization: KEY }, retry: RETRY };
    return deliverSpans(server, traces, new AbortController().signal, () => {});
  }

  async function refusalOf(delivery: Promise<unknown>): Promise<NotDelivered> {
    const error = await delivery.catch((thrown: unknown) => thrown);
    if (error instanceof NotDelivered) return error;
    throw new Error(`expected a refusal, got ${error}`);
  }

  describe("a span in protobuf", () => {
    it("equals the original span after decoding with OpenTelemetry's own definitions", async () => {
      const spans = [...spansOf(ANSWERED), ...spansOf(FAILED)];
      expect(await deliver([spans])).toEqual({ delivered: spans.length, rejected: 0, shortened: 0, messages: [] });
      const [request] = collector.taken;
      expect(request).toMatchObject({
        path: "/v1/traces",
        headers: { "content-type": "application/x-protobuf", "content-encoding": "gzip", authorization: KEY },
        resource: { "service.name": "art-e", "service.version": programVersion() },
      });
      expect(request?.spans).toEqual(spans.map(decoded));
    });

    it("equals the original span, whatever the trace contains", async () => {
      const traces = fc.sample(hostileTrace, { numRuns: 200, seed: 7 });
      const spans = traces.map(spansOf);
      await deliver(spans);
      const expected = spans.flat().map(decoded);
      expect(collector.spans).toHaveLength(expected.length);
      for (const [i, span] of collector.spans.entries()) expect(span).toEqual(expected[i]);
    });

    it("travels in requests of less than 4 MB", async () => {
      const long = { ...ANSWERED, answer: "x".repeat(300_000) };
      const traces = Array.from({ length: 20 }, (_, i) => spansOf({ ...long, traceId: `trace_${i}` }));
      const { delivered } = await deliver(traces);
      expect(delivered).toBe(traces.flat().length);
      expect(collector.taken.length).toBeGreaterThan(1);
      expect(Math.max(...collector.taken.map(({ bytes }) => bytes))).toBeLessThanOrEqual(MAX_BATCH_BYTES);
      expect(new Set(collector.spans.map(({ traceId, spanId }) => traceId + spanId)).size).toBe(delivered);
    });

    it("travels without its largest texts, but with a note, if it is too large on its own", async () => {
      const messages = ANSWERED.messages.map((message) =>
        message.role === "tool" ? { ...message, content: "y".repeat(5_000_000) } : message,
      );
      const { delivered, shortened } = await deliver([spansOf({ ...ANSWERED, messages })]);
      expect({ delivered, shortened }).toEqual({ delivered: 5, shortened: 1 });
      const last = collector.spans.at(-1);
      expect(last?.attributes[LEFT_OUT]).toEqual(["gen_ai.input.messages"]);
      expect(last?.attributes["gen_ai.output.messages"]).toContain("On Friday.");
    });
  });

  describe("a server that does not accept spans immediately", () => {
    it.each([429, 502, 503, 504])("receives the request again after the status %i", async (status) => {
      collector.answers = [{ status, headers: { "retry-after": "0" } }, { status }, "drop"];
      expect(await deliver([spansOf(ANSWERED)])).toMatchObject({ delivered: 5 });
      expect(collector.requests).toBe(4);
      expect(collector.taken).toHaveLength(1);
    });

    it("causes an error after the last retry", async () => {
      collector.always = { status: 503, body: "not now" };
      const { message, status } = await refusalOf(deliver([spansOf(ANSWERED)]));
      expect({ message, status }).toEqual({ message: "the server returned 503: not now", status: 503 });
      expect(collector.requests).toBe(RETRY.attempts);
    });

    it.each([
      [400, '{"message":"no such field"}', "the server returned 400: no such field"],
      [401, '{"error":"bad key secret-key c2VjcmV0LWtleQ=="}', "the server returned 401: bad key secret-key [secret]"],
      [404, "<html>none</html>", "the server returned 404"],
      [307, "", "the server returned 307, which is a redirect: use the URL that it redirects to"],
    ])(
      "does not receive the request again after the status %i, and the error explains it but does not show the key",
      async (status, body, expected) => {
        const type = body.startsWith("<") ? "text/html" : "application/json";
        collector.always = { status, headers: { "content-type": type, location: "http://127.0.0.1:1/" }, body };
        expect((await refusalOf(deliver([spansOf(ANSWERED)]))).message).toBe(expected);
        expect(collector.requests).toBe(1);
      },
    );

    it("leads to an error if it is unreachable", async () => {
      const { retryable } = await refusalOf(deliver([spansOf(ANSWERED)], "http://127.0.0.1:1/v1/traces"));
      expect(retryable).toBe(true);
    });

    it("leads to a count if it accepts only some spans", async () => {
      collector.always = partialSuccess(2, "two were too old");
      expect(await deliver([spansOf(ANSWERED)])).toEqual({
        delivered: 3,
        rejected: 2,
        shortened: 0,
        messages: ["two were too old"],
      });
    });

    it.each(["", "{", "\u0000\u00ff", '{"partialSuccess":null}'])(
      "leads to no error if it responds to accepted spans with %j",
      async (body) => {
        collector.always = { status: 200, headers: { "content-type": "application/x-protobuf" }, body };
        expect(await deliver([spansOf(ANSWERED)])).toMatchObject({ delivered: 5, rejected: 0 });
        collector.always = { status: 200, headers: { "content-type": "application/json" }, body };
        expect(await deliver([spansOf(ANSWERED)])).toMatchObject({ delivered: 5, rejected: 0 });
      },
    );
  });

  function decoded(span: Span) {
    const { parentSpanId = "", events = [], attributes, ...others } = span;
    const valuesOf = (of: Span["attributes"]) => Object.fromEntries(of.map(({ key, value }) => [key, plainOf(value)]));
    return {
      ...others,
      parentSpanId,
      attributes: valuesOf(attributes),
      events: events.map((event) => ({ ...event, attributes: valuesOf(event.attributes) })),
    };
  }

  function plainOf(value: Span["attributes"][number]["value"]): unknown {
    return "arrayValue" in value ? value.arrayValue.values.map(plainOf) : Object.values(value)[0];
  }
});

describe("delivering during a run", () => {
  const NEVER = new AbortController().signal;
  /** The number for each trace in these tests. */
  const SPANS = 5;

  function delivery(changes: Partial<LiveDeliveryOptions> = {}): LiveDelivery {
    const server = { url: `${collector.url}/v1/traces`, headers: {}, retry: RETRY };
    return new LiveDelivery({ server, scores: null, maxQueued: 1_000_000, gatherMs: 1, ...changes });
  }

  function liveTrace(i: number, changes: Partial<LiveTrace> = {}): LiveTrace {
    const trace = { ...ANSWERED, traceId: `trace_${i}` };
    return {
      spans: SPANS,
      size: 100,
      toSpans: () => otlpSpans(trace, { content: true, tools: [], run: null }),
      toScores: () => scoreRecords(trace, true),
      ...changes,
    };
  }

  function add(live: LiveDelivery, count: number): void {
    for (let i = 0; i < count; i++) live.add(liveTrace(i));
  }

  describe("an export that runs next to the tasks", () => {
    it("sends every trace before it ends", async () => {
      const live = delivery();
      add(live, 30);
      expect(await live.close(NEVER)).toMatchObject({ delivered: 30 * SPANS, dropped: 0, reasons: [] });
      expect(collector.spans).toHaveLength(30 * SPANS);
    });

    it("sends traces before it ends, including one that is added after everything was sent", async () => {
      const live = delivery();
      for (let i = 1; i <= 3; i++) {
        live.add(liveTrace(i));
        await expect.poll(() => collector.spans.length).toBe(i * SPANS);
      }
      expect(await live.close(NEVER)).toMatchObject({ delivered: 3 * SPANS, dropped: 0 });
    });

    it("sends everything even if the server drops connections and returns 429 and 503", async () => {
      collector.answers = ["drop", { status: 429, headers: { "retry-after": "0" } }, { status: 503 }];
      const live = delivery();
      add(live, 10);
      expect(await live.close(NEVER)).toMatchObject({ delivered: 10 * SPANS, dropped: 0 });
      expect(collector.requests).toBeGreaterThan(3);
      expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(10);
    });

    it.each<[string, Answer]>([
      ["the server returned 400: bad", { status: 400, body: "bad" }],
      ["the server returned 503", { status: 503 }],
    ])("counts rejected traces, with the reason (%s)", async (reason, answer) => {
      collector.always = answer;
      const live = delivery();
      add(live, 3);
      const { delivered, dropped, reasons } = await live.close(NEVER);
      expect({ delivered, dropped, reasons }).toEqual({ delivered: 0, dropped: 3 * SPANS, reasons: [reason] });
    });

    it("counts traces that exceed its memory limit", async () => {
      const live = delivery({ maxQueued: 250 });
      add(live, 5);
      expect(await live.close(NEVER)).toMatchObject({
        delivered: 2 * SPANS,
        dropped: 3 * SPANS,
        reasons: ["the queue in memory was full"],
      });
    });

    it("counts traces that the server has not accepted in time", async () => {
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
        reasons: ["the server did not accept them before the run ended"],
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

    it("sends scores after the spans, and counts the rejected ones", async () => {
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
});
