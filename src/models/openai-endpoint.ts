import type { Endpoint } from "./names.js";

export const OPENAI_URL = "https://api.openai.com/v1";

/** Last on every request, so that no other value of the header wins. */
export function openaiHeaders(endpoint: Endpoint): Record<string, string> {
  return { authorization: `Bearer ${endpoint.apiKey}` };
}

/** Where chat completions are asked for, at OpenAI or at a server that speaks like it. */
export function chatUrl({ baseUrl }: Endpoint): string {
  return `${(baseUrl ?? OPENAI_URL).replace(/\/$/, "")}/chat/completions`;
}
