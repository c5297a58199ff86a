import { describe, expect, it } from "vitest";
import { parseModelName } from "../../src/models/names.js";
import {
  anyCheapModel,
  cheapModel,
  isJudgeOff,
  type JudgeOptions,
  judgeSettings,
} from "../../src/scoring/judge-settings.js";
import type { JudgeSettings } from "../../src/traces/trace.js";

const KEYS = { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o", GEMINI_API_KEY: "g" };
const HAIKU = parseModelName("anthropic/claude-haiku-5-5", null);
const flags = (given: Partial<JudgeOptions> = {}): JudgeOptions => ({ noJudge: false, ...given });
const STORED: JudgeSettings = { model: "openai/x", baseUrl: null, protocol: "art", version: 1, votes: 5 };

describe("the judge of an agent that names none", () => {
  it.each([
    ["anthropic", "anthropic/claude-haiku-5-5"],
    ["openai", "openai/gpt-6-luna"],
    ["google", "google/gemini-3.5-flash-lite"],
  ] as const)("of %s is %s, at its maker's own server and with a key", (provider, id) => {
    expect(cheapModel(provider, null, KEYS)?.id).toBe(id);
    expect(cheapModel(provider, null, {})).toBeNull();
    expect(cheapModel(provider, "http://localhost:8000/v1", KEYS)).toBeNull();
  });

  it.each(["offline", "replay"] as const)("of %s is none", (provider) => {
    expect(cheapModel(provider, null, KEYS)).toBeNull();
  });

  it("without an agent is of the first provider with a key", () => {
    expect(anyCheapModel(KEYS)?.id).toBe("anthropic/claude-haiku-5-5");
    expect(anyCheapModel({ GEMINI_API_KEY: "g" })?.id).toBe("google/gemini-3.5-flash-lite");
    expect(anyCheapModel({})).toBeNull();
  });
});

describe("--judge", () => {
  const of = (given: Partial<JudgeOptions>, stored: JudgeSettings | null = null, env = {}) =>
    judgeSettings(flags(given), stored, HAIKU, env);

  it.each<[Partial<JudgeOptions>, Partial<JudgeSettings>]>([
    [{}, { model: "anthropic/claude-haiku-5-5", protocol: "verdict", votes: 1, baseUrl: null }],
    [{ judgeVotes: 3 }, { model: "anthropic/claude-haiku-5-5", votes: 3 }],
    [{ judge: "art" }, { model: "anthropic/claude-haiku-5-5", protocol: "art" }],
    [{ judge: "art:openai/gpt-4.1" }, { model: "openai/gpt-4.1", protocol: "art" }],
    [{ judge: "openai/acme/best" }, { model: "openai/acme/best", protocol: "verdict" }],
    [{ judge: "openai/x", judgeBaseUrl: "http://localhost:8000/v1/" }, { baseUrl: "http://localhost:8000/v1" }],
  ])("%j", (given, wanted) => {
    expect(of(given)).toMatchObject(wanted);
  });

  it("goes where the environment says its provider is", () => {
    expect(of({ judge: "openai/x" }, null, { OPENAI_BASE_URL: "http://localhost:1/v1" })?.baseUrl).toBe(
      "http://localhost:1/v1",
    );
  });

  it("left out keeps the judge of the run, with more votes if wanted", () => {
    expect(of({}, STORED)).toEqual(STORED);
    expect(of({ judgeVotes: 7 }, STORED)).toEqual({ ...STORED, votes: 7 });
    expect(of({ judge: "openai/y" }, STORED)).toMatchObject({ model: "openai/y", protocol: "verdict", votes: 1 });
  });

  it.each([{ judge: "off" }, { noJudge: true }, { judge: "off", noJudge: true }])("%j is none", (given) => {
    expect(isJudgeOff(flags(given))).toBe(true);
    expect(of(given, STORED)).toBeNull();
  });
});
