// The models that a chat can use, opened at their first use.
import { LRUCache } from "lru-cache";
import type { Agent } from "../../agents/agent.js";
import type { EndpointSettings } from "../../models/endpoint.js";
import type { Model } from "../../models/model.js";
import {
  ANSWERING_MODELS,
  isRemote,
  type ModelName,
  PROVIDERS,
  type Provider,
  parseModelName,
} from "../../models/model-names.js";
import { pricesOf, resolveModel } from "../../models/open-model.js";
import { RateLimiter } from "../../models/rate-limiter.js";
import { UserError } from "../../platform/errors.js";
import { DEFAULT_RETRY } from "../../platform/retry-delay.js";

/** Maximum open models, which are shared by all chats that use them. */
const MAX_OPEN = 64;

/** An example model per provider. */
const EXAMPLES: Readonly<Partial<Record<Provider, string>>> = { ...ANSWERING_MODELS, offline: "offline/baseline" };

/** High, because chats are limited separately, and a call that hangs must not block calls of other chats. */
const MAX_CALLS = 1_000;

/** The model server of a run. `baseUrl` is null for the provider's own server. */
export type RecordedServer = Pick<EndpointSettings, "baseUrl" | "wireApi">;

/** The models that chats can use: models of providers with a key, and the offline baseline. */
export class ChatModels {
  private readonly open = new LRUCache<string, Promise<Model>>({ max: MAX_OPEN });
  private readonly rateLimiters = new Map<Provider, RateLimiter>();

  constructor(
    /** Returns this server's endpoint of a provider, or a recorded one. */
    private readonly endpointOf: (provider: Provider, recorded?: RecordedServer) => EndpointSettings,
    private readonly defaultModel: string,
    /** Applied to each model when it is opened. */
    private readonly wrap: (model: Model) => Model = (model) => model,
  ) {}

  /** Returns one model per configured provider. */
  examples(): { readonly id: string; readonly provider: Provider }[] {
    return PROVIDERS.flatMap((provider) => {
      const id = EXAMPLES[provider];
      return id !== undefined && this.isConfigured(provider) ? [{ id, provider }] : [];
    });
  }

  /**
   * Returns the model for agents without one: the program's default, or a model of a configured provider if the
   * default's provider has no key.
   */
  fallback(): string {
    if (this.isConfigured(parseModelName(this.defaultModel, null).provider)) return this.defaultModel;
    return this.examples().find(({ provider }) => isRemote(provider))?.id ?? this.defaultModel;
  }

  /**
   * Returns the requested model, otherwise the agent's, otherwise the fallback. Throws a UserError if it cannot be
   * opened.
   */
  async get(
    agent: Pick<Agent, "model">,
    provider: string | undefined,
    id: string | undefined,
    recorded?: RecordedServer,
  ): Promise<Model> {
    const name = parseModelName(id ?? agent.model ?? this.fallback(), id === undefined ? null : (provider ?? null));
    if (name.provider === "replay") {
      throw new UserError(
        "model_not_served",
        "Recorded replies are local files and are not served.",
        "Choose a provider's model.",
      );
    }
    const key = recorded === undefined ? name.id : JSON.stringify([name.id, recorded.baseUrl, recorded.wireApi]);
    const model = this.open.get(key) ?? this.connect(name, recorded);
    this.open.set(key, model);
    try {
      return await model;
    } catch (error) {
      this.open.delete(key);
      throw error;
    }
  }

  private async connect(name: ModelName, recorded: RecordedServer | undefined): Promise<Model> {
    const { provider } = name;
    const [limiter, priceOf] = [this.rateLimiter(provider), await pricesOf(name)];
    return this.wrap(await resolveModel(name, this.endpointOf(provider, recorded), DEFAULT_RETRY, limiter, priceOf));
  }

  private rateLimiter(provider: Provider): RateLimiter | null {
    if (!isRemote(provider)) return null;
    const rateLimiter =
      this.rateLimiters.get(provider) ?? new RateLimiter({ concurrency: MAX_CALLS, rpm: null, tpm: null });
    this.rateLimiters.set(provider, rateLimiter);
    return rateLimiter;
  }

  private isConfigured(provider: Provider): boolean {
    if (!isRemote(provider)) return true;
    const { apiKey, baseUrl } = this.endpointOf(provider);
    return apiKey !== null || (provider === "openai" && baseUrl !== null);
  }
}
