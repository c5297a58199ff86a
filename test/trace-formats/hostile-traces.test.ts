import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stepShape } from "../../src/server/response-shapes.js";
import { FORMATS } from "../../src/trace-formats/formats.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { needs } from "../machine-requirements.js";
import { readArtGroups } from "./art-reader.js";
import { readAtif } from "./atif-reader.js";
import { readChats } from "./chat-reader.js";
import { contextOf } from "./context.js";
import { exportedTraceSchema } from "./exported-trace.js";
import { hostileConversation } from "./hostile-conversations.js";
import { inspectJsonLog } from "./inspect-json-log.js";
import { readEvalFile, readJsonLog } from "./inspect-reader.js";

/** Every format must write data that its readers accept, whatever models, tools and mail put into a trace. */

/**
 * Number of traces to write and read, lower for slow readers. ART_E_LONG uses 10,000 of each form. Every run uses
 * different traces.
 */
const [TRACES, OF_SLOW, OF_INSPECT] = process.env.ART_E_LONG ? [10_000, 10_000, 10_000] : [300, 80, 30];
const SEED = Math.floor(Math.random() * 2 ** 31);
const traces = fc
  .sample(hostileConversation, { numRuns: TRACES, seed: SEED })
  .map((trace, i): QuestionTrace => ({ ...trace, taskId: i }));

const context = () => contextOf({ options: { dialect: "openai", reward: "semanticScore", content: true } });

/** Returns a line as a UTF-8 reader decodes it. */
function received(line: string): string {
  if (!line.isWellFormed() || /(?<!\\)(\\\\)*\\ud[89a-f]/.test(line)) throw new Error("half a surrogate pair");
  return Buffer.from(line).toString();
}

function each(check: (trace: QuestionTrace) => void, count = TRACES): void {
  for (const [i, trace] of traces.slice(0, count).entries()) {
    try {
      check(trace);
    } catch (cause) {
      throw new Error(`trace ${i} of seed ${SEED}`, { cause });
    }
  }
}

describe("hostile traces", () => {
  it("become valid lines in art-e's format", () =>
    each((trace) => {
      const [line = ""] = FORMATS.jsonl.lines([trace], context());
      expect(line).not.toMatch(/[\r\n]/);
      expect(exportedTraceSchema.parse(JSON.parse(received(line))).answer).toBe(trace.answer?.toWellFormed() ?? null);
    }, OF_SLOW));

  it("become valid iofold steps", () =>
    each((trace) => {
      for (const line of FORMATS.iofold.lines([trace], context())) stepShape.parse(JSON.parse(line));
    }, OF_SLOW));

  it("become valid ATIF trajectories", () =>
    each((trace) => {
      for (const line of FORMATS.atif.lines([trace], context())) readAtif(received(line));
    }, OF_SLOW));

  it.each(["openai", "hf"] as const)("become valid chats in the dialect %s, or disappear", (dialect) =>
    each((trace) => {
      const given = contextOf({ options: { dialect, reward: "", content: true } });
      const lines = [...FORMATS.chat.lines([trace], given)].map(received);
      readChats(lines.join("\n"), dialect, { minLines: 0 });
      expect(lines.length + Object.values(given.report.leftOut).length).toBe(1);
    }),
  );

  it("become valid ART trajectories, or disappear", () =>
    each((trace) => {
      readArtGroups([...FORMATS.art.lines([trace], context())].map(received).join("\n"));
    }));
});

describe("hostile traces in Inspect logs", needs("exports"), () => {
  it("appear in JSON and in a zip file", () => {
    const some = traces.slice(0, OF_INSPECT);
    const text = inspectJsonLog(some, context());
    const log = readJsonLog(received(text), "viewer") as { samples: unknown[] };
    const { samples } = readEvalFile(Buffer.concat([...FORMATS.inspect.bytes(some, context())]), "python");
    expect(samples).toHaveLength(OF_INSPECT);
    expect(JSON.stringify(samples) === JSON.stringify(log.samples)).toBe(true);
  });
});
