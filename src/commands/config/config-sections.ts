import { z } from "zod";
import { type ConfigField, field, fieldAs, listed, names, numberOr, prices, thresholds } from "./config-field.js";

/** The sections of the file, each with its settings by their keys. */
export const SECTIONS = {
  agent: {
    id: field("agent"),
    command: field("agentCommand", { trusted: "program" }),
    url: field("agentUrl", { trusted: "address" }),
    "api-url": field("apiUrl", { trusted: "address" }),
    workspace: field("workspace"),
    "tell-task": field("tellTask"),
  },
  model: {
    id: field("modelId", { path: "model" }),
    provider: field("modelProvider"),
    "base-url": field("baseUrl", { trusted: "address" }),
    "wire-api": field("wireApi"),
    "max-tokens": field("maxTokens"),
    "reasoning-tokens": field("reasoningTokens"),
    temperature: field("temperature"),
    price: fieldAs("price", prices),
  },
  dataset: {
    file: field("dataset", { path: "file" }),
    split: field("split"),
    "use-json": field("useJson"),
    revision: field("revision"),
    "min-realism": field("minRealism"),
    "max-sources": field("maxSources"),
    ids: fieldAs("ids", listed(z.number("expected a number"))),
    inbox: field("inbox"),
    "exclude-known-bad": field("excludeKnownBad"),
    "partial-inboxes": field("partialInboxes"),
    cutoff: field("cutoff"),
    protocol: field("protocol"),
  },
  suite: {
    folder: field("suite", { path: "file" }),
    task: fieldAs("task", names),
    tool: field("tool"),
    tag: fieldAs("tag", names),
    index: field("index"),
    counterparts: field("counterparts"),
    oracle: field("oracle", { path: "file" }),
    functions: field("functions", { path: "file", trusted: "program" }),
    "account-settings": field("accountSettings", { path: "file" }),
  },
  run: {
    limit: field("limit"),
    epochs: field("epochs"),
    shuffle: field("shuffle"),
    seed: field("seed"),
    scorers: fieldAs("scorers", names),
    cache: field("cache"),
    output: field("output", { path: "file" }),
    record: field("record", { path: "file" }),
  },
  limits: {
    "max-cost": field("maxCost"),
    "max-task-cost": field("maxTaskCost"),
    "max-run-tokens": field("maxRunTokens"),
    "max-time": field("maxTime"),
    "max-failures": fieldAs("maxFailures", numberOr(z.string(), "expected a number of tasks, or a share such as 5%")),
    "max-turns": field("maxTurns"),
    "task-timeout": field("taskTimeout"),
    "request-timeout": field("requestTimeout"),
    concurrency: fieldAs("concurrency", numberOr(z.literal("auto"), "expected auto, or a whole number from 1 to 9999")),
    rpm: field("rpm"),
    tpm: field("tpm"),
  },
  judge: {
    model: field("judge", { path: "model" }),
    votes: field("judgeVotes"),
    "base-url": field("judgeBaseUrl", { trusted: "address" }),
  },
  gates: {
    "fail-under": fieldAs("failUnder", thresholds),
    baseline: field("baseline", { path: "source" }),
    "no-worse-than": field("noWorseThan"),
    metric: field("metric"),
    junit: field("junit", { path: "file" }),
  },
  traces: {
    otlp: field("otlp"),
    "otlp-endpoint": field("otlpEndpoint", { trusted: "address" }),
    scores: field("scores"),
    "no-content": field("noContent"),
  },
} satisfies Record<string, Readonly<Record<string, ConfigField>>>;

export type SectionName = keyof typeof SECTIONS;

/** Sections that may be a text instead, which is the value of this key. */
export const MAIN_KEYS: Readonly<Partial<Record<SectionName, string>>> = {
  agent: "id",
  model: "id",
  dataset: "file",
  suite: "folder",
  judge: "model",
};
