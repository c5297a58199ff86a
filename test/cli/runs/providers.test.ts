import { writeFileSync } from "node:fs";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { startProxy, type TestProxy } from "../../providers/proxy.js";
import { SELF_SIGNED } from "../../providers/self-signed.js";
import { toReplyBody } from "../../providers/wire-reply.js";
import type { ParsedRequest, WireFormat } from "../../providers/wire-request.js";
import { boxLines, demoQuestion, demoQuestions, everyFile, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { ownResultsSchema, resultsSchema } from "../results-schema.js";

const providers: FakeProvider[] = [];

describe("the providers of models", () => {
  const { artE, path, readJson } = workFolder({ mail: MAIL });
  /** Not in a format that `scrub` detects, so it is redacted only because it is the key. */
  const KEY = "wombat-3141592653589793-key";
  const IDS = [1, 21, 50];
  const RUN = `run -a email-search --dataset ${QUESTIONS} --ids ${IDS}`;

  afterAll(() => Promise.all(providers.map((provider) => provider.close())));

  async function provide(...script: Parameters<typeof startFakeProvider>): Promise<FakeProvider> {
    const provider = await startFakeProvider(...script);
    providers.push(provider);
    return provider;
  }

  function goldOf(request: ParsedRequest) {
    const found = demoQuestions.find((question) => question.question === request.question);
    if (found === undefined) throw new Error(`unknown question: ${request.question}`);
    return found;
  }

  /** Searches, reads the gold email and gives the gold answer. */
  const perfectAgent = () =>
    provide((request) => {
      const { question, inbox_address, message_ids, answer } = goldOf(request);
      const [message_id = ""] = message_ids;
      const calls = [
        { name: "email_search", arguments: { query: question, inbox_id: inbox_address, limit: 50 } },
        { name: "email_get", arguments: { message_id } },
        { name: "return_final_answer", arguments: { answer, sources: message_ids } },
      ];
      return { toolCalls: calls.slice(request.turn, request.turn + 1) };
    });

  const refusing = (status: number, message = `the key ${KEY} is revoked`) =>
    provide(() => ({ fail: "status", status, message, code: "bad_key" }));

  describe("a run with a provider's own protocol", () => {
    type BaseUrl = (format: WireFormat) => string;

    it.each<[string, string, (url: BaseUrl) => { flags: string; variables: Record<string, string> }]>([
      [
        "anthropic",
        "anthropic/claude-sonnet-5-5",
        (url) => ({ flags: "", variables: { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url("anthropic") } }),
      ],
      [
        "with openai and OPENAI_BASE_URL",
        "openai/gpt-4.1",
        (url) => ({
          flags: "--model-id openai/gpt-4.1",
          variables: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: url("openai-chat") },
        }),
      ],
      [
        "with openai and --base-url, in the responses format",
        "openai/acme/best",
        (url) => ({
          flags: `--model-provider openai --model-id acme/best --wire-api responses --base-url ${url("openai-chat")}`,
          variables: { OPENAI_API_KEY: KEY },
        }),
      ],
      [
        "google",
        "google/gemini-2.5-pro",
        (url) => ({
          flags: "--model-provider google --model-id gemini-2.5-pro",
          variables: { GEMINI_API_KEY: KEY, GOOGLE_BASE_URL: url("google") },
        }),
      ],
    ])("scores the answers of %s, and stores no key", async (_, model, how) => {
      const provider = await perfectAgent();
      const { flags, variables } = how(provider.baseUrl);
      const files = model.replaceAll("/", "-");
      const { code, stdout, stderr } = await artE(
        `${RUN} ${flags} -o ${files}.json --record ${files}.jsonl`,
        variables,
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(resultsSchema.parse(readJson(`${files}.json`))).toMatchObject({
        model,
        completedTasks: 3,
        exactMatchAccuracy: 1,
        avgSemanticScore: 1,
        sourcesCorrect: 1,
        foundGold: 1,
        readGold: 1,
        turns: 9,
        usage: { inputTokens: 900, outputTokens: 180, cachedInputTokens: 0 },
      });
      expect(boxLines(stdout)["Exact match"]).toBe("1.000 [0.439, 1.000] n=3");
      expect(provider.requests).toHaveLength(9);
      expect(JSON.stringify(provider.requests[0])).toContain(KEY);
      expect(stdout + stderr).not.toContain(KEY);
    });
  });

  describe("a run through a proxy", () => {
    const CREDENTIALS = [
      ["https", "p%40ss%3Aword%25", "user:p@ss:word%"],
      ["http", "bare%zword", "user:bare%zword"],
      ["http", "p%40ss%3Aword%25", "user:p@ss:word%"],
      ["https", "bare%zword", "user:bare%zword"],
    ] as const;
    const SENDS = "sends requests and the credentials of the proxy's URL for %s (%s), and never shows or stores them";
    it.each(CREDENTIALS.slice(0, 1))(SENDS, expectSecretCredentials);
    it.each(CREDENTIALS.slice(1))(SENDS, { tags: ["slow"] }, expectSecretCredentials);

    async function expectSecretCredentials(scheme: "http" | "https", written: string, sent: string): Promise<void> {
      const body = toReplyBody("openai-chat", { content: "42" }, 1, "mine");
      const answer: RequestListener = (_, response) => {
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      };
      const server = scheme === "https" ? createServer(SELF_SIGNED, answer) : createHttpServer(answer);
      await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
      const { port } = server.address() as AddressInfo;
      const proxies = [await startProxy(port, sent), await startProxy(port, "user:another")] as const;
      writeFileSync(path("ca.pem"), SELF_SIGNED.cert);
      const run = (proxy: TestProxy, more: Record<string, string> = {}) =>
        artE(
          `${RUN} -l 1 --verbose --model-id openai/mine --base-url ${scheme}://models.example.invalid/v1 --overwrite -o proxied.json`,
          {
            [`${scheme.toUpperCase()}_PROXY`]: proxy.url.replace("//", `//user:${written}@`),
            NODE_EXTRA_CA_CERTS: path("ca.pem"),
            ...more,
          },
        );
      const accepted = await run(proxies[0]);
      expect(accepted).toMatchObject({ code: 0 });
      expect(proxies[0].headers[0]?.["proxy-authorization"]).toBe(`Basic ${btoa(sent)}`);
      if (scheme === "https") expect(proxies[0].requests).toEqual(["CONNECT models.example.invalid:443"]);
      const direct = await run(proxies[1], { NO_PROXY: "example.invalid" });
      expect(direct).toMatchObject({ code: 1, stderr: expect.stringContaining("no such host") });
      expect(proxies[1].requests).toEqual([]);
      const rejected = await run(proxies[1]);
      expect(rejected).toMatchObject({ code: 1, stderr: expect.stringMatching(/proxy/i) });
      const stored = everyFile(path("."));
      const password = sent.slice("user:".length);
      for (const secret of [written, password, encodeURIComponent(password), btoa(sent)]) {
        for (const text of [accepted, rejected].flatMap(({ stdout, stderr }) => [stdout, stderr])) {
          expect(text).not.toContain(secret);
        }
        expect(stored.filter(({ bytes }) => bytes.includes(secret))).toEqual([]);
      }
      for (const proxy of proxies) proxy.close();
      server.closeAllConnections();
      server.close();
    }

    it("causes an error if the proxy is not a URL", async () => {
      const line = `${RUN} -l 1 --model-id openai/mine --base-url https://models.example.invalid/v1`;
      expect(await artE(line, { HTTPS_PROXY: "ftp://proxy" })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("HTTPS_PROXY: expected a URL"),
      });
    });
  });

  describe("the key and the base URL", () => {
    const { artE, write } = workFolder({ mail: MAIL });

    it("come from .env in the working folder. Its URL gets its own key, and any other URL gets the environment's", async () => {
      const provider = await perfectAgent();
      write(".env", `ANTHROPIC_API_KEY="key-of-the-file"\nANTHROPIC_BASE_URL=${provider.url}\n`);
      const run = `${RUN} -l 1 --json`;
      expect(await artE(run)).toMatchObject({ code: 0, stderr: "" });
      const variables = { ANTHROPIC_API_KEY: "key-of-the-environment" };
      expect(await artE(run, variables)).toMatchObject({ code: 0 });
      expect(await artE(run, { ...variables, ANTHROPIC_BASE_URL: provider.url })).toMatchObject({ code: 0 });
      const keys = new Set(provider.requests.map((request) => request.headers["x-api-key"]));
      expect([...keys]).toEqual(["key-of-the-file", "key-of-the-environment"]);
    });
  });

  describe("a run whose provider rejects requests", () => {
    const variables = ({ url }: FakeProvider) => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url });

    it("ends with code 3 if every task fails, gives the reason, and never shows the rejected key", async () => {
      const provider = await refusing(400, `the request of ${KEY} is odd`);
      const { code, stdout, stderr } = await artE(`${RUN} -o failed.json`, variables(provider));
      expect(code).toBe(3);
      expect(stderr).toMatch(/^art-e: 3 of 3 tasks failed\. See why: art-e export-traces --run run_\S+ --failed; /);
      expect(stderr).toMatch(/; retry them: art-e run --resume run_\S+ --retry-failed\n$/);
      const box = boxLines(stdout);
      expect(box).toMatchObject({ Scores: "- (no task was completed)", Endings: "model_error 3" });

      const { taskResults, ...totals } = resultsSchema.parse(readJson("failed.json"));
      expect(totals).toMatchObject({ completedTasks: 0, failedTasks: 3, avgSemanticScore: null });
      expect(totals.overAllTasks).toMatchObject({ tasks: 3, avgSemanticScore: 0 });
      for (const task of taskResults) {
        expect(task).toMatchObject({ ending: "model_error", exactMatch: null, semanticScore: null });
        expect(task.error).toContain("400");
      }

      const exported = await artE(`export-traces --run ${totals.runId} --failed`);
      expect(jsonLines(exported.stdout).map((trace) => trace.taskId)).toEqual(IDS);
      expect(exported.stdout).toContain("400 the request of [key] is odd");
      expect(stdout + stderr + exported.stdout).not.toContain(KEY);
    });

    it("ends immediately with code 1 if its key is rejected, leaves all tasks unanswered, and never shows the key", async () => {
      const provider = await refusing(401);
      const line = `${RUN} -o refused.json --concurrency 2`;
      const { code, stdout, stderr } = await artE(line, variables(provider));
      expect(code).toBe(1);
      const { taskResults, runId } = resultsSchema.parse(readJson("refused.json"));
      expect(taskResults).toEqual([]);
      expect(stderr).toBe(
        `art-e: Run ${runId} stopped: anthropic/claude-sonnet-5-5: 401 the key [key] is revoked.\n       0 of 3 tasks are saved. Check the key in ANTHROPIC_API_KEY and the account behind it; once the provider accepts it, continue: art-e run --resume ${runId}\n`,
      );
      expect(stdout).toBe("");
      expect(provider.requests.length).toBeLessThanOrEqual(2);
      expect(stdout + stderr).not.toContain(KEY);
    });

    it("reports a model's refusal, and gives no advice that cannot help", async () => {
      const provider = await refusing(404);
      const { code, stdout, stderr } = await artE(`${RUN} --concurrency 2`, variables(provider));
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain("0 of 3 tasks are saved. Start a new run with a model of the server (--model-id");
      expect(stderr).not.toContain("--resume");
    });

    it("counts failures separately, and as wrong, if half of the tasks fail", async () => {
      const refused = demoQuestion(21).question;
      const provider = await provide((request) =>
        request.question === refused
          ? { fail: "status", status: 400, message: "no" }
          : { content: goldOf(request).answer },
      );
      const { code, stdout } = await artE(`${RUN} -l 2`, variables(provider));
      expect(code).toBe(0);
      expect(boxLines(stdout)).toMatchObject({
        Tasks: "2 of the test split: 1 completed, 1 failed",
        "Exact match": "1.000 [0.207, 1.000] n=1; 0.500 with failed tasks as wrong",
        Endings: "answered 1, model_error 1",
      });
    });
  });

  it("never store their key in a file in the working folder, not even in the database", () => {
    const files = everyFile(path(""));
    expect(files.map(({ name }) => name)).toContain(path("art-e.db"));
    for (const { name, bytes } of files) expect(bytes.includes(KEY), name).toBe(false);
  });
});

describe("the published protocol", () => {
  /** `run --protocol art`, and how `compare --published` describes such a run. */

  /** The questions of corbt/enron_emails_sample_questions that OpenPipe's ART omits. */
  const KNOWN_BAD = [49, 101, 129, 171, 208, 266, 327];
  const { artE, readJson, write, path } = workFolder({ mail: MAIL });
  let provider: FakeProvider;

  beforeAll(async () => {
    provider = await startFakeProvider(({ tools }) => {
      if (tools.length === 0) return { content: "True" };
      const verdict = { name: "record_verdict", arguments: { reason: "so it is", verdict: "correct" } };
      const answer = { name: "return_final_answer", arguments: { answer: "so it is", sources: [] } };
      return { toolCalls: [JSON.stringify(tools).includes(verdict.name) ? verdict : answer] };
    });
    // Twice as many questions as the protocol uses, including the bad ones. Every ninth has two gold emails.
    const questions = Array.from({ length: 400 }, (_, i) => {
      const question = demoQuestions[i % demoQuestions.length];
      const message_ids = i % 9 === 0 ? ["<a@x>", "<b@x>"] : ["<a@x>"];
      return JSON.stringify({ ...question, id: i + 1, split: "test", message_ids });
    });
    write("copy.jsonl", questions.join("\n"));
  });

  afterAll(() => provider.close());

  const keys = () => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });
  const run = (line: string) => artE(`run --protocol art --dataset copy.jsonl ${line}`, keys());

  describe("art-e run --protocol art", () => {
    it("sets agent, questions, cutoff and judge together, even if a question file is given", async () => {
      const { code, stderr } = await run("-o art.json");
      expect(code).toBe(0);
      expect(stderr).toBe(
        `--protocol art: the mail in ./art-e.db was imported without ART's filter. Import the mail into a separate file: art-e import --filter art --db FILE.\n` +
          `Left out questions ${KNOWN_BAD.join(", ")} as known to be bad, assuming that copy.jsonl is a copy of corbt/enron_emails_sample_questions.\n` +
          "art-e: the tool choice required is sent as auto to anthropic/claude-sonnet-5-5: claude-sonnet-5-5 thinks by default and does not support required tool calls while thinking.\n",
      );
      const { agentId, split, settings, taskResults } = resultsSchema.parse(readJson("art.json"));
      expect({ agentId, split }).toEqual({ agentId: "art-e", split: "test" });
      expect(settings).toMatchObject({
        cutoff: "off",
        mailFilter: "none",
        maxTurns: 10,
        maxTokens: 2048,
        toolCalls: "first",
        judge: { protocol: "art", votes: 1 },
        selection: { limit: 100, maxSources: 1, excludeKnownBad: true },
      });
      const wanted = Array.from({ length: 400 }, (_, i) => i + 1).filter(
        (id) => (id - 1) % 9 !== 0 && !KNOWN_BAD.includes(id),
      );
      expect(taskResults.map(({ taskId }) => taskId)).toEqual(wanted.slice(0, 100));
      expect(taskResults.every(({ scores }) => scores.judgeCorrect === 1)).toBe(true);
    });

    it("creates a run that compare --published compares with the published one, condition by condition", async () => {
      const differences = async (file: string) =>
        (await artE(`compare ${file} --published`)).stdout.split("\n").find((line) => line.startsWith("run_"));
      const art = await differences("art.json");
      expect(art).toMatch(
        /^run_\S+ differs: judge anthropic\/\S+, not gemini-2\.0-flash; questions from the file \S*copy\.jsonl, possibly different ones; mail not imported through ART's filter \(import --filter art\)\.$/,
      );
      const other = await artE(`run -a art-e --dataset ${QUESTIONS} --judge anthropic/x -l 3 -o other.json`, keys());
      expect(other.code).toBe(0);
      const said = await differences("other.json");
      for (const what of [
        "four verdicts",
        "several gold emails",
        "known bad",
        "first 100 questions",
        "(--cutoff off",
      ]) {
        expect(said).toContain(what);
        expect(art).not.toContain(what);
      }
      const same = readJson("art.json");
      const { settings } = same;
      const exact = { ...settings, mailFilter: "art", judge: { ...settings.judge, model: "google/gemini-2.0-flash" } };
      write("same.json", JSON.stringify({ ...same, settings: exact, dataset: { ...same.dataset, revision: "abc" } }));
      expect(await differences("same.json")).toMatch(/^run_\S+ was run under these conditions\.$/);
    });

    it("keeps explicit flags, and records them", async () => {
      const { code } = await run("-a email-search -l 2 --cutoff query_date --no-judge -o own.json");
      expect(code).toBe(0);
      const { agentId, settings, totalTasks } = ownResultsSchema.parse(readJson("own.json"));
      expect({ agentId, totalTasks, cutoff: settings.cutoff, judge: settings.judge }).toEqual({
        agentId: "email-search",
        totalTasks: 2,
        cutoff: "query_date",
        judge: null,
      });
    });

    it("does not mention mail that passes ART's filter", async () => {
      expect((await artE(`import ${MAIL} --filter art --db filtered.db --quiet`)).code).toBe(0);
      const { code, stderr } = await run("-l 1 --db filtered.db -o filtered.json");
      expect({ code, stderr: stderr.includes("filter") }).toEqual({ code: 0, stderr: false });
      expect(ownResultsSchema.parse(readJson("filtered.json")).settings.mailFilter).toBe("art");
    });

    it.each([
      [
        "if there is no key for a judge",
        "run --protocol art -a baseline",
        "--protocol art requires a judge, but no API key for one is set.",
      ],
      ["if its name is unknown", "run --protocol iofold -a baseline", "--protocol: expected art."],
      [
        "if a run has its own settings",
        "run --resume latest --protocol art",
        "--protocol does not apply to a resumed run, which keeps its tasks.",
      ],
      [
        "if the agent is external",
        "run --protocol art --no-judge -a x --agent-url http://127.0.0.1:9/v1",
        "--protocol does not apply to an external agent (--agent-url).",
      ],
    ])("causes an error %s", async (_, line, message) => {
      const { code, stderr } = await artE(
        `${line} --dataset ${path("copy.jsonl")}`.replace(/(--resume.*) --dataset.*/, "$1"),
      );
      expect(code).toBe(2);
      expect(stderr).toContain(message);
    });
  });
});

describe("reasoning models", () => {
  const { artE, readJson } = workFolder({ mail: MAIL });

  afterAll(() => Promise.all(providers.map((provider) => provider.close())));

  const { id, answer, message_ids: sources } = demoQuestion(1);

  /**
   * Reasons until truncated, reasons without an answer, then answers. The server refuses the same fields as the real
   * ones.
   */
  async function thinker(): Promise<FakeProvider> {
    const provider = await startFakeProvider([
      { reasoning: "signed-1", finishReason: "length" },
      { reasoning: "signed-2" },
      { reasoning: "signed-3", toolCalls: [{ name: "return_final_answer", arguments: { answer, sources } }] },
    ]);
    providers.push(provider);
    return provider;
  }

  const run = (provider: FakeProvider, format: WireFormat, flags: string, file: string) => {
    const base = `run -a email-search --dataset ${QUESTIONS} --ids ${id} --no-judge --no-progress -o ${file}`;
    const key = { ANTHROPIC_API_KEY: "k-1234", OPENAI_API_KEY: "k-1234", GOOGLE_API_KEY: "k-1234" };
    return artE(`${base} --base-url ${provider.baseUrl(format)} ${flags}`, key);
  };

  // Over each format: test/runs/wire.test.ts.
  it("costs a turn if a reply contains only reasoning, but does not fail the task", async () => {
    const { code, stderr } = await run(await thinker(), "openai-chat", "--model-id openai/gpt-5-mini", "thinker.json");
    expect([code, stderr]).toEqual([0, ""]);
    const results = resultsSchema.parse(readJson("thinker.json"));
    expect(results).toMatchObject({ completedTasks: 1, exactMatchAccuracy: 1, turns: 3 });
  });

  describe("settings adjusted for a model", () => {
    it("appear in the run's settings and in every turn, with the omitted fields and the reasons", async () => {
      const provider = await thinker();
      expect(await artE("agents create forced --prompt Answer. --tool-choice required")).toMatchObject({ code: 0 });
      const flags = "-a forced --model-id anthropic/claude-opus-5 --temperature 0 --max-tokens 500";
      const { code, stderr } = await run(provider, "anthropic", flags, "forced.json");
      expect(code).toBe(0);
      expect(stderr).toContain(
        "art-e: the temperature 0 is not sent to anthropic/claude-opus-5: claude-opus-5 does not support a temperature.\n",
      );
      expect(stderr).toContain("art-e: the tool choice required is sent as auto to anthropic/claude-opus-5: ");
      const { settings, runId } = ownResultsSchema.parse(readJson("forced.json"));
      expect(settings).toMatchObject({ maxTokens: 500, temperature: 0, toolChoice: "required" });
      const { sent } = settings;
      expect(sent).toMatchObject({ maxTokens: 16_884, temperature: null, toolChoice: "auto" });
      expect(sent?.adjusted?.map(({ parameter, asked, sent: to }) => [parameter, asked, to])).toEqual([
        ["maxTokens", 500, 16_884],
        ["temperature", 0, null],
        ["toolChoice", "required", "auto"],
      ]);
      for (const { body } of provider.requests) {
        expect(body).toMatchObject({ max_tokens: 16_884, tool_choice: { type: "auto" } });
        expect(body).not.toHaveProperty("temperature");
      }
      const [trace] = jsonLines((await artE(`export-traces --run ${runId}`)).stdout);
      expect(trace.turns.map((turn: { sent: unknown }) => turn.sent)).toEqual([sent, sent, sent]);
    });

    it("stay the same after --resume and --repeat", async () => {
      const more = await thinker();
      const again = await artE(`run --repeat latest --base-url ${more.url} --quiet -o moved.json`, {
        ANTHROPIC_API_KEY: "k-1234",
      });
      expect(again).toMatchObject({ code: 0, stderr: "" });
      expect(resultsSchema.parse(readJson("moved.json")).settings.changes).toEqual([
        expect.stringMatching(/^the model server was at http:\S+ and is at http:\S+$/),
      ]);
    });

    it("equal the requested ones if the model accepts all of them", async () => {
      const provider = await thinker();
      const flags = "--model-id anthropic/claude-sonnet-4-5 --temperature 0.5";
      const { code, stderr } = await run(provider, "anthropic", flags, "plain.json");
      expect([code, stderr]).toEqual([0, ""]);
      expect(ownResultsSchema.parse(readJson("plain.json")).settings.sent).toEqual({
        maxTokens: 2048,
        temperature: 0.5,
        toolChoice: "auto",
      });
      expect(provider.requests[0]?.body).toMatchObject({ max_tokens: 2048, temperature: 0.5 });
    });

    it("include --reasoning-tokens for any model, unless it is 0", async () => {
      const provider = await thinker();
      const some = "--model-provider openai --model-id mine --reasoning-tokens 1000";
      expect(await run(provider, "openai-chat", some, "some.json")).toMatchObject({ code: 0 });
      expect(provider.requests[0]?.body).toMatchObject({ max_tokens: 3048 });
      expect(resultsSchema.parse(readJson("some.json")).settings).toMatchObject({ reasoningTokens: 1000 });
      const other = await thinker();
      const none = "--model-id openai/gpt-5-mini --wire-api chat --reasoning-tokens 0";
      expect(await run(other, "openai-chat", none, "none.json")).toMatchObject({ code: 0 });
      expect(other.requests[0]?.body).toMatchObject({ max_completion_tokens: 2048 });
    });

    it("come from an agent's own reasoning tokens, which can be removed again", async () => {
      expect((await artE("agents set forced --reasoning-tokens 77")).code).toBe(0);
      expect((await artE("agents show forced")).stdout).toContain("reasoningTokens 77");
      expect((await artE("agents set forced --reasoning-tokens default")).code).toBe(0);
      expect((await artE("agents show forced")).stdout).not.toContain("reasoningTokens");
    });
  });
});
