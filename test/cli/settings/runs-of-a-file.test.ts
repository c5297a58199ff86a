import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";

const { artE, path, readJson, write } = workFolder({ mail: MAIL });

const FILE = `agent: baseline
dataset: ${QUESTIONS}
run: {limit: 8, output: results.json}
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

describe("a file with runs", () => {
  it("runs each in order, goes on after a missed gate, and ends with the worst exit code", async () => {
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
    expect([readJson("ci/results-easy.json").totalTasks, readJson("ci/three.json").totalTasks]).toEqual([8, 3]);
  });

  it("gives each run its name as a tag", async () => {
    const { stdout } = await artE("runs list --tag short --json");
    expect(JSON.parse(stdout)).toMatchObject([{ tags: ["short"], totalTasks: 3 }]);
  });

  it("prints one JSON document with the results of all", async () => {
    const { code, stdout } = await artE("run --config ci/nightly.yaml --json --quiet -l 2 -o all.json");
    expect(code).toBe(3);
    expect(JSON.parse(stdout).runs).toMatchObject([
      { name: "easy", exitCode: 0, totalTasks: 2, output: "all-easy.json" },
      { name: "strict", exitCode: 3, totalTasks: 2, output: "all-strict.json", error: { code: "gate_missed" } },
      { name: "short", exitCode: 0, totalTasks: 2, output: "all-short.json" },
    ]);
  });

  it("runs those of --only, with files as they are named where it is one", async () => {
    const { code, stderr } = await artE("run --config ci/nightly.yaml --only short -o mine.json");
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        "Settings of ci/nightly.yaml for short: agent.id, dataset.file, gates.fail-under, runs.short.run.limit. The command line replaces runs.short.run.output.\n",
    });
    expect(readJson("mine.json").totalTasks).toBe(3);
  });

  it("goes on after a run that cannot begin", async () => {
    write("ci/nightly.yaml", FILE.replace("easy:", "easy: {agent: nobody}"));
    const { code, stderr } = await artE("run --config ci/nightly.yaml --only easy,short");
    expect(code).toBe(2);
    expect(stderr).toContain("1 of 2 runs did not pass: easy (exit code 2).");
    expect(stderr).toContain('art-e: There is no agent "nobody".');
    expect((await artE("run --config ci/nightly.yaml --only easy")).code).toBe(2);
  });

  it("checks all before the first begins", async () => {
    write("ci/nightly.yaml", FILE.replace("three.json", "results-easy.json"));
    const twice = await artE("run --config ci/nightly.yaml");
    expect(twice).toMatchObject({ code: 2, stdout: "" });
    expect(twice.stderr).toContain("results-easy.json is --output of the run easy, and would be destroyed.");
    write("ci/nightly.yaml", FILE.replace("limit: 3,", "seed: 3,"));
    expect((await artE("run --config ci/nightly.yaml")).stderr).toContain("--seed is runs.short.run.seed at");
    const named = await artE("run --config ci/nightly.yaml --name x");
    expect(named.stderr).toContain("--name is for one run, and ci/nightly.yaml has easy, strict, short.");
  });

  it("estimates each with --dry-run", async () => {
    const { code, stdout } = await artE("run --config ci/nightly.yaml --dry-run --json --quiet");
    expect(code).toBe(0);
    expect(JSON.parse(stdout).runs.map(({ name, tasks }: { name: string; tasks: number }) => [name, tasks])).toEqual([
      ["easy", 8],
      ["strict", 8],
      ["short", 3],
    ]);
  });

  it("has gates for each, also for a run that is finished", async () => {
    expect((await artE("gate latest --config ci/nightly.yaml --only strict")).code).toBe(3);
    expect((await artE("gate latest --config ci/nightly.yaml --only easy")).code).toBe(0);
    expect((await artE("gate latest --config ci/nightly.yaml --only easy,strict")).stderr).toContain(
      "--only names 2 runs.",
    );
  });

  it("goes on with a stored run without beginning those of the file", async () => {
    const { code, stderr } = await artE("run --resume latest --config ci/nightly.yaml");
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("gates.fail-under.") });
    expect(stderr).not.toContain("of 3)");
  });

  it("needs a file for --only", async () => {
    expect((await artE("run -a baseline --only easy")).stderr).toContain("--only names runs of a file of settings");
  });
});

describe("what else reads the file", () => {
  it("every command: the database, which a flag and ART_E_DB win over", async () => {
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

  it("score: the judge and the scorers", async () => {
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

  it("ask: the agent and its model", async () => {
    write("art-e.yaml", "agent: baseline\nlimits: {max-turns: 3}\nrun: {limit: 3}\n");
    const asked = await artE(["ask", MARCUS, "Who approved the outage?"]);
    expect(asked.stderr).toBe("Settings of art-e.yaml: agent.id, limits.max-turns.\n");
    expect(asked.stdout).toContain("baseline (offline/baseline)");
    write("art-e.yaml", "agent: {url: 'http://localhost:1/v1'}\n");
    const elsewhere = await artE(["ask", MARCUS, "Who approved the outage?"]);
    expect(elsewhere.code).toBe(2);
    expect(elsewhere.stderr).toContain("art-e.yaml:1: agent.url is an agent that art-e ask cannot ask.");
  });

  it("stats: the dataset, where no run and no mail is asked for", async () => {
    write("art-e.yaml", `dataset: ${QUESTIONS}\n`);
    const stats = await artE("stats");
    expect(stats).toMatchObject({ code: 0, stderr: "Settings of art-e.yaml: dataset.file.\n" });
    expect((await artE("stats --run latest")).stderr).toBe("");
  });
});
