import { afterAll, describe, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest, WireFormat } from "../../providers/wire-request.js";
import { boxLines, demoQuestion, demoQuestions, everyFile, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

const { artE, path, readJson } = workFolder({ mail: MAIL });

/** Of no form that `scrub` knows, so that only its being the key can black it out. */
const KEY = "wombat-3141592653589793-key";

const IDS = [1, 21, 50];
const RUN = `run -a email-search --dataset ${QUESTIONS} --ids ${IDS}`;

const providers: FakeProvider[] = [];
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

/** Searches, reads the gold mail and gives the gold answer. */
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

const refusing = (status: number) =>
  provide(() => ({ fail: "status", status, message: `the key ${KEY} is revoked`, code: "bad_key" }));

describe("run against a provider's own protocol scores what the model answers, and keeps no key", () => {
  type BaseUrl = (format: WireFormat) => string;

  it.concurrent.each<[string, string, (url: BaseUrl) => { flags: string; variables: Record<string, string> }]>([
    [
      "anthropic",
      "anthropic/claude-sonnet-5-5",
      (url) => ({ flags: "", variables: { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url("anthropic") } }),
    ],
    [
      "openai by OPENAI_BASE_URL",
      "openai/gpt-4.1",
      (url) => ({
        flags: "--model-id openai/gpt-4.1",
        variables: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: url("openai-chat") },
      }),
    ],
    [
      "openai by --base-url, in the responses format",
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
  ])("%s", async (_, model, how) => {
    const provider = await perfectAgent();
    const { flags, variables } = how(provider.baseUrl);
    const files = model.replaceAll("/", "-");
    const { code, stdout, stderr } = await artE(`${RUN} ${flags} -o ${files}.json --record ${files}.jsonl`, variables);
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

describe("the key and the address", () => {
  const { artE, write } = workFolder({ mail: MAIL });

  it("are read from .env in the working folder; its address gets its own key, any other that of the environment", async () => {
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

describe("a run whose provider refuses", () => {
  const variables = ({ url }: FakeProvider) => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url });

  it.concurrent("every task ends with exit code 3, says why, and names the refused key nowhere", async () => {
    const provider = await refusing(400);
    const { code, stdout, stderr } = await artE(`${RUN} -o failed.json`, variables(provider));
    expect(code).toBe(3);
    expect(stderr).toMatch(/^art-e: 3 of 3 tasks failed\. See why: art-e export-traces --run run_\S+ --failed; /);
    expect(stderr).toMatch(/; answer them again: art-e run --resume run_\S+ --retry-failed\n$/);
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
    expect(exported.stdout).toContain("400 the key [key] is revoked");
    expect(stdout + stderr + exported.stdout).not.toContain(KEY);
  });

  it.concurrent("its key ends with exit code 1 at once, leaves every task unanswered, and names the key nowhere", async () => {
    const provider = await refusing(401);
    const line = `${RUN} -o refused.json --concurrency 2`;
    const { code, stdout, stderr } = await artE(line, variables(provider));
    expect(code).toBe(1);
    const { taskResults, runId } = resultsSchema.parse(readJson("refused.json"));
    expect(taskResults).toEqual([]);
    expect(stderr).toBe(
      `art-e: Run ${runId} stopped: anthropic/claude-sonnet-5-5: 401 the key [key] is revoked.\n       0 of 3 tasks are saved. Check the key in ANTHROPIC_API_KEY and the account behind it; when it is accepted: art-e run --resume ${runId}\n`,
    );
    expect(stdout).toBe("");
    expect(provider.requests.length).toBeLessThanOrEqual(2);
    expect(stdout + stderr).not.toContain(KEY);
  });

  it.concurrent("its model says so, and does not advise what cannot help", async () => {
    const provider = await refusing(404);
    const { code, stdout, stderr } = await artE(`${RUN} --concurrency 2`, variables(provider));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("0 of 3 tasks are saved. Begin again with a model that the server has (--model-id");
    expect(stderr).not.toContain("--resume");
  });

  it.concurrent("just half of the tasks is done, with the failures counted apart and as wrong", async () => {
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

it("in the end the key stands in no file of the working folder, the database's included", () => {
  const files = everyFile(path(""));
  expect(files.map(({ name }) => name)).toContain(path("art-e.db"));
  for (const { name, bytes } of files) expect(bytes.includes(KEY), name).toBe(false);
});
