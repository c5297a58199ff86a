import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type RunHead, runHeadSchema } from "../../src/analysis/paired-comparison.js";
import { flagName } from "../../src/platform/command-line.js";
import { UserError } from "../../src/platform/errors.js";
import { traitsOf } from "../../src/platform/flag-values.js";
import { publishedDifferences } from "../../src/runs/published-conditions.js";
import {
  flagsWhere,
  RUN_FLAG_GROUPS,
  RUN_FLAGS,
  RUN_KINDS,
  type RunFlagName,
  type RunKind,
} from "../../src/runs/run-flags.js";
import { inputsOf, outputsOf, refuseFlags } from "../../src/runs/run-options.js";
import { selectionOf } from "../../src/runs/settings-from-options.js";
import { judgeSettingsSchema } from "../../src/traces/judgment.js";
import { externalRunSettingsSchema, ownRunSettingsSchema } from "../../src/traces/run-settings.js";
import { figures, head } from "../analysis/runs.js";

const words = (list: string) => list.split(" ").sort();

const QUESTION_SELECTION = "split dataset useJson revision minRealism maxSources ids inbox excludeKnownBad protocol";
const SUITE_SELECTION = "task tool tag index counterparts runnable";
const JUDGE = "judge noJudge judgeVotes judgeBaseUrl judgeReasoningEffort judgeHeader judgeBody";
const STORED = `${QUESTION_SELECTION} ${SUITE_SELECTION} limit shuffle seed epochs price`;
/** Only the settings of an own run record these flags. The oracle is rejected by its own check, with the model. */
const OF_OWN_RUNS = flagsWhere(({ effect }) => {
  const [, setting = ""] = effect === "none" ? [] : effect.recordedAs.split("settings.");
  return setting in ownRunSettingsSchema.shape && !(setting in externalRunSettingsSchema.shape) && setting !== "oracle";
});
const OWN_LOOP = `protocol cache record ${OF_OWN_RUNS.join(" ")}`;

/** The flags that do not apply to each kind of run. */
const INAPPLICABLE: Readonly<Record<RunKind, string>> = {
  questions: `${SUITE_SELECTION} suite oracle functions accountSettings`,
  suite: `${QUESTION_SELECTION} perturb`,
  "suite without mail": "cutoff partialInboxes",
  "suite without answers": JUDGE,
  command: `${OWN_LOOP} modelId modelProvider header body requestTimeout rpm tpm`,
  endpoint: `${OWN_LOOP} modelId modelProvider requestTimeout`,
  api: `${OWN_LOOP} header body maxCost maxRunTokens price tpm`,
  human: `${OWN_LOOP} modelId modelProvider header body maxTurns maxCost maxRunTokens price requestTimeout rpm tpm concurrency suite`,
  function: `${OWN_LOOP} modelId modelProvider header body requestTimeout rpm tpm suite`,
  queue: "concurrency record functions oracle accountSettings",
  new: "retryFailed force",
  resume: `${STORED} name until perturb`,
  repeat: `${STORED} agent resume retryFailed`,
};

const kinds = Object.keys(INAPPLICABLE) as RunKind[];

describe("refuseFlags", () => {
  it.each(kinds)("rejects exactly the flags that do not apply to runs of the kind %s", (kind) => {
    const refused = (Object.keys(RUN_FLAGS) as RunFlagName[]).filter((name) => errorFor(kind, name) !== null);
    expect(refused.sort()).toEqual(words(INAPPLICABLE[kind]));
  });

  it.each(kinds)("names the flag and the kind %s in the message, and the flag in the hint", (kind) => {
    for (const name of words(INAPPLICABLE[kind]) as RunFlagName[]) {
      const { message, hint, code } = errorFor(kind, name) ?? {};
      expect(code).toBe("flags_contradict");
      expect(message).toBe(`${flagName(name)} does not apply to ${RUN_KINDS[kind].name}.`);
      expect(hint).toMatch(new RegExp(`^Remove ${flagName(name)}(, .+)?\\.$`));
    }
  });

  it("accepts flags that are not given", () => {
    for (const kind of kinds) expect(() => refuseFlags(kind, new Set())).not.toThrow();
  });
});

function errorFor(kind: RunKind, name: RunFlagName): UserError | null {
  try {
    refuseFlags(kind, new Set([name]));
    return null;
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}

/** The code that reads flags, without the tables that list their names. */
const READERS = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !/(^web|run-flags|run-settings)\b/.test(name))
  .map((name) => readFileSync(join("src", name), "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ""))
  .join("\n");

describe("RUN_FLAGS", () => {
  it("affect code outside of their table", () => {
    const nameInCode = (name: RunFlagName) => {
      const { effect } = RUN_FLAGS[name];
      return effect !== "none" && effect.isRecordedAsGiven ? effect.recordedAs.replace("settings.", "") : name;
    };
    const names = flagsWhere(() => true).map(nameInCode);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(READERS))).toEqual([]);
  });

  it("belong to one help group each", () => {
    expect(Object.values(RUN_FLAG_GROUPS).flat().sort()).toEqual(Object.keys(RUN_FLAGS).sort());
  });

  it("use different keys in the config file", () => {
    const keys = Object.values(RUN_FLAGS).flatMap(({ config }) => config ?? []);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("count every server and program in the config file as a risk", () => {
    const risky = flagsWhere(({ config, schema }) => config !== undefined && traitsOf(schema).risk !== undefined);
    expect([...risky].sort()).toEqual(
      words(
        "agentCommand agentUrl apiUrl baseUrl body functions header judgeBaseUrl judgeBody judgeHeader otlpEndpoint",
      ),
    );
  });
});

/** Flags that affect tasks or measurements, each with the path of its recorded value. */
const RECORDED = flagsWhere(({ effect }) => effect !== "none").map((flag) => {
  const { effect, artProtocol } = RUN_FLAGS[flag];
  if (effect === "none") throw new Error(flag);
  const path = effect.recordedAs === "selection" ? `settings.selection.${flag}` : effect.recordedAs;
  return { flag, path, published: effect.published ?? artProtocol };
});

describe("effects of flags", () => {
  it("exist for every flag", () => {
    expect(Object.entries(RUN_FLAGS).filter(([, { effect }]) => effect === undefined)).toEqual([]);
  });

  it("appear under the name of the flag if they are on the selection", () => {
    const selecting = RECORDED.filter(({ path }) => path.startsWith("settings.selection.")).map(({ flag }) => flag);
    const options = Object.fromEntries(Object.keys(RUN_FLAGS).map((flag) => [flag, `value of ${flag}`]));
    expect(selectionOf(options)).toEqual(Object.fromEntries(selecting.map((flag) => [flag, options[flag]])));
  });

  it.each(RECORDED)("for $flag appear at $path, a property of a run", ({ path }) => {
    const [first = "", ...rest] = path.split(".");
    const schemas = [ownRunSettingsSchema, externalRunSettingsSchema];
    const [setting = "", ofJudge] = rest;
    if (first !== "settings") expect(runHeadSchema.shape).toHaveProperty(first);
    else expect(schemas.some(({ shape }) => setting in shape)).toBe(true);
    if (setting === "judge") expect(judgeSettingsSchema.shape).toHaveProperty(ofJudge ?? "");
  });
});

describe("publishedDifferences", () => {
  /** A run with the published conditions. */
  const published = (): RunHead => {
    const judge = { model: "google/gemini-2.0-flash", baseUrl: null, protocol: "art", version: 1, votes: 1 };
    const dataset = { source: "published", revision: "a".repeat(40), sha256: "d".repeat(64) };
    const run = head({ dataset, scores: { judgeCorrect: figures() } });
    Object.assign(run.settings, { judge, mailFilter: "art", selection: {} });
    for (const { path, published } of RECORDED) {
      if (published !== undefined && published !== "any" && !path.startsWith("settings.judge"))
        setAt(run, path, published);
    }
    return run;
  };

  it("return nothing for a run with the published conditions", () => {
    expect(publishedDifferences(published())).toEqual([]);
  });

  it.each(RECORDED.filter((entry) => entry.published !== "any"))(
    "return a difference if $path has another value than the published one",
    ({ path }) => {
      const run = published();
      setAt(run, path, "another value");
      expect(publishedDifferences(run)).toHaveLength(1);
    },
  );

  it("return the flag and its value if nothing more is known about the difference", () => {
    const run = published();
    setAt(run, "settings.reasoningTokens", 500);
    expect(publishedDifferences(run)).toEqual(["--reasoning-tokens 500, not the default"]);
  });
});

function setAt(run: RunHead, path: string, value: unknown): void {
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  const parent = keys.reduce(
    (at, key) => at[key] as Record<string, unknown>,
    run as unknown as Record<string, unknown>,
  );
  parent[last] = value;
}

describe("outputsOf", () => {
  it("returns the output files of a run with their flags", () => {
    expect(outputsOf({ output: "results.json", junit: "junit.xml" })).toEqual([
      { flag: "--record", path: undefined, kind: "recording" },
      { flag: "--output", path: "results.json", kind: "results" },
      { flag: "--junit", path: "junit.xml", kind: "junit" },
    ]);
  });
});

describe("inputsOf", () => {
  it("returns the input files of a run, including replayed recordings", () => {
    const files = inputsOf({ dataset: "q.jsonl", modelId: "replay/a.jsonl", judge: "art:replay/b.jsonl" });
    expect(files.filter(({ path }) => path !== undefined)).toEqual([
      { name: "the dataset", path: "q.jsonl" },
      { name: "the file of replies", path: "a.jsonl" },
      { name: "the judge's file of replies", path: "b.jsonl" },
    ]);
  });
});
