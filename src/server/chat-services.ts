// The resources that all chats of a process share.
import { baseUrlOf, connectionOf, refuseStoredAddress } from "../models/connections.js";
import { DEFAULT_MODEL, PROVIDERS, type Provider } from "../models/model-names.js";
import { noteReplies } from "../models/open-model.js";
import { type GivenExtras, openExtras, recordedExtras } from "../models/request-extras.js";
import type { AppContext } from "../platform/app-context.js";
import { NEVER } from "../platform/deadline.js";
import { type Db, withStore } from "../store/open-store.js";
import { openMailbox } from "../tools/mailbox.js";
import { SearchPool } from "../tools/search-pool.js";
import { openExternalResources } from "../tools/tool-connections.js";
import type { ToolResources } from "../tools/tool-handler.js";
import { type LiveOptions, type LiveTraces, openLiveTraces } from "../trace-formats/otlp-live.js";
import { ChatModels, type RecordedServer } from "./chat/chat-models.js";
import type { ChatLimits } from "./chat-limits.js";

/** Resources shared by all chats of a process. */
export interface ChatServices {
  readonly db: Db;
  readonly resources: ToolResources;
  readonly models: ChatModels;
  readonly chats: ChatLimits;
  readonly chatTimeoutMs: number;
  /** Sends finished traces, or null if they are not sent. */
  readonly live: LiveTraces | null;
}

interface ChatModelOptions extends GivenExtras {
  readonly chatMs: number;
  /** Timeout per attempt at a model call. */
  readonly modelCallMs: number;
}

/** Opens the resources of chats (the database, the tools' resources and the models) while `use` is running. */
export async function withChatServices<T>(
  { chatMs, modelCallMs, ...options }: ChatModelOptions,
  liveOptions: LiveOptions,
  { settings, note }: Pick<AppContext, "settings" | "note">,
  use: (services: Omit<ChatServices, "chats">) => Promise<T>,
): Promise<T> {
  const { env } = settings;
  const extras = openExtras(recordedExtras(options), options, env);
  const endpointOf = (provider: Provider, recorded?: RecordedServer) => {
    if (recorded !== undefined) refuseStoredAddress(provider, recorded.baseUrl, env);
    const { baseUrl, wireApi } = recorded ?? {
      baseUrl: baseUrlOf(provider, undefined, env, "the same variable in the environment itself"),
      wireApi: null,
    };
    return connectionOf(provider, { baseUrl, wireApi, timeoutMs: modelCallMs, extras }, env);
  };
  // Refuses a URL that must not receive its key at startup instead of at the first chat.
  for (const provider of PROVIDERS) endpointOf(provider);
  const models = new ChatModels(endpointOf, DEFAULT_MODEL, (model) => noteReplies(model, note));
  return withStore(settings, async (db) => {
    const live = openLiveTraces(db, liveOptions, { settings, note });
    const outside = openExternalResources(env);
    let searchThreads: SearchPool | undefined;
    const resources = {
      mailbox: openMailbox(db),
      outside,
      // A server can be started before the import of its mail.
      get searchThreads() {
        searchThreads ??= SearchPool.open(db);
        return searchThreads;
      },
    };
    try {
      return await use({ db, resources, models, chatTimeoutMs: chatMs, live });
    } finally {
      await Promise.all([searchThreads?.close(), outside.close(), live?.close(NEVER)]);
    }
  });
}
