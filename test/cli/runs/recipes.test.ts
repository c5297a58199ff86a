import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { JsonValue } from "../../../src/platform/json.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";

/** The recipes in docs/models.md against servers that use each provider's published wire format. */

type Body = Readonly<Record<string, JsonValue>>;

const { artE, readJson } = workFolder({ mail: MAIL });

const providers: FakeProvider[] = [];
afterEach(() => Promise.all(providers.splice(0).map((provider) => provider.close())));

const raw = (body: JsonValue): Answer => ({ fail: "body", body });
const FINAL = { name: "return_final_answer", arguments: JSON.stringify({ answer: "42", sources: [] }) };

function completion(message: Record<string, JsonValue>, more: Record<string, JsonValue> = {}): Answer {
  const choice = { index: 0, finish_reason: "tool_calls", logprobs: null, message: { role: "assistant", ...message } };
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  return raw({ id: "c1", object: "chat.completion", created: 1, usage, ...more, choices: [choice as JsonValue] });
}

async function run(model: string, path: string, reply: (body: Body, n: number) => Answer) {
  const provider: FakeProvider = await startFakeProvider(() => {
    const n = provider.requests.length;
    return reply(provider.requests.at(-1)?.body as Body, n);
  });
  providers.push(provider);
  const line = `run -a email-search --dataset ${QUESTIONS} --ids 1 --no-judge --model-provider openai --model-id ${model}`;
  const { code } = await artE(`${line} --base-url ${provider.url}${path} -o results.json`, {
    OPENAI_API_KEY: "the-key",
  });
  expect(code).toBe(0);
  for (const { path: asked, headers } of provider.requests) {
    expect([asked, headers.authorization]).toEqual([`${path}/chat/completions`, "Bearer the-key"]);
  }
  return readJson("results.json").taskResults[0];
}

describe("a recipe in docs/models.md", () => {
  it("appears on the page for each provider tested here", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../docs/models.md"), "utf8");
    for (const path of [
      ".openai.azure.com/openai/v1",
      ".amazonaws.com/openai/v1",
      "/v1beta1/projects/PROJECT/locations/global/endpoints/openapi",
    ]) {
      expect(page).toContain(path);
    }
  });

  it("runs an Azure deployment whose name does not show that the model reasons", async () => {
    const filters = { hate: { filtered: false, severity: "safe" } };
    const result = await run("my-deployment", "/openai/v1", (body) =>
      body.max_tokens === undefined
        ? completion(
            {
              content: null,
              refusal: null,
              annotations: [],
              tool_calls: [{ id: "call_1", type: "function", function: FINAL }],
            },
            {
              model: "gpt-5-mini-2025-08-07",
              prompt_filter_results: [{ prompt_index: 0, content_filter_results: filters }],
              usage: {
                prompt_tokens: 100,
                completion_tokens: 60,
                total_tokens: 160,
                completion_tokens_details: { reasoning_tokens: 40, accepted_prediction_tokens: 0 },
                prompt_tokens_details: { cached_tokens: 64 },
              },
            },
          )
        : {
            fail: "status",
            status: 400,
            body: {
              error: {
                message:
                  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                type: "invalid_request_error",
                param: "max_tokens",
                code: "unsupported_parameter",
              },
            },
          },
    );
    expect(result).toMatchObject({
      ending: "answered",
      agentAnswer: "42",
      usage: { inputTokens: 100, outputTokens: 60, cachedInputTokens: 64, reasoningTokens: 40 },
    });
  });

  it("runs an open model on Bedrock, which leaves its reasoning in the text", async () => {
    const result = await run("openai.gpt-oss-120b-1:0", "/openai/v1", () =>
      completion(
        { content: "<reasoning>The user wants a number.</reasoning>42" },
        { model: "openai.gpt-oss-120b-1:0", service_tier: "default" },
      ),
    );
    expect(result).toMatchObject({ ending: "answered", agentAnswer: "42" });
  });

  it("runs Gemini on Vertex AI, which requires its thought signatures in later requests", async () => {
    const signature = { google: { thought_signature: "c2lnbmVk" } };
    const call = (fields: Record<string, JsonValue>): Record<string, JsonValue> => ({
      tool_calls: [{ id: "function-call-1", type: "function", extra_content: signature, function: fields }],
    });
    const result = await run(
      "google/gemini-2.5-flash",
      "/v1beta1/projects/p/locations/global/endpoints/openapi",
      (body, n) => {
        const usage = {
          prompt_tokens: 100,
          completion_tokens: 20,
          total_tokens: 150,
          completion_tokens_details: { reasoning_tokens: 30 },
        };
        if (n > 1 && !JSON.stringify(body.messages).includes("c2lnbmVk")) {
          const message = "Function call is missing a thought_signature in functionCall parts.";
          return { fail: "status", status: 400, body: [{ error: { code: 400, message, status: "INVALID_ARGUMENT" } }] };
        }
        const search = { name: "email_search", arguments: JSON.stringify({ query: "adder", inbox_id: "x@y.z" }) };
        return completion(call(n === 1 ? search : FINAL), { model: "google/gemini-2.5-flash", usage });
      },
    );
    expect(result).toMatchObject({
      ending: "answered",
      turns: 2,
      usage: { inputTokens: 200, outputTokens: 100, reasoningTokens: 60 },
    });
  });
});
