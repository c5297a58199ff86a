/** Null stands for OpenAI's own server. */
export function isOpenaiServer(baseUrl: string | null): boolean {
  return baseUrl === null || new URL(baseUrl).hostname === "api.openai.com";
}

/**
 * o1, o3, o4 and GPT-5 upward (not its `-chat` models) refuse `temperature` and `max_tokens`. Routers put the
 * maker before the name: `openai/gpt-5-mini`.
 */
export function isReasoningModel(name: string): boolean {
  const bare = name.slice(name.lastIndexOf("/") + 1);
  return /^(o\d|gpt-([5-9]|\d\d))/.test(bare) && !/^gpt-[\d.]+-chat/.test(bare);
}
