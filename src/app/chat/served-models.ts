import type { Agent } from "../../domain/agents/agent.js";
import type { Model, PriceOf } from "../../domain/models/model.js";
import { ANSWERING_MODELS } from "../../models/catalog/default-models.js";
import { priceOfReply } from "../../models/catalog/prices.js";
import type { EndpointSettings } from "../../models/endpoint.js";
import { RateLimiter } from "../../models/middleware/rate-limiter.js";
import { DEFAULT_RETRY } from "../../models/middleware/retry.js";
import { parseModelName } from "../../models/model-name.js";
import { isRemote, PROVIDERS, type Provider } from "../../models/provider-names.js";
import { resolveModel } from "../../models/resolve-model.js";
import { ApiError } from "../../servers/http/api-error.js";

/** A model that is ready to be asked, and what it costs. */
export interface ServedModel {
  readonly model: Model;
  /** US dollars; null where the price is not known. */
  readonly priceOf: PriceOf;
}

/** Models stay open, so that all chats with one share its throttle; the ones that have waited longest go. */
const MOST_OPEN = 64;

/** One of each provider, to be offered to those who name none. */
const EXAMPLES: Readonly<Partial<Record<Provider, string>>> = { ...ANSWERING_MODELS, offline: "offline/baseline" };

/** Chats are limited themselves; a call that hangs must not make those of other people wait behind it. */
const MOST_CALLS = 1_000;

/** The models that chats may be held with: those whose provider can be reached, and the offline baseline. */
export class ServedModels {
  private readonly open = new Map<string, Promise<ServedModel>>();
  private readonly throttles = new Map<Provider, RateLimiter>();

  constructor(
    private readonly reach: (provider: Provider) => EndpointSettings,
    private readonly defaultModel: string,
    /** Put round each model once it is reached. */
    private readonly around: (model: Model) => Model = (model) => model,
  ) {}

  /** One model of each provider that can be asked. */
  examples(): { readonly id: string; readonly provider: Provider }[] {
    return PROVIDERS.flatMap((provider) => {
      const id = EXAMPLES[provider];
      return id !== undefined && this.canReach(provider) ? [{ id, provider }] : [];
    });
  }

  /** For agents without a model of their own: the program's default, or where its provider cannot be reached one that can. */
  fallback(): string {
    if (this.canReach(parseModelName(this.defaultModel, null).provider)) return this.defaultModel;
    return this.examples().find(({ provider }) => isRemote(provider))?.id ?? this.defaultModel;
  }

  /** The model asked for, else the agent's own, else the fallback. Throws an ApiError or a UserError where it cannot be had. */
  async get(agent: Agent, provider: string | undefined, id: string | undefined): Promise<ServedModel> {
    const name = parseModelName(id ?? agent.model ?? this.fallback(), id === undefined ? null : (provider ?? null));
    if (name.provider === "replay") {
      throw new ApiError("VALIDATION_ERROR", "Recorded replies are files of this machine and are not served.");
    }
    const ready = this.open.get(name.id) ?? this.connect(name.provider, name.id);
    this.open.delete(name.id);
    this.open.set(name.id, ready);
    const [oldest] = this.open.keys();
    if (this.open.size > MOST_OPEN && oldest !== undefined) this.open.delete(oldest);
    try {
      return await ready;
    } catch (error) {
      this.open.delete(name.id);
      throw error;
    }
  }

  private async connect(provider: Provider, id: string): Promise<ServedModel> {
    const model = await resolveModel(
      parseModelName(id, null),
      this.reach(provider),
      DEFAULT_RETRY,
      this.throttle(provider),
    );
    return { model: this.around(model), priceOf: (usage, answeredBy) => priceOfReply(id, answeredBy, usage) };
  }

  private throttle(provider: Provider): RateLimiter | null {
    if (!isRemote(provider)) return null;
    const throttle = this.throttles.get(provider) ?? new RateLimiter({ concurrency: MOST_CALLS, rpm: null, tpm: null });
    this.throttles.set(provider, throttle);
    return throttle;
  }

  private canReach(provider: Provider): boolean {
    if (!isRemote(provider)) return true;
    const { apiKey, baseUrl } = this.reach(provider);
    return apiKey !== null || (provider === "openai" && baseUrl !== null);
  }
}
