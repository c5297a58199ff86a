import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ToolContext } from "../../src/tools/tool.js";
import { never } from "../runs/demo-setup.js";
import { KINDS, type OwnTools, openOwnTools, SECRET } from "./own-tools.js";

const context: ToolContext = { inbox: null, cutoff: null, signal: never };

/** Long enough for a process to start on a busy machine. */
const SHORT_MS = 4_000;

describe.each(KINDS)("a tool of the kind %s", (kind) => {
  let own: OwnTools;
  let bare: OwnTools;
  beforeAll(async () => {
    own = await openOwnTools();
    bare = await openOwnTools({});
  });
  afterAll(async () => {
    await own.end();
    await bare.end();
  });

  it("is given its arguments, defaults too, and gives a JSON result", async () => {
    expect(await own.tool(kind).call({ do: "echo" }, context)).toEqual({ ok: true, value: { word: "hello" } });
    const odd = "ä \"quotes\" 'more' $(id) \\ / ? & # {{word}} \u{1f600}";
    expect(await own.tool(kind).call({ do: "echo", word: odd }, context)).toEqual({ ok: true, value: { word: odd } });
  });

  it.each([{}, { do: "dance" }, { do: "echo", word: 5 }, { do: "echo", more: 1 }, "echo", null])(
    "is not called with %j",
    async (args) => {
      expect(await own.tool(kind).call(args, context)).toMatchObject({ ok: false, kind: "bad_arguments" });
    },
  );

  it("that fails tells the model why", async () => {
    const result = await own.tool(kind).call({ do: "fail" }, context);
    expect(result).toMatchObject({ ok: false, kind: "failed", error: expect.stringContaining("it is broken") });
  });

  it("that hangs is given up in time, and can be called again", async () => {
    const tool = own.tool(kind, { timeoutMs: SHORT_MS });
    const hung = await tool.call({ do: "hang" }, context);
    expect(hung).toEqual({ ok: false, kind: "failed", error: "The tool did not answer within 4 s." });
    expect(await own.tool(kind).call({ do: "echo", word: "again" }, context)).toMatchObject({ ok: true });
  });

  it("rejects with the task's own reason when the task is aborted, before or during a call", async () => {
    const reason = new Error("the task is over");
    const over = AbortSignal.abort(reason);
    await expect(own.tool(kind).call({ do: "echo" }, { ...context, signal: over })).rejects.toBe(reason);
    const controller = new AbortController();
    const tool = own.tool(kind);
    const call = tool.call({ do: "hang" }, { ...context, signal: controller.signal });
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it("has a long result cut off, and said to be", async () => {
    const result = await own.tool(kind, { maxResultChars: 1_000 }).call({ do: "huge" }, context);
    expect(result).toMatchObject({ ok: true, value: { truncated: true, characters: 300_010 } });
    expect(result.ok && JSON.stringify(result.value).length).toBeLessThan(1_200);
    const whole = await own.tool(kind, { maxResultChars: 1_000_000 }).call({ do: "huge" }, context);
    const beginning = whole.ok ? JSON.stringify(whole.value).slice(0, 1_000) : "";
    expect(result).toMatchObject({ value: { beginning } });
  });

  it("may not answer with more bytes than it is allowed", async () => {
    const result = await own.tool(kind, { maxBytes: 100_000 }).call({ do: "huge" }, context);
    expect(result).toMatchObject({ ok: false, error: expect.stringContaining("more than 100000 bytes") });
  });

  it("has its results checked against their schema", async () => {
    const resultSchema = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };
    const tool = own.tool(kind, { resultSchema });
    expect(await tool.call({ do: "echo" }, context)).toMatchObject({ ok: true });
    const other = await tool.call({ do: "number" }, context);
    expect(other).toMatchObject({ ok: false, error: expect.stringContaining("does not fit its schema") });
  });

  it("is given the secret that is named, which no result shows", async () => {
    const result = await own.tool(kind).call({ do: "secret" }, context);
    expect(result).toMatchObject({ ok: true, value: { key: expect.stringContaining("[secret]") } });
    expect(JSON.stringify(result)).not.toContain(SECRET);
  });

  it("says which variable is missing, and keeps none in the file", async () => {
    expect(await bare.tool(kind).call({ do: "echo" }, context)).toMatchObject({
      ok: false,
      error: expect.stringContaining("the environment variable TOOL_KEY is not set"),
    });
    expect(own.db.serialize().includes(SECRET)).toBe(false);
  });

  it.each([
    ["a limit out of bounds", { timeoutMs: 0 }],
    ["a setting that nobody knows", { time_out: 3 }],
    ["a result schema that is none", { resultSchema: { type: "nothing" } }],
  ])("is not made with %s", (_, config) => {
    expect(() => own.tool(kind, config)).toThrow(/The config of tool/);
  });
});
