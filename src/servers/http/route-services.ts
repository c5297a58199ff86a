import type { ChatServices } from "../../app/chat/prepare-chat.js";
import type { CorpusSnapshots } from "../../app/corpus-snapshot/snapshot-cache.js";
import type { ChatLimits } from "./chat-limits.js";
import type { StreamLimits } from "./sse-writer.js";

/** What the requests of one server share. */
export interface Services extends ChatServices {
  readonly version: string;
  readonly chats: ChatLimits;
  readonly stream: StreamLimits;
  readonly corpus: CorpusSnapshots;
  /** Whether tools may be made that run programs here, read the environment or reach private addresses. */
  readonly allowPrograms: boolean;
  /** Logs an error that is a bug of this program. */
  report(fault: unknown, requestId: string): void;
}
