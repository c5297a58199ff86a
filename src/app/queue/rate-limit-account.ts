import { createHash } from "node:crypto";
import type { RunSettings } from "../../domain/runs/benchmark-result.js";
import { parseModelName } from "../../models/model-name.js";
import { connectionOf } from "../settings/endpoints.js";
import type { Environment } from "../settings/env-file.js";

type Server = Pick<RunSettings, "model" | "baseUrl" | "wireApi">;

/** A name for a provider's account: equal on machines that share its key, which cannot be told from it. */
export function accountOf({ model, baseUrl, wireApi }: Server, env: Environment): string {
  const { provider } = parseModelName(model, null);
  const { apiKey } = connectionOf(provider, { baseUrl, wireApi, timeoutMs: 0 }, env);
  return createHash("sha256")
    .update(JSON.stringify([provider, baseUrl, apiKey]))
    .digest("hex")
    .slice(0, 16);
}
