import { DEFAULT_MODEL } from "../../models/catalog/default-models.js";
import { PROVIDERS, type Provider } from "../../models/provider-names.js";
import { openExternalResources } from "../../tools/external/external-connections.js";
import { openMailbox } from "../../tools/open-mailbox.js";
import { SearchPool } from "../../tools/search-pool/search-pool.js";
import { warnOfOtherModel } from "../run/warn-of-other-model.js";
import { baseUrlOf, connectionOf } from "../settings/endpoints.js";
import { type LiveOptions, openLiveTraces } from "../traces/live-traces.js";
import type { AppContext } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import type { ChatServices } from "./prepare-chat.js";
import { ServedModels } from "./served-models.js";

export interface ChatTimeouts {
  readonly chatMs: number;
  /** One model call, before it is tried again. */
  readonly modelCallMs: number;
}

const NEVER = new AbortController().signal;

/** Opens what chats need for the length of `use`: the database, the tools' resources and the models. */
export async function withChatServices<T>(
  { chatMs, modelCallMs }: ChatTimeouts,
  liveOptions: LiveOptions,
  { settings, note }: Pick<AppContext, "settings" | "note">,
  use: (services: Omit<ChatServices, "chats">) => Promise<T>,
): Promise<T> {
  const { env } = settings;
  const endpointOf = (provider: Provider) => {
    const baseUrl = baseUrlOf(provider, undefined, env, "the same variable in the environment itself");
    return connectionOf(provider, { baseUrl, wireApi: null, timeoutMs: modelCallMs }, env);
  };
  // Refuse an address that its key may not be sent to now, not at the first chat.
  for (const provider of PROVIDERS) endpointOf(provider);
  const models = new ServedModels(endpointOf, DEFAULT_MODEL, (model) => warnOfOtherModel(model, note));
  return withStore(settings, async (db) => {
    const live = openLiveTraces(db, liveOptions, { settings, note });
    const outside = openExternalResources(env);
    const searchThreads = new SearchPool(settings.db);
    try {
      const resources = { mailbox: openMailbox(db), searchThreads, outside };
      return await use({ db, resources, models, chatTimeoutMs: chatMs, live });
    } finally {
      await Promise.all([searchThreads.close(), outside.close(), live?.close(NEVER)]);
    }
  });
}
