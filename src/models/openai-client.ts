import OpenAI from "openai";
import { sdkFetch } from "./http.js";
import type { Endpoint } from "./names.js";

const OPENAI_URL = "https://api.openai.com/v1";

/** A client that knows only what it is handed: the SDK would read ten environment variables by itself. */
export function openaiClient(endpoint: Endpoint): OpenAI {
  return new OpenAI({
    apiKey: endpoint.apiKey,
    adminAPIKey: null,
    baseURL: endpoint.baseUrl ?? OPENAI_URL,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: endpoint.timeoutMs,
    logLevel: "off",
    fetch: sdkFetch,
  });
}

/** Last on every request, so that no other value of the header wins. */
export function openaiHeaders(endpoint: Endpoint): Record<string, string> {
  return { authorization: `Bearer ${endpoint.apiKey}` };
}

/** Where chat completions are asked for, at OpenAI or at a server that speaks like it. */
export function chatUrl({ baseUrl }: Endpoint): string {
  return `${(baseUrl ?? OPENAI_URL).replace(/\/$/, "")}/chat/completions`;
}
