import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventsOf, openChat, says } from "../../server/demo-server.js";
import { Collector } from "../../trace-formats/collector.js";
import { problemsOf } from "../../trace-formats/otlp-reader.js";
import { addressOf, demoQuestion, everyFile, jsonLines, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";

const collector = await Collector.start();

beforeEach(() => {
  collector.taken.length = 0;
  collector.requests = 0;
  collector.answers = [];
  collector.always = { status: 200 };
});

afterAll(() => collector.stop());

describe("exporting with OTLP", () => {
  const { artE, path, read } = workFolder({ mail: MAIL });
  const KEYS = { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20c2VjcmV0LWtleQ==,x-scope=a%2Cb" };

  beforeAll(async () => {
    const run = `run -a baseline --dataset ${QUESTIONS} --ids 1,2,3 --quiet`;
    const { code, stderr } = await artE(run);
    if (code !== 0) throw new Error(`the run failed: ${stderr}`);
  });

  const send = (flags = "", variables: Record<string, string> = KEYS) =>
    artE(`export-traces --otlp-endpoint ${collector.url} ${flags}`, variables);

  describe("art-e export-traces --format otlp", () => {
    it("writes one valid TracesData per line", async () => {
      const { code } = await artE("export-traces --format otlp -o traces.otlp.jsonl");
      expect(code).toBe(0);
      const lines = read("traces.otlp.jsonl").trimEnd().split("\n");
      expect(lines).toHaveLength(3);
      expect(lines.flatMap(problemsOf)).toEqual([]);
      expect(lines[0]).toContain(demoQuestion(1).question);
      expect(lines[0]).toContain("gen_ai.tool.definitions");
    });

    it("omits messages if --no-content is given", async () => {
      const { stdout } = await artE("export-traces --format otlp --no-content");
      expect(stdout.trimEnd().split("\n").flatMap(problemsOf)).toEqual([]);
      for (const id of [1, 2, 3]) expect(stdout).not.toContain(demoQuestion(id).question);
    });
  });

  describe("art-e export-traces --otlp-endpoint", () => {
    it("sends the selected traces with the headers from the environment, and says so", async () => {
      const { code, stderr } = await send("--ids 1,3");
      expect(code).toBe(0);
      const host = new URL(collector.url).host;
      expect(stderr).toBe(`2 traces of ${runOf()} sent to ${host}: ${collector.spans.length} spans.\n`);
      const [request] = collector.taken;
      expect(request?.path).toBe("/v1/traces");
      expect(request?.headers).toMatchObject({ authorization: "Basic c2VjcmV0LWtleQ==", "x-scope": "a,b" });
      const questions = collector.spans.map(({ attributes }) => attributes["input.value"]);
      expect(questions.filter((question) => question !== undefined)).toEqual(
        [1, 3].map((id) => demoQuestion(id).question),
      );
    });

    it("uses the endpoint from the environment with --otlp, and prints one document with --json", async () => {
      const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/base/v1/traces/` };
      const { code, stdout } = await artE("export-traces --otlp --json --quiet", variables);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ traces: 3, delivered: collector.spans.length, rejected: 0 });
      expect(collector.taken[0]?.path).toBe("/base/v1/traces");
      const own = {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own`,
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://x",
      };
      expect((await artE("export-traces --otlp", own)).code).toBe(0);
      expect(collector.taken[1]?.path).toBe("/own");
    });

    it("sends the scores to Langfuse, each with its own id", async () => {
      const url = `${collector.url}/api/public/otel`;
      const { code, stderr } = await artE(`export-traces --ids 2 --otlp-endpoint ${url} --scores langfuse`, KEYS);
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/ spans and \d+ scores\.\n$/) });
      const [spans, ...scores] = collector.taken;
      expect(spans?.path).toBe("/api/public/otel/v1/traces");
      expect(new Set(scores.map((score) => score.path))).toEqual(new Set(["/api/public/scores"]));
      const { traceId } = collector.spans[0] ?? {};
      const sent = scores.map(({ json }) => json as Record<string, unknown>);
      const [trace] = jsonLines((await artE("export-traces --ids 2")).stdout);
      const told = Object.entries<{ value: number | null }>(trace.scores).filter(([, { value }]) => value !== null);
      expect(sent.map(({ name }) => name).sort()).toEqual(told.map(([name]) => name).sort());
      expect(sent.map(({ id }) => id).sort()).toEqual(told.map(([name]) => `${traceId}-${name}`).sort());
      expect(sent.every((score) => score.traceId === traceId && typeof score.value === "number")).toBe(true);
      expect(scores[0]?.headers.authorization).toBe("Basic c2VjcmV0LWtleQ==");
    });

    it("sends the scores to Phoenix as annotations of the traces", async () => {
      expect((await send("--scores phoenix")).code).toBe(0);
      const [, annotations] = collector.taken;
      expect(annotations?.path).toBe("/v1/trace_annotations");
      const { data } = (annotations?.json ?? {}) as { data: { trace_id: string; annotator_kind: string }[] };
      expect(new Set(data.map(({ trace_id }) => trace_id))).toEqual(new Set(collector.spans.map((s) => s.traceId)));
      expect(new Set(data.map(({ annotator_kind }) => annotator_kind))).toEqual(new Set(["CODE"]));
    });

    it("shows the words of a server that sends its error as an object", async () => {
      const body = JSON.stringify({ error: { message: "v3 is gone", code: "gone" } });
      collector.always = { status: 410, headers: { "content-type": "application/json" }, body };
      expect((await send()).stderr).toContain("the server returned 410: v3 is gone (gone).");
    });

    it("fails if the server rejects the traces, and does not show the key", async () => {
      collector.always = { status: 401, headers: { "content-type": "text/plain" }, body: "no c2VjcmV0LWtleQ==" };
      const { code, stderr } = await send();
      expect(code).toBe(1);
      expect(stderr).toBe(
        `art-e: ${collector.url}/v1/traces: the server returned 401: no [secret].\n` +
          "       Check that OTEL_EXPORTER_OTLP_HEADERS contains the right keys.\n",
      );
    });

    it("writes no key to the disk", () => {
      const leaks = everyFile(path(".")).filter(({ bytes }) => bytes.includes("c2VjcmV0LWtleQ"));
      expect(leaks.map(({ name }) => name)).toEqual([]);
    });

    it.each([
      ["--otlp", {}, "Cannot send traces: no OTLP endpoint is set."],
      [
        "--otlp-endpoint ftp://x",
        {},
        "--otlp-endpoint: expected an http or https URL without a user name or password.",
      ],
      ["--otlp-endpoint http://me:secret@x", {}, "--otlp-endpoint: expected an http or https URL"],
      ["--otlp-endpoint http://x -o f.jsonl", {}, "--output cannot be combined with --otlp and --otlp-endpoint"],
      ["--otlp-endpoint http://x --format jsonl", {}, "--format cannot be combined with --otlp and --otlp-endpoint"],
      ["--scores langfuse", {}, "--scores only applies if traces are sent."],
      ["--otlp-endpoint http://x --scores langfuse", {}, "is not the URL at which langfuse receives spans"],
      ["--otlp-endpoint http://x --scores other", {}, "--scores: expected langfuse or phoenix."],
      ["--otlp-endpoint http://x", { OTEL_EXPORTER_OTLP_HEADERS: "secret" }, "Cannot read OTEL_EXPORTER_OTLP_HEADERS."],
    ])("rejects %s %o", async (flags, variables, message) => {
      const { code, stderr } = await artE(`export-traces ${flags}`, variables as Record<string, string>);
      expect(code).toBe(2);
      expect(stderr).toContain(message);
      expect(stderr).not.toContain("secret");
    });
  });

  function runOf(): unknown {
    return collector.spans[0]?.attributes["art_e.run.id"];
  }
});

describe("sending traces during a run", () => {
  const { artE, readJson, start } = workFolder({ mail: MAIL });

  const run = (flags: string, variables = {}) =>
    artE(`run -a baseline --dataset ${QUESTIONS} --limit 8 -o live.json --overwrite --no-progress ${flags}`, variables);

  describe("art-e run --otlp", () => {
    it("sends every task with its scores while the run continues, and says so", async () => {
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

    it("omits messages if --no-content is given, and sends the scores to Phoenix", async () => {
      const { code, stderr } = await run(`--otlp-endpoint ${collector.url} --no-content --scores phoenix`);
      expect(code).toBe(0);
      expect(stderr).toMatch(/art-e: \d+ spans and \d+ scores sent to /);
      expect(JSON.stringify(collector.taken)).not.toMatch(
        /club dues|gen_ai\.input\.messages|explanation|langfuse\.observation|expected_output/,
      );
      expect(JSON.stringify(collector.taken)).toContain("langfuse.experiment.item.id");
    });

    it("sends a run to Langfuse as an experiment with one item per question and one execution per epoch", async () => {
      const url = `${collector.url}/api/public/otel`;
      const { code } = await run(`--limit 2 --epochs 2 --name nightly --otlp-endpoint ${url}`);
      expect(code).toBe(0);
      expect(collector.taken.every(({ headers }) => headers["x-langfuse-ingestion-version"] === "4")).toBe(true);
      const { runId, taskResults } = readJson("live.json");
      const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === "");
      const items = roots.map(({ attributes }) => [
        attributes["langfuse.experiment.item.id"],
        attributes["langfuse.experiment.item.metadata.epoch"],
      ]);
      const executions = taskResults.map(({ taskId, epoch }: { taskId: number; epoch: number }) => [taskId, epoch]);
      expect(items.map(String).sort()).toEqual(executions.map(String).sort());
      for (const { traceId, attributes } of collector.spans) {
        const root = roots.find((one) => one.traceId === traceId);
        expect(attributes).toMatchObject({
          "langfuse.experiment.id": runId,
          "langfuse.experiment.name": "nightly",
          "langfuse.experiment.dataset.id": expect.stringMatching(/^[0-9a-f]{64}$/),
          "langfuse.experiment.item.id": root?.attributes["langfuse.experiment.item.id"],
          "langfuse.experiment.item.root_observation_id": root?.spanId,
        });
      }
      for (const { attributes } of roots) {
        const { question, answer } = demoQuestion(Number(attributes["langfuse.experiment.item.id"]));
        expect(attributes).toMatchObject({
          "langfuse.observation.input": question,
          "langfuse.observation.output": attributes["output.value"],
          "langfuse.experiment.item.expected_output": answer,
        });
      }
    });

    it.each([
      ["delivers every span", { status: 200 }],
      [
        "succeeds, and counts the lost spans, if the server still refuses all of them",
        { status: 400, headers: { "content-type": "text/plain" }, body: "no such project" },
      ],
    ])("%s after lost connections, 429 and 503", async (_, always) => {
      collector.answers = ["drop", { status: 429, headers: { "retry-after": "0" } }, { status: 503 }];
      collector.always = always;
      const { code, stderr } = await run(`--otlp-endpoint ${collector.url}`);
      expect(code).toBe(0);
      expect(collector.answers).toEqual([]);
      const { turns, taskResults, failedTasks } = readJson("live.json");
      expect(failedTasks).toBe(0);
      const traces = jsonLines((await artE("export-traces")).stdout);
      const calls = traces.reduce((sum, { toolCalls }) => sum + toolCalls.length, 0);
      const spans = taskResults.length + turns + calls;
      const isTaken = always.status === 200;
      expect(collector.spans).toHaveLength(isTaken ? spans : 0);
      expect(stderr).toContain(
        isTaken
          ? `art-e: ${spans} spans sent to `
          : `art-e: ${spans} spans were not delivered: the server returned 400: no such project.`,
      );
    });

    it("rejects an invalid endpoint before the first task", async () => {
      expect(await run("--otlp")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("Cannot send traces: no OTLP endpoint is set."),
      });
    });
  });

  describe("art-e serve --otlp", () => {
    it("sends its chats to the endpoint", async () => {
      const server = start(`serve --port 0 --otlp-endpoint ${collector.url}`);
      const url = await addressOf(server);
      const chat = { ...says("How much are the softball dues?"), variables: { inbox_address: MARCUS } };
      await eventsOf(await openChat(url, "baseline", chat));
      server.child.kill("SIGTERM");
      const { code, stderr } = await server.ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/art-e: \d+ spans sent to/) });
      const [root] = collector.spans.filter(({ parentSpanId }) => parentSpanId === "");
      expect(root?.attributes["input.value"]).toBe("How much are the softball dues?");
    });
  });
});
