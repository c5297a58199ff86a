import { UserError } from "../domain/errors.js";
import type { Model } from "../domain/models/model.js";
import { DEFAULT_RETRY, type RetryPolicy } from "../platform/retry.js";
import { withSuccessorHint } from "./catalog/successors.js";
import { checkBaseUrl, type Endpoint, type EndpointSettings } from "./endpoint.js";
import type { RateLimiter } from "./middleware/rate-limiter.js";
import { withRetry } from "./middleware/retry-model.js";
import { withRateLimit } from "./middleware/with-rate-limit.js";
import type { ModelName } from "./model-name.js";
import { API_KEY_VARIABLES, type Provider } from "./provider-names.js";
import { isOpenaiServer } from "./providers/openai-address.js";

/** Placeholder for local servers without keys: the SDK requires one. */
const NO_KEY = "no-key-needed";

/**
 * Creates the model of a name, with retries and rate limiting. An SDK is loaded only when its provider is named.
 * Throws a UserError for a missing key, an unusable base URL, an unknown offline model, or a replay file that cannot
 * be read.
 */
export async function resolveModel(
  name: ModelName,
  connection: EndpointSettings,
  retry: RetryPolicy = DEFAULT_RETRY,
  throttle: RateLimiter | null = null,
): Promise<Model> {
  if (connection.wireApi !== null && name.provider !== "openai") {
    throw new UserError(
      "wrong_wire_api",
      `--wire-api ${connection.wireApi} does not fit ${name.id}.`,
      "Leave it out: only the openai provider has more than one wire format.",
    );
  }
  switch (name.provider) {
    case "offline": {
      const { offlineModel } = await import("./baseline/offline-models.js");
      return offlineModel(name.name);
    }
    case "replay": {
      const { replayModel } = await import("./middleware/replay.js");
      return replayModel(name.name);
    }
    default: {
      const model = withSuccessorHint(await remoteModel(name, connection), name);
      // Inside the retries: a call that waits for its next attempt holds no slot.
      return withRetry(throttle === null ? model : withRateLimit(model, throttle), retry);
    }
  }
}

async function remoteModel(name: ModelName, connection: EndpointSettings): Promise<Model> {
  const endpoint = endpointFor(name.provider, connection);
  switch (name.provider) {
    case "anthropic": {
      const { anthropicModel } = await import("./providers/anthropic.js");
      return anthropicModel(name.name, endpoint);
    }
    case "google": {
      const { googleModel } = await import("./providers/google.js");
      return googleModel(name.name, endpoint);
    }
    default: {
      if (wireApiOf(connection.wireApi, endpoint.baseUrl) === "chat") {
        const { openaiChatModel } = await import("./providers/openai-chat.js");
        return openaiChatModel(name.name, endpoint);
      }
      const { openaiResponsesModel } = await import("./providers/openai-responses.js");
      return openaiResponsesModel(name.name, endpoint);
    }
  }
}

/** The wire format of the openai provider: as set, or else the better one for the server. */
export function wireApiOf(asked: EndpointSettings["wireApi"], baseUrl: string | null): "chat" | "responses" {
  return asked ?? (isOpenaiServer(baseUrl) ? "responses" : "chat");
}

function endpointFor(provider: Provider, connection: EndpointSettings): Endpoint {
  const baseUrl = connection.baseUrl === null ? null : checkBaseUrl(connection.baseUrl);
  const apiKey = connection.apiKey?.trim() || (provider === "openai" && baseUrl !== null ? NO_KEY : "");
  if (apiKey === "") {
    const variables = API_KEY_VARIABLES[provider].join(" or ");
    throw new UserError(
      "no_api_key",
      `No API key for ${provider}: ${variables} is not set.`,
      `Set ${variables} in the environment or in .env, or try offline/baseline, which needs no key.`,
    );
  }
  // Not a valid header value; the SDK's own error would show the key.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new UserError(
      "bad_api_key",
      `The API key for ${provider} holds white space or characters that no key has.`,
      `Check ${API_KEY_VARIABLES[provider].join(" or ")}.`,
    );
  }
  return { apiKey, baseUrl, timeoutMs: connection.timeoutMs };
}
