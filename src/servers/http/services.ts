import type { ServedModels } from "../../app/chat/served-models.js";
import type { Db } from "../../store/connection/open-store.js";
import type { ToolResources } from "../../tools/handler.js";
import type { ChatLimits } from "./chat-limits.js";
import type { StreamLimits } from "./sse-writer.js";

/** What requests are served with; one a server. */
export interface Services {
  readonly db: Db;
  readonly version: string;
  readonly resources: ToolResources;
  readonly models: ServedModels;
  readonly chats: ChatLimits;
  readonly stream: StreamLimits;
  readonly chatTimeoutMs: number;
  /** Whether tools may be made that run programs here, read the environment or reach private addresses. */
  readonly allowPrograms: boolean;
  /** A fault of ours, for the log. */
  report(fault: unknown, requestId: string): void;
}
