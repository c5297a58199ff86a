// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the user are written this way.
import { copyFileSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { addressOf, everyFile, jsonLines, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";
import { Workers } from "../queue/queue-setup.js";
import { ownResultsSchema } from "../results-schema.js";

/** User settings for requests: reasoning effort, headers and body fields. */

const folder = workFolder({ mail: MAIL });
const { artE, path, read, readJson, write } = folder;

type Body = Readonly<Record<string, unknown>>;

const SECRETS = { GATEWAY_KEY: "gateway-secret-4711", LITERAL: "literal-secret-4712" };

let provider: FakeProvider;
/** Returns an error response for a request body, or null to answer it. */
let refuse: (body: Body) => string | null = () => null;

beforeAll(async () => {
  provider = await startFakeProvider(({ model }): Answer => {
    const message = refuse(provider.requests.at(-1)?.body as Body);
    if (message !== null) return { fail: "status", status: 400, body: { error: { message } } };
    return model.startsWith("judge")
      ? { toolCalls: [{ name: "record_verdict", arguments: { reason: "same", verdict: "correct" } }] }
      : { toolCalls: [{ name: "return_final_answer", arguments: { answer: "42", sources: [] } }] };
  });
});
afterAll(() => provider.close());

const variables = (): Record<string, string> => ({
  GATEWAY_KEY: SECRETS.GATEWAY_KEY,
  OPENAI_API_KEY: "test-key",
  OPENAI_BASE_URL: provider.baseUrl("openai-chat"),
});

const RUN = ["run", "-a", "email-search", "--model-id", "openai/m", "--dataset", QUESTIONS, "--concurrency", "1"];
const run = (...more: string[]) => artE([...RUN, "--no-judge", "-l", "1", "--quiet", ...more], variables());

/** The requests of a command, and its result. */
async function requestsOf<T>(work: () => Promise<T>) {
  const before = provider.requests.length;
  const ended = await work();
  const seen = provider.requests.slice(before);
  return { ended, bodies: seen.map(({ body }) => body as Body), headers: seen.map(({ headers }) => headers) };
}

const settings = (name: string) => ownResultsSchema.parse(readJson(name)).settings;

describe("art-e run --body", () => {
  it("adds each field to every request and to the results", async () => {
    const fields = {
      provider: { order: ["fireworks"], allow_fallbacks: false },
      top_p: 0.9,
      seed: 42,
      chat_template_kwargs: { enable_thinking: false },
    };
    const flags = Object.entries(fields).flatMap(([name, value]) => ["--body", `${name}=${JSON.stringify(value)}`]);
    const { ended, bodies } = await requestsOf(() => run(...flags, "-o", "body.json"));
    expect(ended).toMatchObject({ code: 0 });
    expect(bodies.length).toBeGreaterThan(0);
    for (const body of bodies) expect(body).toMatchObject(fields);
    expect(settings("body.json").extraBody).toEqual(fields);
  });

  // All rejected names and values: test/models/request-extras.test.ts.
  it.each([
    ["--body", "messages=[]", "--body: messages is set by art-e itself."],
    ["--header", "Host=example.com", "--header: Host is set by art-e itself."],
  ])("rejects %s %s in one line before the first request", async (...words) => {
    const [flag, value, said] = words;
    const { ended, bodies } = await requestsOf(() => run(flag, value));
    expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(said) });
    expect(bodies).toEqual([]);
  });
});

describe("art-e run --header", () => {
  it("sends variables and literal values, and stores neither in any file", async () => {
    const { ended, headers } = await requestsOf(() =>
      run(
        "--header",
        "X-Gateway=${GATEWAY_KEY}",
        "--header",
        `X-Pin=${SECRETS.LITERAL}`,
        "--header",
        "X-Title=bench",
        "-o",
        "header.json",
      ),
    );
    expect(ended).toMatchObject({ code: 0 });
    expect(headers[0]).toMatchObject({
      "x-gateway": SECRETS.GATEWAY_KEY,
      "x-pin": SECRETS.LITERAL,
      "x-title": "bench",
    });
    expect(settings("header.json").extraHeaders).toEqual({
      "X-Gateway": "${GATEWAY_KEY}",
      "X-Pin": "[not recorded]",
      "X-Title": "bench",
    });
    expect((await artE("export-traces --run latest -o header.jsonl")).code).toBe(0);
    const files = everyFile(path(".")).map(({ bytes }) => bytes);
    for (const secret of Object.values(SECRETS)) expect(files.some((bytes) => bytes.includes(secret))).toBe(false);
  });

  it("must be given on --resume only if its value was not recorded", async () => {
    refuse = () => "no";
    expect((await run("--header", `X-Pin=${SECRETS.LITERAL}`, "--header", "X-G=${GATEWAY_KEY}")).code).not.toBe(0);
    refuse = () => null;
    const without = await artE("run --resume latest --retry-failed --quiet", variables());
    expect(without).toMatchObject({ code: 2 });
    expect(without.stderr).toContain("--header X-Pin: its value was not recorded");
    const { ended, headers } = await requestsOf(() =>
      artE(["run", "--resume", "latest", "--retry-failed", "--quiet", "--header", "X-Pin=another"], variables()),
    );
    expect(ended).toMatchObject({ code: 0 });
    expect(headers[0]).toMatchObject({ "x-pin": "another", "x-g": SECRETS.GATEWAY_KEY });
  });

  it("reports an unset variable before the first request", async () => {
    const { ended, bodies } = await requestsOf(() => run("--header", "X-Key=${NOWHERE}"));
    expect(ended).toMatchObject({ code: 2 });
    expect(ended.stderr).toContain("--header X-Key: the environment variable NOWHERE is not set.");
    expect(bodies).toEqual([]);
  });

  it("causes an error for a model without a server, and for an agent that has its own model", async () => {
    const offline = await artE(`run -a baseline --dataset ${QUESTIONS} -l 1 --header X-A=b`);
    expect(offline).toMatchObject({ code: 2, stderr: expect.stringContaining("offline/baseline sends none") });
    const command = await artE(["run", "--agent-command", "cat", "--body", "seed=1", "--dataset", QUESTIONS]);
    expect(command).toMatchObject({ code: 2, stderr: expect.stringContaining("--body") });
  });

  it("sends headers to an external agent's endpoint", async () => {
    const agent = await startFakeProvider(() => ({ content: "42" }));
    const line = ["run", "-a", "my-agent", "--agent-url", agent.baseUrl("openai-chat"), "--dataset", QUESTIONS];
    const more = ["-l", "1", "--no-judge", "--header", "X-G=${GATEWAY_KEY}", "--body", "seed=1", "--quiet"];
    expect(await artE([...line, ...more], variables())).toMatchObject({ code: 0 });
    expect(agent.requests[0]?.headers["x-g"]).toBe(SECRETS.GATEWAY_KEY);
    expect(agent.requests[0]?.body).toMatchObject({ seed: 1 });
    await agent.close();
  });
});

describe("--reasoning-effort", () => {
  it("appears in the request, the settings, the trace and the exports", async () => {
    const { ended, bodies } = await requestsOf(() => run("--reasoning-effort", "high", "-o", "effort.json"));
    expect(ended).toMatchObject({ code: 0 });
    expect(bodies[0]).toMatchObject({ reasoning_effort: "high" });
    expect(settings("effort.json")).toMatchObject({ reasoningEffort: "high", sent: { reasoningEffort: "high" } });
    expect((await artE("export-traces --run latest -o effort.jsonl")).code).toBe(0);
    expect(jsonLines(read("effort.jsonl"))[0].turns[0].sent).toMatchObject({ reasoningEffort: "high" });
    expect((await artE("export-traces --run latest --format otlp -o effort.otlp.jsonl")).code).toBe(0);
    expect(read("effort.otlp.jsonl")).toContain("gen_ai.request.reasoning.level");
  });

  it("rejects an unknown word", async () => {
    const { code, stderr } = await run("--reasoning-effort", "huge");
    expect(code).toBe(2);
    expect(stderr).toContain("--reasoning-effort: expected none or minimal or low");
  });

  it("comes from an agent. A run can override it, and default removes it", async () => {
    await artE("agents clone email-search thinker");
    expect((await artE("agents set thinker --reasoning-effort low")).code).toBe(0);
    expect((await artE("agents show thinker")).stdout).toContain("reasoningEffort low");
    const line = (...more: string[]) =>
      artE(["run", "-a", "thinker", ...RUN.slice(3), "--no-judge", "-l", "1", "--quiet", ...more], variables());
    const own = await requestsOf(() => line());
    expect(own.bodies[0]).toMatchObject({ reasoning_effort: "low" });
    const overridden = await requestsOf(() => line("--reasoning-effort", "none"));
    expect(overridden.bodies[0]).toMatchObject({ reasoning_effort: "none" });
    expect((await artE("agents set thinker --reasoning-effort default")).code).toBe(0);
    const removed = await requestsOf(() => line());
    expect(removed.bodies[0]).not.toHaveProperty("reasoning_effort");
  });

  it("disappears with a report if the server rejects it, and is recorded as adjusted", async () => {
    refuse = (body) => (body.reasoning_effort === undefined ? null : "Unknown parameter: 'reasoning_effort'.");
    const { ended } = await requestsOf(() =>
      artE([...RUN, "--no-judge", "-l", "2", "--reasoning-effort", "high", "-o", "refused.json"], variables()),
    );
    refuse = () => null;
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stderr).toContain("reasoning effort is not sent");
    expect((await artE("export-traces --run latest -o refused.jsonl")).code).toBe(0);
    const [trace] = jsonLines(read("refused.jsonl"));
    expect(trace.turns[0].sent.adjusted).toContainEqual(
      expect.objectContaining({ parameter: "reasoningEffort", asked: "high", sent: null }),
    );
  });
});

describe("a resumed or compared run", () => {
  it("rejects different efforts and fields unless forced, and compare lists them", async () => {
    await run("--reasoning-effort", "low", "--body", "seed=1", "--name", "first");
    for (const flags of [
      ["--reasoning-effort", "high"],
      ["--body", "seed=2"],
      ["--header", "X-A=b"],
    ]) {
      const { code, stderr } = await artE(["run", "--resume", "first", ...flags], variables());
      expect(code).toBe(2);
      expect(stderr).toContain(flags[0] === "--reasoning-effort" ? "reasoningEffort was" : "extra");
    }
    await run("--reasoning-effort", "high", "--body", "seed=1", "--name", "second");
    const { stdout } = await artE("compare first second");
    expect(stdout).toMatch(/Different settings: .*reasoningEffort/);
    expect(stdout).not.toMatch(/Settings that differ: .*extraBody/);
    const forced = await requestsOf(() =>
      artE(["run", "--repeat", "first", "--force", "--body", "seed=3", "--quiet"], variables()),
    );
    expect(forced.bodies[0]).toMatchObject({ seed: 3, reasoning_effort: "low" });
  });
});

describe("the judge", () => {
  const JUDGE = ["--judge", "openai/judge-1", "--judge-reasoning-effort", "low", "--judge-body", "seed=7"];
  const HEADERS = ["--judge-header", "X-Judge=${GATEWAY_KEY}"];
  const ofJudge = (bodies: readonly Body[]) => bodies.filter(({ model }) => model === "judge-1");

  it("uses its own effort, headers and fields in run and score", async () => {
    const line = [...RUN, "-l", "1", "--quiet", "-o", "judged.json", ...JUDGE, ...HEADERS];
    const { ended, bodies, headers } = await requestsOf(() => artE(line, variables()));
    expect(ended).toMatchObject({ code: 0 });
    expect(ofJudge(bodies)).toEqual([expect.objectContaining({ reasoning_effort: "low", seed: 7 })]);
    expect(bodies[0]).not.toHaveProperty("seed");
    expect(headers.map((sent) => sent["x-judge"])).toEqual([undefined, SECRETS.GATEWAY_KEY]);
    expect(settings("judged.json").judge).toMatchObject({
      reasoningEffort: "low",
      extraBody: { seed: 7 },
      extraHeaders: { "X-Judge": "${GATEWAY_KEY}" },
    });
    // Other parameters may change the verdict, so the first verdict is not taken from the cache.
    const again = await requestsOf(() => artE(["score", "--run", "latest", ...JUDGE.slice(0, 4)], variables()));
    expect(ofJudge(again.bodies)).toEqual([expect.not.objectContaining({ seed: 7 })]);
    const same = await requestsOf(() => artE(["score", "--run", "latest", ...JUDGE, ...HEADERS], variables()));
    expect(ofJudge(same.bodies)).toEqual([]);
  });

  it("requires a configuration if its flags are given", async () => {
    const { code, stderr } = await run("--judge-reasoning-effort", "low");
    expect(code).toBe(2);
    expect(stderr).toContain("--judge-reasoning-effort requires a judge, but");
  });
});

describe("a file with request settings", () => {
  it("contains effort, headers and fields of the model and of the judge", async () => {
    write(
      "request.yaml",
      `agent: email-search
model:
  id: openai/m
  reasoning-effort: medium
  headers: { X-Title: bench, X-G: "\${GATEWAY_KEY}" }
  body: { top_p: 0.5, provider: { order: [a, b] } }
judge: { model: openai/judge-1, reasoning-effort: none, body: { seed: 3 } }
`,
    );
    const line = ["run", "--config", "request.yaml", "--dataset", QUESTIONS, "-l", "1", "--quiet"];
    const { ended, bodies, headers } = await requestsOf(() => artE(line, variables()));
    expect(ended).toMatchObject({ code: 0 });
    expect(bodies).toMatchObject([
      { reasoning_effort: "medium", top_p: 0.5, provider: { order: ["a", "b"] } },
      { reasoning_effort: "none", seed: 3 },
    ]);
    expect(headers[0]).toMatchObject({ "x-title": "bench", "x-g": SECRETS.GATEWAY_KEY });
  });

  it("cannot send variables if it was only found in the folder, and the error names the line", async () => {
    const line = `run --dataset ${QUESTIONS} -l 1 --no-judge`;
    const begin = "agent: email-search\nmodel:\n  id: openai/m\n";
    write("art-e.yaml", `${begin}  body: { user: "\${GATEWAY_KEY}" }\n`);
    const untrusted = await artE(line, variables());
    write("art-e.yaml", `${begin}  headers: { Host: example.com }\n`);
    const owned = await artE(line, variables());
    write("art-e.yaml", "");
    expect(untrusted).toMatchObject({ code: 2 });
    expect(untrusted.stderr).toContain("model.body sends environment variables to a server");
    expect(owned).toMatchObject({ code: 2, stderr: expect.stringContaining("Host is set by art-e itself") });
  });
});

describe("a chat", () => {
  it("sends all request settings in art-e ask", async () => {
    const flags = ["--model-id", "openai/m", "--reasoning-effort", "low", "--body", "seed=5", "--header", "X-A=b"];
    const line = ["ask", MARCUS, "What", "is", "it?", ...flags];
    const { ended, bodies, headers } = await requestsOf(() => artE(line, variables()));
    expect(ended).toMatchObject({ code: 0 });
    expect(bodies[0]).toMatchObject({ reasoning_effort: "low", seed: 5 });
    expect(headers[0]).toMatchObject({ "x-a": "b" });
  });

  it("uses the server's headers and fields, and its agent's effort, on a server", async () => {
    await artE("agents clone email-search served");
    await artE("agents set served --reasoning-effort minimal --model openai/m");
    const serving = folder.start(
      ["serve", "--port", "0", "--header", "X-A=${GATEWAY_KEY}", "--body", "seed=6"],
      variables(),
    );
    const url = await addressOf(serving);
    const { ended, bodies, headers } = await requestsOf(() =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "served", messages: [{ role: "user", content: "hello" }] }),
      }),
    );
    serving.child.kill("SIGTERM");
    await serving.ended;
    expect(ended.status).toBe(200);
    expect(bodies[0]).toMatchObject({ seed: 6, reasoning_effort: "minimal" });
    expect(headers[0]).toMatchObject({ "x-a": SECRETS.GATEWAY_KEY });
    expect(readFileSync(path("art-e.db"), "latin1")).not.toContain(SECRETS.GATEWAY_KEY);
  });
});

describe("a queued run", needs("redis"), () => {
  let redis: RedisServer;
  const workers = new Workers(folder, () => redis.url);
  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    redis = await startRedis();
    workers.start("one", "--concurrency 1", { ...variables(), GATEWAY_KEY: "key-of-the-worker" });
  });
  afterAll(async () => {
    await workers.close();
    await redis?.close();
  });

  it("sends the workers' variables, and rejects values that only this machine has", { tags: ["slow"] }, async () => {
    const line = [
      ...RUN.filter((word) => word !== "--concurrency" && word !== "1"),
      "-l",
      "1",
      "--no-judge",
      "--quiet",
    ];
    const more = ["--queue", redis.url, "--body", "seed=8", "--reasoning-effort", "low"];
    const { ended, bodies, headers } = await requestsOf(() =>
      artE([...line, ...more, "--header", "X-G=${GATEWAY_KEY}"], {
        OPENAI_API_KEY: "test-key",
        OPENAI_BASE_URL: provider.baseUrl("openai-chat"),
      }),
    );
    expect(ended).toMatchObject({ code: 0 });
    expect(bodies[0]).toMatchObject({ seed: 8, reasoning_effort: "low" });
    expect(headers[0]).toMatchObject({ "x-g": "key-of-the-worker" });
    const literal = await artE([...line, ...more, "--header", "X-Pin=abc"], variables());
    expect(literal).toMatchObject({ code: 2 });
    expect(literal.stderr).toContain("--header X-Pin: its value may be a secret, and is not sent to the workers");
  });
});
