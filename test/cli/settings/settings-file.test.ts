import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";

describe("config files", () => {
  const { artE, path, read, readJson, write } = workFolder({ mail: MAIL });

  beforeAll(() => {
    for (const folder of ["ci", "data"]) mkdirSync(path(folder));
    symlinkSync(path("art-e.db"), path("data/mail.db"));
  });

  const NIGHTLY = `agent: baseline
dataset: ${QUESTIONS}
run:
  limit: 6
  output: results.json
gates:
  fail-under: {found: 0.9, sources: 0.5}
`;

  beforeEach(() => {
    write("art-e.yaml", "agent: baseline\n");
    write("ci/nightly.yaml", NIGHTLY);
  });

  describe("art-e run", () => {
    it("takes settings that no flag overrides from --config, and says so", async () => {
      const { code, stdout, stderr } = await artE("run --config ci/nightly.yaml -l 4 --json");
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr:
          "Settings of ci/nightly.yaml: agent.id, dataset.file, run.output, gates.fail-under. The command line replaces run.limit.\n",
      });
      const { agentId, totalTasks, gates, output } = JSON.parse(stdout);
      expect({ agentId, totalTasks, output }).toEqual({
        agentId: "baseline",
        totalTasks: 4,
        output: "ci/results.json",
      });
      expect(gates).toMatchObject([
        { scorer: "foundGold", limit: 0.9, passed: true },
        { scorer: "sourcesCorrect", limit: 0.5, passed: true },
      ]);
      expect(readJson("ci/results.json").totalTasks).toBe(4);
    });

    it("exits with code 3 if a gate of the file is missed", async () => {
      write("ci/nightly.yaml", NIGHTLY.replace("found: 0.9", "exactMatch: 0.9"));
      const { code, stderr } = await artE("run --config ci/nightly.yaml");
      expect(code).toBe(3);
      expect(stderr).toContain("missed 1 of 2 gates: exactMatch");
    });

    it("finds art-e.yaml in its folder, otherwise next to the database, and reads no file with --config off", async () => {
      write("data/art-e.yaml", NIGHTLY);
      const here = await artE(`run --dry-run --dataset ${QUESTIONS} --db data/mail.db`);
      expect(here.stderr).toBe("Settings of art-e.yaml: agent.id.\n10 of 73 questions: the default limit. All: -l 0\n");
      const without = await artE(`run --dry-run --dataset ${QUESTIONS} --config off`);
      expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining("--agent is required.") });
      rmSync(path("art-e.yaml"));
      const beside = await artE("run --dry-run --db data/mail.db");
      expect(beside.stderr).toContain(`Settings of ${join("data", "art-e.yaml")}: agent.id, dataset.file, run.limit`);
    });

    it("shows the file's settings with --dry-run", async () => {
      const { stdout } = await artE("run --dry-run --config ci/nightly.yaml");
      expect(stdout).toMatch(/^run\.limit: +6 \(ci\/nightly\.yaml:4\)$/m);
      expect(stdout).toMatch(/^gates\.fail-under: +found=0\.9,sources=0\.5 \(ci\/nightly\.yaml:7\)$/m);
      const json = await artE("run --dry-run --config ci/nightly.yaml --json --quiet");
      expect(JSON.parse(json.stdout).config).toMatchObject({
        path: "ci/nightly.yaml",
        settings: expect.arrayContaining([{ name: "run.limit", value: 6, line: 4 }]),
      });
    });

    it("shows where in the file an unusable flag is", async () => {
      write("art-e.yaml", `agent: baseline\nrun:\n  seed: 4\n`);
      const { code, stderr } = await artE(`run --dataset ${QUESTIONS}`);
      expect(code).toBe(2);
      expect(stderr).toContain("--seed requires --shuffle.");
      expect(stderr).toContain("--seed is run.seed at art-e.yaml:3.");
    });

    it("does not overwrite the file with its results", async () => {
      const { code, stderr } = await artE(`run --dataset ${QUESTIONS} -o art-e.yaml --overwrite`);
      expect(code).toBe(2);
      expect(stderr).toContain("art-e.yaml is the config file, which would be overwritten.");
      expect(read("art-e.yaml")).toBe("agent: baseline\n");
    });

    it("rejects a missing or malformed file", async () => {
      const missing = await artE("run --config nowhere.yaml");
      expect(missing.stderr).toContain("--config: cannot read nowhere.yaml: the file does not exist.");
      write("art-e.yaml", "agent: baseline\nlimits: {max-cots: 3}\n");
      const wrong = await artE("run --json");
      expect(wrong.code).toBe(2);
      expect(JSON.parse(wrong.stderr).error).toMatchObject({
        message: "art-e.yaml:2: limits has no setting max-cots.",
        hint: expect.stringContaining("Did you mean max-cost?"),
      });
    });

    it("resumes a run with its original settings, whatever the file contains", async () => {
      write("art-e.yaml", NIGHTLY);
      expect(await artE("run -l 2 --quiet")).toMatchObject({ code: 0 });
      write("art-e.yaml", `${NIGHTLY.replace("baseline", "email-search")}limits: {max-turns: 2}\n`);
      const { code, stderr } = await artE("run --resume latest");
      expect({ code, stderr }).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("art-e.yaml: gates.fail-under."),
      });
    });
  });

  describe("art-e gate", () => {
    it("takes its thresholds from the file, unless given as flags", async () => {
      expect(await artE("run --config ci/nightly.yaml --quiet")).toMatchObject({ code: 0 });
      const passed = await artE("gate latest --config ci/nightly.yaml");
      expect(passed).toMatchObject({ code: 0, stderr: "Settings of ci/nightly.yaml: gates.fail-under.\n" });
      expect(passed.stdout).toMatch(/^passed {2}found .*\npassed {2}sources /);
      const missed = await artE("gate latest --config ci/nightly.yaml --fail-under exactMatch=0.9");
      expect(missed.code).toBe(3);
      expect(missed.stdout).not.toContain("found");
    });

    it("fails if the file does not contain thresholds", async () => {
      const { code, stderr } = await artE("gate latest");
      expect(code).toBe(2);
      expect(stderr).toContain("or add gates to art-e.yaml.");
    });
  });
});

describe("several runs in one file", () => {
  const { artE, path, readJson, write } = workFolder({ mail: MAIL });

  const FILE = `agent: baseline
dataset: ${QUESTIONS}
run: {limit: 4, output: results.json}
gates: {fail-under: {found: 0.9}}
runs:
  easy:
  strict:
    gates: {fail-under: {exactMatch: 0.9}}
  short:
    run: {limit: 3, output: three.json}
`;

  beforeAll(() => mkdirSync(path("ci")));

  beforeEach(() => {
    rmSync(path("art-e.yaml"), { force: true });
    write("ci/nightly.yaml", FILE);
  });

  describe("a config file with several runs", () => {
    it("starts each run in order, continues after a missed gate, and returns the worst exit code", async () => {
      const { code, stdout, stderr } = await artE("run --config ci/nightly.yaml");
      expect(code).toBe(3);
      expect([...stderr.matchAll(/^Run (\S+) \((\d) of 3\)$/gm)].map(([, name, n]) => `${name} ${n}`)).toEqual([
        "easy 1",
        "strict 2",
        "short 3",
      ]);
      expect(stderr).toContain("missed 1 of 1 gates: exactMatch");
      expect(stderr).toMatch(
        /art-e: 1 of 3 runs did not pass: strict \(exit code 3\)\.\n.*--config ci\/nightly\.yaml --only strict\n$/,
      );
      expect(stdout.match(/^Results: .*/gm)).toEqual([
        "Results:  ci/results-easy.json",
        "Results:  ci/results-strict.json",
        "Results:  ci/three.json",
      ]);
      expect([readJson("ci/results-easy.json").totalTasks, readJson("ci/three.json").totalTasks]).toEqual([4, 3]);
    });

    it("tags each run with its name", async () => {
      const { stdout } = await artE("runs list --tag short --json");
      expect(JSON.parse(stdout)).toMatchObject([{ tags: ["short"], totalTasks: 3 }]);
    });

    it("prints one JSON document with all results", async () => {
      const { code, stdout } = await artE("run --config ci/nightly.yaml --json --quiet -l 1 -o all.json");
      expect(code).toBe(3);
      expect(JSON.parse(stdout).runs).toMatchObject([
        { name: "easy", exitCode: 0, totalTasks: 1, output: "all-easy.json" },
        { name: "strict", exitCode: 3, totalTasks: 1, output: "all-strict.json", error: { code: "gate_missed" } },
        { name: "short", exitCode: 0, totalTasks: 1, output: "all-short.json" },
      ]);
    });

    it("runs only the runs in --only, and keeps the output names if there is only one", async () => {
      const { code, stderr } = await artE("run --config ci/nightly.yaml --only short -o mine.json");
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr:
          "Settings of ci/nightly.yaml for short: agent.id, dataset.file, gates.fail-under, runs.short.run.limit. The command line replaces runs.short.run.output.\n",
      });
      expect(readJson("mine.json").totalTasks).toBe(3);
    });

    it("continues if a run cannot start", async () => {
      write("ci/nightly.yaml", FILE.replace("easy:", "easy: {agent: nobody}"));
      const { code, stderr } = await artE("run --config ci/nightly.yaml --only easy,short");
      expect(code).toBe(2);
      expect(stderr).toContain("1 of 2 runs did not pass: easy (exit code 2).");
      expect(stderr).toContain('art-e: Unknown agent "nobody".');
      expect((await artE("run --config ci/nightly.yaml --only easy")).code).toBe(2);
    });

    it("checks all runs before the first one starts", async () => {
      write("ci/nightly.yaml", FILE.replace("three.json", "results-easy.json"));
      const twice = await artE("run --config ci/nightly.yaml");
      expect(twice).toMatchObject({ code: 2, stdout: "" });
      expect(twice.stderr).toContain("results-easy.json is --output of the run easy, which would be overwritten.");
      write("ci/nightly.yaml", FILE.replace("limit: 3,", "seed: 3,"));
      expect((await artE("run --config ci/nightly.yaml")).stderr).toContain("--seed is runs.short.run.seed at");
      const named = await artE("run --config ci/nightly.yaml --name x");
      expect(named.stderr).toContain("--name only applies to one run, but ci/nightly.yaml has easy, strict, short.");
    });

    it("estimates the cost of each run with --dry-run", async () => {
      const { code, stdout } = await artE("run --config ci/nightly.yaml --dry-run --json --quiet");
      expect(code).toBe(0);
      expect(JSON.parse(stdout).runs.map(({ name, tasks }: { name: string; tasks: number }) => [name, tasks])).toEqual([
        ["easy", 4],
        ["strict", 4],
        ["short", 3],
      ]);
    });

    it("has gates for each run, which also apply to a finished one", async () => {
      expect((await artE("gate latest --config ci/nightly.yaml --only strict")).code).toBe(3);
      expect((await artE("gate latest --config ci/nightly.yaml --only easy")).code).toBe(0);
      expect((await artE("gate latest --config ci/nightly.yaml --only easy,strict")).stderr).toContain(
        "--only: expected one run, not 2.",
      );
    });

    it("lets a stored run continue without starting the runs in the file", async () => {
      const { code, stderr } = await artE("run --resume latest --config ci/nightly.yaml");
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("gates.fail-under.") });
      expect(stderr).not.toContain("of 3)");
    });

    it("must exist for --only", async () => {
      expect((await artE("run -a baseline --only easy")).stderr).toContain("--only requires a config file.");
    });
  });

  describe("other commands and the config file", () => {
    it("use its database, unless a flag or ART_E_DB overrides it", async () => {
      renameSync(path("art-e.db"), path("mail.db"));
      try {
        write("art-e.yaml", "# of the team\ndatabase: mail.db\n");
        expect(await artE("stats --corpus --json")).toMatchObject({ code: 0 });
        expect(existsSync(path("art-e.db"))).toBe(false);
        expect((await artE("stats --corpus --db nowhere.db")).stderr).toContain("nowhere.db");
        expect((await artE("stats --corpus", { ART_E_DB: "other.db" })).stderr).toContain("other.db");
        write("ci/nightly.yaml", `database: ../mail.db\n${FILE}`);
        rmSync(path("art-e.yaml"));
        expect((await artE("gate latest --config ci/nightly.yaml --only easy")).code).toBe(0);
      } finally {
        renameSync(path("mail.db"), path("art-e.db"));
      }
    });

    it.each(["{database: mail.db}", '{\n  "database": "mail.db"\n}', "  database: mail.db", "? database\n: mail.db"])(
      "use its database if the file says %j",
      async (text) => {
        write("art-e.yaml", `${text}\n`);
        expect((await artE("stats --corpus")).stderr).toContain("Cannot open the database mail.db");
      },
    );

    it("use its judge and scorers in score", async () => {
      write("art-e.yaml", "judge: replay/nowhere.jsonl\nrun: {scorers: [tokenF1], limit: 3}\n");
      const judged = await artE("score");
      expect(judged.code).toBe(2);
      expect(judged.stderr).toContain("Settings of art-e.yaml: run.scorers, judge.model.");
      expect(judged.stderr).toContain("nowhere.jsonl");
      const unjudged = await artE("score --no-judge");
      expect(unjudged).toMatchObject({
        code: 0,
        stderr: "Settings of art-e.yaml: run.scorers. The command line replaces judge.model.\n",
      });
    });

    it("use its agent and model in ask", async () => {
      write("art-e.yaml", "agent: baseline\nlimits: {max-turns: 3}\nrun: {limit: 3}\n");
      const asked = await artE(["ask", MARCUS, "Who approved the outage?"]);
      expect(asked.stderr).toBe("Settings of art-e.yaml: agent.id, limits.max-turns.\n");
      expect(asked.stdout).toContain("baseline (offline/baseline)");
      write("art-e.yaml", "agent: {url: 'http://localhost:1/v1'}\n");
      const elsewhere = await artE(["ask", MARCUS, "Who approved the outage?"]);
      expect(elsewhere.code).toBe(2);
      expect(elsewhere.stderr).toContain("art-e.yaml:1: ask does not support external agents (agent.url).");
    });

    it("use its dataset in stats, unless a run or the mail is requested", async () => {
      write("art-e.yaml", `dataset: ${QUESTIONS}\n`);
      const stats = await artE("stats");
      expect(stats).toMatchObject({ code: 0, stderr: "Settings of art-e.yaml: dataset.file.\n" });
      expect((await artE("stats --run latest")).stderr).toBe("");
    });
  });
});

describe("art-e init", () => {
  const { artE, path, read, write } = workFolder({ mail: MAIL });

  beforeEach(() => rmSync(path("art-e.yaml"), { force: true }));

  it("writes a file that run accepts, and selects a provider for which there is a key", async () => {
    expect(await artE("init")).toMatchObject({ code: 0, stderr: "" });
    expect(parse(read("art-e.yaml"))).toMatchObject({ agent: "baseline", model: "offline/baseline" });
    const { stdout } = await artE("init -o keyed.yaml --json", { OPENAI_API_KEY: "not-a-real-key" });
    expect(JSON.parse(stdout)).toMatchObject({ path: "keyed.yaml", agent: "email-search" });
    expect(parse(read("keyed.yaml")).model).toMatch(/^openai\//);
    expect(read("keyed.yaml")).not.toContain("not-a-real-key");
  });

  it("never overwrites a file", async () => {
    write("art-e.yaml", "agent: mine\n");
    const { code, stderr } = await artE("init");
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("art-e.yaml already exists") });
    expect(read("art-e.yaml")).toBe("agent: mine\n");
  });

  it("writes the path of this installation's JSON Schema, for editors", async () => {
    await artE("init");
    const [, schema = ""] = /^# yaml-language-server: \$schema=(.+)\n/.exec(read("art-e.yaml")) ?? [];
    expect(schema).toMatch(/\/schema\/config\.schema\.json$/);
    expect(JSON.parse(readFileSync(schema, "utf8")).title).toBe("ART-E config file");
  });
});
