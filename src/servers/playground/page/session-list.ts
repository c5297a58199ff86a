import { untrustedText } from "../../../reports/page/shared/dom.js";
import { minuteText } from "../../../reports/page/shared/format.js";
import type { SessionLineJson } from "./api-types.js";
import { updateChatState } from "./chat/chat-state.js";
import { forgetConversation } from "./chat/chat-view.js";
import { filteredList, type OffsetPageJson, offsetPage } from "./filtered-list.js";
import { get } from "./request.js";
import { idLink, table } from "./tables.js";

interface SessionPageJson extends OffsetPageJson {
  readonly sessions: readonly SessionLineJson[];
}

/** The chats there were, each of which can be gone on with. */
export function sessionList(page: HTMLElement, query: URLSearchParams): Promise<void> {
  return filteredList<SessionLineJson>(page, query, {
    title: "Chats",
    section: "chats",
    fields: [{ name: "agent_id", label: "Agent (its id)", kind: "text" }],
    none: "No chats yet: ask an agent.",
    load: (filter, next) => offsetPage("/api/sessions", filter, next, ({ sessions }: SessionPageJson) => sessions),
    table: sessionTable,
  });
}

/** Takes a chat up again, with its agent, mailbox and day. */
export async function sessionView(_page: HTMLElement, id: string): Promise<void> {
  const { agent_id, inbox_address, query_date } = await get<SessionLineJson>(`/api/sessions/${encodeURIComponent(id)}`);
  forgetConversation();
  updateChatState({ agent: agent_id, inbox: inbox_address ?? "", day: query_date ?? "", session: id, draft: "" });
  location.replace("#chat");
}

function sessionTable(sessions: readonly SessionLineJson[]): HTMLElement {
  return table(
    "Chats",
    ["Last asked", "First question", "Questions", "Agent", "Mailbox", "Day"],
    sessions.map(({ id, agent_id, inbox_address, query_date, chats, question, updated_at }) => [
      idLink("chats", id, minuteText(updated_at)),
      untrustedText(question ?? "–", "clip", "span"),
      chats ?? 0,
      agent_id,
      untrustedText(inbox_address ?? "any", "", "span"),
      query_date ?? "–",
    ]),
  );
}
