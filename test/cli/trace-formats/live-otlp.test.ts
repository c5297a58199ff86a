import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventsOf, openChat, says } from "../../server/demo-server.js";
import { Collector } from "../../trace-formats/collector.js";
import { jsonLines, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";

const { artE, readJson, start } = workFolder({ mail: MAIL });

let collector: Collector;
beforeAll(async () => {
  collector = await Collector.start();
});
beforeEach(() => {
  collector.taken.length = 0;
  collector.requests = 0;
  collector.answers = [];
  collector.always = { status: 200 };
});
afterAll(() => collector.stop());

const run = (flags: string, variables = {}) =>
  artE(`run -a baseline --dataset ${QUESTIONS} --limit 0 -o live.json --overwrite --no-progress ${flags}`, variables);

describe("art-e run --otlp", () => {
  it("sends every task while it runs, scored, and says so", async () => {
    const { code, stderr } = await run("--otlp", { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    expect(code).toBe(0);
    expect(stderr).toContain(`art-e: ${collector.spans.length} spans sent to ${new URL(collector.url).host}.\n`);
    const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === "");
    const { taskResults } = readJson("live.json");
    expect(new Set(roots.map(({ attributes }) => attributes["art_e.trace.id"]))).toEqual(
      new Set(taskResults.map(({ traceId }: { traceId: string }) => traceId)),
    );
    expect(roots.every(({ events }) => events.some(({ name }) => name === "gen_ai.evaluation.result"))).toBe(true);
    const tools = collector.spans.map(({ attributes }) => attributes["gen_ai.tool.definitions"]);
    expect(tools.some((definitions) => String(definitions).includes("email_search"))).toBe(true);
  });

  it("sends nothing of what was said with --no-content, and the scores to Phoenix", async () => {
    const { code, stderr } = await run(`--otlp-endpoint ${collector.url} --no-content --scores phoenix`);
    expect(code).toBe(0);
    expect(stderr).toMatch(/art-e: \d+ spans and \d+ scores sent to /);
    expect(JSON.stringify(collector.taken)).not.toMatch(/club dues|gen_ai\.input\.messages|explanation/);
  });

  it("is not failed by a server that refuses all, which is told at the end", async () => {
    collector.always = { status: 400, headers: { "content-type": "text/plain" }, body: "no such project" };
    const { code, stderr } = await run(`--otlp-endpoint ${collector.url}`);
    expect(code).toBe(0);
    expect(stderr).toMatch(/art-e: \d+ spans were not delivered: the server answered 400: no such project\./);
    expect(readJson("live.json").failedTasks).toBe(0);
  });

  it("delivers every span, or counts it, to a server that loses connections and answers 429, 503 and 400", async () => {
    const busy = { status: 429, headers: { "retry-after": "0" } };
    collector.answers = ["drop", busy, { status: 200 }, busy, "drop", { status: 503 }, { status: 400 }, busy];
    const { code, stderr } = await run(`--otlp-endpoint ${collector.url}`);
    expect(code).toBe(0);
    expect(readJson("live.json").failedTasks).toBe(0);
    const said = (pattern: RegExp) => Number((pattern.exec(stderr)?.[1] ?? "0").replaceAll(",", ""));
    const [delivered, dropped] = [said(/([\d,]+) spans sent to/), said(/([\d,]+) spans were not delivered/)];
    expect(delivered).toBe(collector.spans.length);
    const { turns, taskResults } = readJson("live.json");
    const traces = jsonLines((await artE("export-traces")).stdout);
    const calls = traces.reduce((sum, { toolCalls }) => sum + toolCalls.length, 0);
    expect(delivered + dropped).toBe(taskResults.length + turns + calls);
  });

  it("refuses an address before the first task", async () => {
    expect(await run("--otlp")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no address to send traces to."),
    });
  });
});

describe("art-e serve --otlp", () => {
  it("sends its chats", async () => {
    const { child, ended } = start(`serve --port 0 --otlp-endpoint ${collector.url}`);
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout?.on("data", (text: string) => resolve(/http:\S+/.exec(text)?.[0] ?? ""));
      ended.then(({ stderr }) => reject(new Error(stderr)));
    });
    const chat = { ...says("How much are the club dues?"), variables: { inbox_address: MARCUS } };
    await eventsOf(await openChat(url, "baseline", chat));
    child.kill("SIGTERM");
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/art-e: \d+ spans sent to/) });
    const [root] = collector.spans.filter(({ parentSpanId }) => parentSpanId === "");
    expect(root?.attributes["input.value"]).toBe("How much are the club dues?");
  });
});
