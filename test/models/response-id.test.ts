import { describe, expect, test } from "vitest";
import { anthropicModel } from "../../src/models/providers/anthropic.js";
import { googleModel } from "../../src/models/providers/google.js";
import { openaiChatModel } from "../../src/models/providers/openai-chat.js";
import { openaiResponsesModel } from "../../src/models/providers/openai-responses.js";
import type { JsonValue } from "../../src/platform/json.js";
import { toReplyBody } from "../providers/wire-reply.js";
import { exchange } from "./wire.js";

/** The id by which a provider finds a reply in its own logs. */

describe.each([
  ["anthropic", anthropicModel, "id", "msg_1"],
  ["openai-chat", openaiChatModel, "id", "chatcmpl-1"],
  ["openai-responses", openaiResponsesModel, "id", "resp_1"],
  ["google", googleModel, "responseId", "resp_1"],
] as const)("the id of a reply in the %s format", (format, make, field, expected) => {
  const whole = toReplyBody(format, { content: "ok" }, 1, "asked") as { [key: string]: JsonValue };
  const idOf = async (id: JsonValue) =>
    (await exchange(format, make, "asked", { fail: "body", body: { ...whole, [field]: id } })).reply.responseId;

  test("is kept", async () => {
    const { reply } = await exchange(format, make, "asked", { content: "ok" });
    expect(reply.responseId).toBe(expected);
  });

  test("is left out where it is no id, and the reply is taken all the same", async () => {
    expect(await idOf("")).toBeUndefined();
    expect(await idOf(7)).toBeUndefined();
    expect(await idOf(null)).toBeUndefined();
    expect(await idOf("x".repeat(201))).toBeUndefined();
  });
});
