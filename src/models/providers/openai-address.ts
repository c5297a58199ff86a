import { z } from "zod";
import type { ModelError } from "../../domain/models/model.js";
import { httpError } from "../http/provider-errors.js";

/** Null stands for OpenAI's own server. */
export function isOpenaiServer(baseUrl: string | null): boolean {
  return baseUrl === null || new URL(baseUrl).hostname === "api.openai.com";
}

/**
 * o1, o3, o4, codex and GPT-5 upward (not its `-chat` models) refuse `temperature` and `max_tokens`. Routers put the
 * maker before the name, `openai/gpt-5-mini`; fine-tuned models have their own behind it,
 * `ft:o4-mini-2025-04-16:org::id`.
 */
export function isReasoningModel(name: string): boolean {
  const bare = name.slice(name.lastIndexOf("/") + 1).replace(/^ft:/, "");
  return /^(o\d|codex-|gpt-([5-9]|\d\d))/.test(bare) && !/^gpt-[\d.]+-chat/.test(bare);
}

const failureSchema = z.object({ error: z.object({ code: z.coerce.number().int().min(400), message: z.string() }) });

/** OpenRouter reports the failure of the server behind it in a reply of status 200; null for every other reply. */
export function failureInReply(body: unknown): ModelError | null {
  // Nearly every reply is none: to find that out by the schema costs more than the rest of the reading.
  if (typeof body !== "object" || body === null || !("error" in body)) return null;
  const failure = failureSchema.safeParse(body);
  return failure.success ? httpError(failure.data.error.code, failure.data.error.message) : null;
}
