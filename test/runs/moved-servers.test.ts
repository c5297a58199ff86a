import { describe, expect, it } from "vitest";
import { differences, movedServers } from "../../src/runs/settings-from-options.js";
import type { ExternalRunSettings, OwnRunSettings } from "../../src/traces/run-settings.js";

const A = "http://127.0.0.1:1/v1";
const B = "http://127.0.0.1:2/v1";

const JUDGE = { model: "openai/judge", protocol: "verdict", version: 1, votes: 1 } as const;

type Changes = Partial<OwnRunSettings> | Pick<ExternalRunSettings, "kind" | "externalAgent">;

function settings(changes: Changes): OwnRunSettings | ExternalRunSettings {
  const own = { kind: "own", baseUrl: null, maxTaskCostUsd: null } as const;
  return { ...(changes.kind === "external" ? {} : own), judge: null, taskTimeoutMs: 600_000, ...changes } as
    | OwnRunSettings
    | ExternalRunSettings;
}

describe("movedServers", () => {
  it.each<[string, Changes, Changes, string[]]>([
    ["the model server", { baseUrl: A }, { baseUrl: B }, [`the model server was at ${A} and is at ${B}`]],
    [
      "the provider's own server",
      { baseUrl: null },
      { baseUrl: B },
      [`the model server was at the provider's own URL and is at ${B}`],
    ],
    [
      "the judge's server",
      { judge: { ...JUDGE, baseUrl: A } },
      { judge: { ...JUDGE, baseUrl: B } },
      [`the judge's server was at ${A} and is at ${B}`],
    ],
    [
      "the agent's server",
      { kind: "external", externalAgent: { kind: "endpoint", url: A } },
      { kind: "external", externalAgent: { kind: "endpoint", url: B } },
      [`the agent's server was at ${A} and is at ${B}`],
    ],
  ])("names %s as moved, which is not a difference in settings", (_, before, now, moved) => {
    expect(movedServers(settings(before), settings(now))).toEqual(moved);
    expect(differences(settings(before), settings(now))).toEqual([]);
  });

  it("omits a server that only one of the two runs has", () => {
    const judged = settings({ judge: { ...JUDGE, baseUrl: A } });
    expect(movedServers(judged, settings({}))).toEqual([]);
    expect(movedServers(settings({}), judged)).toEqual([]);
    expect(differences(judged, settings({}))).toEqual([expect.stringMatching(/^judge was .+ and would be null$/)]);
  });
});
