import { describe, expect, test } from "vitest";
import { parseModelName } from "../../src/models/names.js";
import { UserError } from "../../src/platform/errors.js";

function refusal(id: string, provider: string | null): UserError {
  try {
    parseModelName(id, provider);
  } catch (error) {
    if (error instanceof UserError) return error;
  }
  throw new Error(`${id} was accepted`);
}

describe("parseModelName refuses", () => {
  test("two providers at once, naming both flags", () => {
    const error = refusal("anthropic/claude-sonnet-4-5", "openai");
    expect(error.message).toContain("--model-provider openai");
    expect(error.message).toContain("--model-id anthropic/claude-sonnet-4-5");
    expect(error.hint).toContain("--base-url");
  });

  test("an unknown prefix with nobody to ask, listing the providers", () => {
    expect(refusal("meta-llama/Llama-3", null).hint).toContain("anthropic, openai, google, offline, replay");
  });

  test("an unknown provider", () => {
    expect(refusal("x", "mistral").message).toContain("mistral");
  });

  test.each(["llama3", "my-model", "gpt-oss-20b", "gemma-3-27b-it", "sonnet", "openai"])(
    "the bare name %s, which is no provider's, with the spelling that works",
    (id) => {
      const error = refusal(id, null);
      expect(error.code).toBe("unknown_model");
      const [spelling = ""] = error.hint?.match(/openai\/[^ ]+/) ?? [];
      expect(parseModelName(spelling, null)).toMatchObject({ provider: "openai", name: id });
    },
  );

  test.each(["", "  ", "anthropic/", "replay/"])("no name: %j", (id) => {
    expect(refusal(id, null).code).toBe("no_model");
  });
});

describe("parseModelName reads", () => {
  test.each([
    ["anthropic/claude-sonnet-4-5", null, "anthropic", "claude-sonnet-4-5"],
    ["anthropic/claude-sonnet-4-5", "anthropic", "anthropic", "claude-sonnet-4-5"],
    ["claude-sonnet-4-5", null, "anthropic", "claude-sonnet-4-5"],
    ["gpt-4.1", "openai", "openai", "gpt-4.1"],
    ["gpt-4.1", null, "openai", "gpt-4.1"],
    ["gpt-6.1-terra", null, "openai", "gpt-6.1-terra"],
    ["o3", null, "openai", "o3"],
    ["o4-mini-2025-04-16", null, "openai", "o4-mini-2025-04-16"],
    ["ft:gpt-4o:acme::x", null, "openai", "ft:gpt-4o:acme::x"],
    ["gemini-4-argon", null, "google", "gemini-4-argon"],
    ["claude-haiku-5-5", null, "anthropic", "claude-haiku-5-5"],
    ["baseline", null, "offline", "baseline"],
    ["llama3", "openai", "openai", "llama3"],
    ["gpt-4.1", "anthropic", "anthropic", "gpt-4.1"],
    [" google/gemini-2.5-pro ", null, "google", "gemini-2.5-pro"],
    ["meta-llama/Llama-3", "openai", "openai", "meta-llama/Llama-3"],
    ["openai/meta-llama/Llama-3:free", null, "openai", "meta-llama/Llama-3:free"],
    ["replay/runs/one.jsonl", null, "replay", "runs/one.jsonl"],
    ["replay//tmp/one.jsonl", null, "replay", "/tmp/one.jsonl"],
    ["offline/baseline", null, "offline", "baseline"],
  ])("%s with %s", (id, given, provider, name) => {
    expect(parseModelName(id, given)).toEqual({ provider, name, id: `${provider}/${name}` });
  });

  test("another provider's prefix as part of the name at an own server", () => {
    const name = parseModelName("anthropic/claude-x", "openai", true);
    expect(name).toEqual({ provider: "openai", name: "anthropic/claude-x", id: "openai/anthropic/claude-x" });
  });
});
