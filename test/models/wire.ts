import type { Endpoint } from "../../src/models/endpoint.js";
import type { Completion, Message, Model, ModelRequest } from "../../src/models/model.js";
import { type Answer, type SeenRequest, startFakeProvider } from "../providers/fake-provider.js";
import type { WireFormat } from "../providers/wire-request.js";

/** Shared by the wire format tests: a conversation with every kind of message, and a way to send it. */

const CONVERSATION: readonly Message[] = [
  { role: "user", content: "When is the meeting?" },
  {
    role: "assistant",
    content: "Let me look.",
    toolCalls: [
      { id: "c1", name: "email_search", arguments: { query: "meeting" } },
      { id: "c2", name: "email_search", arguments: {}, invalid: '{"query' },
    ],
  },
  { role: "tool", toolCallId: "c1", name: "email_search", content: '{"emails":[]}', isError: false },
  { role: "tool", toolCallId: "c2", name: "email_search", content: "not JSON", isError: true },
  { role: "assistant", content: "", toolCalls: [] },
  { role: "user", content: "Please call a tool." },
];

export const REQUEST: ModelRequest = {
  system: "You answer from a mailbox.",
  messages: CONVERSATION,
  tools: [
    {
      name: "email_search",
      description: "Searches.",
      parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
    },
    { name: "list_inboxes", description: "Lists.", parameters: {} },
  ],
  toolChoice: "required",
  maxTokens: 512,
  temperature: 0,
};

/** A reply, appended to a request like in the agent's loop. */
export function asMessage({ content, toolCalls, providerState }: Completion): Message {
  return { role: "assistant", content, toolCalls: [...toolCalls], providerState };
}

/** The name of a model over a wire format, and how to open it. */
export function modelOver(format: WireFormat, name: string) {
  const provider = format.startsWith("openai") ? "openai" : (format as "anthropic" | "google");
  const wireApi = format === "openai-chat" ? "chat" : format === "openai-responses" ? "responses" : null;
  return { name: { provider, name, id: `${provider}/${name}` }, wireApi } as const;
}

/** Sends one request to a server that replies with `answer`. Returns the request and the result. */
export async function exchange(
  format: WireFormat,
  make: (name: string, endpoint: Endpoint) => Model,
  name: string,
  answer: Answer,
  changes: Partial<ModelRequest> = {},
): Promise<{ sent: SeenRequest; reply: Completion }> {
  const provider = await startFakeProvider([answer]);
  try {
    const model = make(name, { apiKey: "test-key", baseUrl: provider.baseUrl(format), timeoutMs: 5000 });
    const reply = await model.complete({ ...REQUEST, ...changes }, new AbortController().signal);
    const sent = provider.requests[0];
    if (!sent) throw new Error("nothing was sent");
    return { sent, reply };
  } finally {
    await provider.close();
  }
}
