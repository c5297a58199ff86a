import { createHash } from "node:crypto";
import type { ModelRequest } from "../domain/model.js";

/** SHA-256 over everything that decides a reply, the order of an object's keys aside. */
export function requestKey(modelId: string, request: ModelRequest): string {
  const { system, messages, tools, toolChoice, maxTokens, temperature } = request;
  const whole = { modelId, system, messages, tools, toolChoice, maxTokens, temperature };
  return createHash("sha256").update(canonicalJson(whole)).digest("hex");
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
