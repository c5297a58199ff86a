const KEY = "art-e-chat";

interface ChatState {
  readonly agent: string | null;
  /** Null: nothing was chosen yet; empty: any mailbox. */
  readonly inbox: string | null;
  readonly day: string;
  readonly model: string;
  /** The session that is going on. */
  readonly session: string | null;
  /** What stands in the question field. */
  readonly draft: string;
}

/** What was chosen and asked last in this tab, in the tab's storage: it survives other sections and reloads. */
let state: ChatState = { agent: null, inbox: null, day: "", model: "", session: null, draft: "", ...readStored() };

export function chatState(): ChatState {
  return state;
}

export function updateChatState(changes: Partial<ChatState>): void {
  state = { ...state, ...changes };
  sessionStorage.setItem(KEY, JSON.stringify(state));
}

function readStored(): Partial<ChatState> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}
