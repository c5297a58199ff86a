import type { Message } from "../../domain/models/conversation.js";

/** The conversation of one model call. */
export interface TurnMessages {
  readonly system: string | null;
  /** What the model was given besides. */
  readonly input: readonly Message[];
  /** Null: no reply came. */
  readonly reply: Message | null;
}

/** The conversation as the model had it in each of its turns. `history`: how many messages earlier chats left. */
export function turnMessages(messages: readonly Message[], turns: number, history: number): TurnMessages[] {
  const system = messages[0]?.role === "system" ? messages[0].content : null;
  const said = system === null ? messages : messages.slice(1);
  const replies = [...said.keys()].filter((at) => at >= history && said[at]?.role === "assistant");
  return Array.from({ length: turns }, (_, turn) => {
    const at = replies[turn];
    return { system, input: said.slice(0, at), reply: at === undefined ? null : (said[at] ?? null) };
  });
}
