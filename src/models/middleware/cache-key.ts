import { createHash } from "node:crypto";
import type { ModelRequest } from "../../domain/models/model.js";
import { reasoningRoom, rulesFor } from "../catalog/request-parameters.js";
import { parseModelName } from "../model-name.js";

/** SHA-256 over everything that decides a reply, and whose it is; the order of an object's keys aside. */
export function requestKey(modelId: string, request: ModelRequest): string {
  return digest({ modelId, ...deciding(request), task: request.task });
}

/** The same over what decides a reply, the server and the repeat: whichever task of whichever run asks. */
export function cacheKey(server: CachedServer, request: ModelRequest): string {
  const { model, baseUrl, wireApi } = server;
  const rules = rulesFor(parseModelName(model, null), wireApi ?? "chat");
  // A reply that was cut off while it reasoned is not asked for again where there is more room now.
  const reasoningTokens = reasoningRoom(rules, request) || undefined;
  const epoch = request.task?.epoch ?? 1;
  return digest({ model, baseUrl, wireApi, ...deciding(request), reasoningTokens, epoch });
}

/** Whose replies are kept. */
export interface CachedServer {
  readonly model: string;
  readonly baseUrl: string | null;
  readonly wireApi: "chat" | "responses" | null;
}

function deciding({ system, messages, tools, toolChoice, maxTokens, reasoningTokens, temperature }: ModelRequest) {
  return { system, messages, tools, toolChoice, maxTokens, reasoningTokens, temperature };
}

export function digest(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
