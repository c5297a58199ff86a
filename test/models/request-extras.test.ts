// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the user are written this way.
import { afterEach, describe, expect, it } from "vitest";
import { cacheKey } from "../../src/models/cache.js";
import { resolveModel } from "../../src/models/open-model.js";
import {
  changedExtras,
  type GivenExtras,
  openExtras,
  parseBodyFields,
  parseHeaders,
  recordedExtras,
} from "../../src/models/request-extras.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { WIRE_FORMATS, type WireFormat } from "../providers/wire-request.js";
import { modelOver, REQUEST } from "./wire.js";

const never = new AbortController().signal;
const policy = { attempts: 1, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0.5 };

let provider: FakeProvider | undefined;
afterEach(() => provider?.close());

function given(headers: readonly string[], body: readonly string[]): GivenExtras {
  const [parsedHeaders, parsedBody] = [parseHeaders(headers), parseBodyFields(body)];
  if (!parsedHeaders.ok) throw new Error(parsedHeaders.problem);
  if (!parsedBody.ok) throw new Error(parsedBody.problem);
  return { header: parsedHeaders.value, body: parsedBody.value };
}

async function ask(
  format: WireFormat,
  extras: GivenExtras,
  {
    apiKey = "k",
    env = {},
    answer = { content: "ok" },
  }: { apiKey?: string | null; env?: object; answer?: Answer } = {},
) {
  provider = await startFakeProvider([answer]);
  const { name, wireApi } = modelOver(format, "some-model");
  const sent = openExtras(recordedExtras(extras), extras, { ...env });
  const connection = { apiKey, baseUrl: provider.baseUrl(format), wireApi, timeoutMs: 5_000, extras: sent };
  const model = await resolveModel(name, connection, policy);
  const reply = await model.complete(REQUEST, never).catch((error: Error) => error);
  const [seen] = provider.requests;
  return { reply, headers: seen?.headers ?? {}, body: (seen?.body ?? {}) as Record<string, unknown> };
}

describe.each(WIRE_FORMATS)("extra headers and fields over %s", (format) => {
  it("appear in the request, with the values of the variables", async () => {
    const { headers, body } = await ask(
      format,
      given(["X-Title=art-e", "X-Gateway-Key=${GATEWAY_KEY}"], ["top_p=0.9", "seed=42", 'user="${USER_NAME}"']),
      { env: { GATEWAY_KEY: "secret-of-the-gateway", USER_NAME: "ada" } },
    );
    expect(headers).toMatchObject({ "x-title": "art-e", "x-gateway-key": "secret-of-the-gateway" });
    expect(body).toMatchObject({ top_p: 0.9, seed: 42, user: "ada" });
  });

  it("extend the fields that art-e sends", async () => {
    const plain = await ask(format, {});
    const { body } = await ask(format, given([], ['generationConfig={"topP":0.9}', 'reasoning={"exclude":true}']));
    expect(body).toEqual({
      ...plain.body,
      generationConfig: { ...(plain.body.generationConfig as object | undefined), topP: 0.9 },
      reasoning: { exclude: true },
    });
  });

  it("can contain the key, and then no other key is sent", async () => {
    const extras = given(["api-key=${AZURE_KEY}"], []);
    const { headers, reply } = await ask(format, extras, { apiKey: null, env: { AZURE_KEY: "azure-secret" } });
    expect(reply).toMatchObject({ content: "ok" });
    expect(headers["api-key"]).toBe("azure-secret");
    expect(JSON.stringify(headers)).not.toContain("no-key-needed");
  });

  it("can replace the Authorization header", async () => {
    const { headers } = await ask(format, given(["Authorization=Basic ${LOGIN}"], []), { env: { LOGIN: "YWRhOng=" } });
    expect(headers.authorization).toBe("Basic YWRhOng=");
  });

  it("stay out of errors", async () => {
    const extras = given(["X-Key=${SECRET}", "X-Other=literal-secret"], []);
    const message = "the keys very-secret-value and literal-secret are unknown";
    const { reply } = await ask(format, extras, {
      env: { SECRET: "very-secret-value" },
      answer: { fail: "status", status: 400, body: { error: { message } } },
    });
    expect(String(reply)).toContain("the keys [key] and [key] are unknown");
  });
});

describe("a run's recorded extras", () => {
  it("contain the names of variables, public header values and the body, but no other values", () => {
    const extras = given(
      [
        "HTTP-Referer=https://example.com",
        "X-Key=${KEY}",
        "Authorization=Bearer ${TOKEN}",
        "X-Key-2=s3cret",
        "A=x-${B}",
      ],
      ['provider={"order":["fireworks"]}', 'metadata={"who":"${WHO}"}'],
    );
    expect(recordedExtras(extras)).toEqual({
      extraHeaders: {
        "HTTP-Referer": "https://example.com",
        "X-Key": "${KEY}",
        Authorization: "Bearer ${TOKEN}",
        "X-Key-2": "[not recorded]",
        A: "[not recorded]",
      },
      extraBody: { provider: { order: ["fireworks"] }, metadata: { who: "${WHO}" } },
    });
    expect(recordedExtras({})).toEqual({});
  });

  it("hide a key even in a public header", () => {
    const { header } = given(["User-Agent=sk-abcdefghijklmnopqrstuvwx"], []);
    expect(recordedExtras({ header }).extraHeaders).toEqual({ "User-Agent": "[not recorded]" });
  });

  it("combine with values that are given again, in any order and case", () => {
    const first = given(["A=1", "B=${B}", "C=3"], ["top_p=1"]);
    const recorded = recordedExtras(first);
    const again = given(["c=3", "a=1"], []);
    expect(Object.values(changedExtras(recorded, again).extraHeaders ?? {})).toEqual(
      Object.values(recorded.extraHeaders ?? {}),
    );
    expect(openExtras(recorded, again, { B: "2" }).headers).toEqual({ a: "1", b: "2", c: "3" });
    expect(() => openExtras(recorded, {}, { B: "2" })).toThrow("--header A: its value was not recorded");
  });

  it("require each variable to be set, and to be a valid header value", () => {
    const recorded = recordedExtras(given(["X-Key=${KEY}"], ['user="${WHO}"']));
    expect(() => openExtras(recorded, {}, { WHO: "ada" })).toThrow(
      "--header X-Key: the environment variable KEY is not set",
    );
    expect(() => openExtras(recorded, {}, { KEY: "k" }, "judge-")).toThrow("--judge-body user: the environment");
    expect(() => openExtras(recorded, {}, { KEY: "a\nb", WHO: "ada" })).toThrow(
      "characters that are invalid in a header",
    );
  });

  it("separate cached replies", () => {
    const server = { model: "openai/m", baseUrl: "http://localhost/v1", wireApi: "chat" as const };
    const keys = [{}, { extraBody: { seed: 1 } }, { extraBody: { seed: 2 } }, { extraHeaders: { A: "1" } }].map(
      (extras) => cacheKey({ ...server, ...extras }, REQUEST),
    );
    expect(new Set(keys).size).toBe(4);
  });
});

describe("parseHeaders", () => {
  it.each([
    ["Host=example.com", "Host is set by art-e itself"],
    ["content-length=5", "content-length is set by art-e itself"],
    ["Transfer-Encoding=chunked", "Transfer-Encoding is set by art-e itself"],
    ["X-Title", 'expected NAME=VALUE, got "X-Title"'],
    ["=x", 'expected NAME=VALUE, got "=x"'],
    ["a b=x", '"a b" is not a valid header name'],
    ["X=a\r\nY: b", "the value of X contains characters that are invalid in a header"],
    ["X=${not a variable}", "the value of X contains an invalid variable reference, expected ${VARIABLE}"],
  ])("rejects %s", (text, problem) => {
    expect(parseHeaders([text])).toEqual({ ok: false, problem });
  });

  it("rejects a repeated name, and keeps further equals signs", () => {
    expect(parseHeaders(["A=1", "a=2"])).toEqual({ ok: false, problem: "a is specified twice" });
    expect(parseHeaders(["A=b=c"])).toEqual({ ok: true, value: { A: "b=c" } });
  });
});

describe("parseBodyFields", () => {
  it.each([
    ["messages=[]", "messages is set by art-e itself"],
    ["tools=[]", "tools is set by art-e itself"],
    ["stream=true", "stream is set by art-e itself"],
    ['model="x"', "model is set by art-e itself"],
    ["n=2", "n is set by art-e itself"],
    ["temperature=1", "temperature has its own setting, --temperature"],
    ["max_tokens=1", "max_tokens has its own setting, --max-tokens"],
    ['generationConfig={"maxOutputTokens":5}', "generationConfig.maxOutputTokens has its own setting, --max-tokens"],
    ["user=ada", 'the value of user is not JSON. Put strings in quotes: user="text"'],
    ["seed", 'expected NAME=JSON, got "seed"'],
    ["__proto__={}", '"__proto__" is not a valid field name'],
    ["a b=1", '"a b" is not a valid field name'],
    ['user="${a b}"', "the value of user contains an invalid variable reference, expected ${VARIABLE}"],
  ])("rejects %s", (text, problem) => {
    expect(parseBodyFields([text])).toEqual({ ok: false, problem });
  });

  it.each([
    'api_key="abc"',
    'extra={"deep":[{"client_secret":"abc"}]}',
    'credentials={"id":"abc"}',
    'private_key_id="abc"',
    "password=12345678",
    'session_token="abc"',
    'user="sk-abcdefghijklmnopqrstuvwx"',
    'user="AKIAABCDEFGHIJKLMNOP"',
    'note="${A} glpat-abcdefghijklmnopqrst"',
    'extra={"header":"Bearer abcdefgh"}',
    'callback="https://ada:lovelace@host/"',
    'user="3858f62230ac3c915f300c664312c63f"',
    'user="Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MEFCQ0RFRg"',
  ])("rejects a secret, because it would be recorded (%s)", (text) => {
    expect(parseBodyFields([text])).toMatchObject({
      problem: expect.stringContaining("Set it in the environment"),
    });
  });

  it.each([
    'prompt_cache_key="mailbox-7"',
    'stop_token="</s>"',
    "eos_token=null",
    'user="a3b58ca2-7f75-4d4b-adce-985951f49f2e"',
    'provider={"order":["Meta-Llama-3.1-70B-Instruct-FP8-2024"]}',
    'authorization="Bearer ${KEY}"',
  ])("reads a value that is not a secret (%s)", (text) => {
    expect(parseBodyFields([text])).toMatchObject({ ok: true });
  });

  it("reads any JSON value, and a variable without quotes", () => {
    const fields = parseBodyFields(["a=1", "b=null", 'c={"d":[true]}', "e=${E}", 'api_key="${K}"']);
    expect(fields).toEqual({ ok: true, value: { a: 1, b: null, c: { d: [true] }, e: "${E}", api_key: "${K}" } });
  });
});
