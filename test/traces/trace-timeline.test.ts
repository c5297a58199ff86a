import { expect, it } from "vitest";
import { timelineText } from "../../src/reports/trace-text.js";
import { sumByKind, timelineOf } from "../../src/traces/timeline.js";
import type { ToolCallRecord, Turn } from "../../src/traces/trace.js";
import { ANSWERED } from "../trace-formats/traces.js";

const [aTurn] = ANSWERED.turns as [Turn];
const [aCall] = ANSWERED.toolCalls as [ToolCallRecord];

const turn = (changes: Partial<Turn>): Turn => ({ ...aTurn, latencyMs: 100, waitedMs: 0, retries: [], ...changes });

it("timelineOf lists the waiting, model and tool time of each turn in order, and other time at the end", () => {
  const segments = timelineOf({
    turns: [
      turn({
        waitedMs: 90,
        waits: [
          { kind: "slot", durationMs: 20 },
          { kind: "failed_attempt", durationMs: 30 },
          { kind: "pause", durationMs: 40 },
        ],
        retries: [{ attempt: 1, reason: "503 from the server", waitedMs: 40 }],
      }),
      turn({}),
    ],
    toolCalls: [{ ...aCall, name: "email_search", turn: 0, durationMs: 10 }],
    durationMs: 500,
  });
  expect(segments.map(({ kind, startMs, durationMs, turn }) => [kind, startMs, durationMs, turn])).toEqual([
    ["slot", 0, 20, 1],
    ["failed_attempt", 20, 30, 1],
    ["pause", 50, 40, 1],
    ["model", 90, 100, 1],
    ["tool", 190, 10, 1],
    ["model", 200, 100, 2],
    ["other", 300, 200, null],
  ]);
  expect(segments.map(({ detail }) => detail)).toEqual([
    null,
    "503 from the server",
    null,
    null,
    "email_search",
    null,
    null,
  ]);
  expect(sumByKind(segments)[0]).toEqual({ kind: "model", ms: 200 });
  expect(timelineText(segments)).toEqual([
    `ss${"x".repeat(4)}.....${"M".repeat(12)}t${"M".repeat(12)}${"-".repeat(24)}`,
    "M model 200 ms, t tools 10 ms, s waiting for a slot 20 ms, x failed attempts 30 ms, . pauses before retries 40 ms, - other 200 ms",
  ]);
});

it("timelineOf shows waiting as one segment if its parts are unknown, and nothing if no time is known", () => {
  const old = timelineOf({ turns: [turn({ waitedMs: 60 })], toolCalls: [], durationMs: 150 });
  expect(old.map(({ kind, durationMs }) => [kind, durationMs])).toEqual([
    ["waiting", 60],
    ["model", 100],
  ]);
  expect(timelineText(timelineOf({ turns: [], toolCalls: [], durationMs: 0 }))).toEqual([]);
});
