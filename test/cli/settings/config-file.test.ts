import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, path, read, readJson, write } = workFolder({ mail: MAIL });

beforeAll(() => {
  for (const folder of ["ci", "data"]) mkdirSync(path(folder));
  symlinkSync(path("art-e.db"), path("data/mail.db"));
});

const NIGHTLY = `agent: baseline
dataset: ${QUESTIONS}
run:
  limit: 20
  output: results.json
gates:
  fail-under: {found: 0.9, sources: 0.5}
`;

beforeEach(() => {
  write("art-e.yaml", "agent: baseline\n");
  write("ci/nightly.yaml", NIGHTLY);
});

describe("run", () => {
  it("takes from --config what is not given as a flag, and says so", async () => {
    const { code, stdout, stderr } = await artE("run --config ci/nightly.yaml -l 12 --json");
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        "Settings of ci/nightly.yaml: agent.id, dataset.file, run.output, gates.fail-under. The command line replaces run.limit.\n",
    });
    const { agentId, totalTasks, gates, output } = JSON.parse(stdout);
    expect({ agentId, totalTasks, output }).toEqual({
      agentId: "baseline",
      totalTasks: 12,
      output: "ci/results.json",
    });
    expect(gates).toMatchObject([
      { scorer: "foundGold", limit: 0.9, passed: true },
      { scorer: "sourcesCorrect", limit: 0.5, passed: true },
    ]);
    expect(readJson("ci/results.json").totalTasks).toBe(12);
  });

  it("ends with 3 where a gate of the file is missed", async () => {
    write("ci/nightly.yaml", NIGHTLY.replace("found: 0.9", "exactMatch: 0.9"));
    const { code, stderr } = await artE("run --config ci/nightly.yaml");
    expect(code).toBe(3);
    expect(stderr).toContain("missed 1 of 2 gates: exactMatch");
  });

  it("finds art-e.yaml in its folder, else beside the database; --config off reads none", async () => {
    write("data/art-e.yaml", NIGHTLY);
    const here = await artE(`run --dry-run --dataset ${QUESTIONS} --db data/mail.db`);
    expect(here.stderr).toBe("Settings of art-e.yaml: agent.id.\n");
    const without = await artE(`run --dry-run --dataset ${QUESTIONS} --config off`);
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining("--agent is missing.") });
    rmSync(path("art-e.yaml"));
    const beside = await artE("run --dry-run --db data/mail.db");
    expect(beside.stderr).toContain(`Settings of ${join("data", "art-e.yaml")}: agent.id, dataset.file, run.limit`);
  });

  it("shows with --dry-run what comes from the file", async () => {
    const { stdout } = await artE("run --dry-run --config ci/nightly.yaml");
    expect(stdout).toMatch(/^run\.limit: +20 \(ci\/nightly\.yaml:4\)$/m);
    expect(stdout).toMatch(/^gates\.fail-under: +found=0\.9,sources=0\.5 \(ci\/nightly\.yaml:7\)$/m);
    const json = await artE("run --dry-run --config ci/nightly.yaml --json --quiet");
    expect(JSON.parse(json.stdout).config).toMatchObject({
      path: "ci/nightly.yaml",
      settings: expect.arrayContaining([{ name: "run.limit", value: 20, line: 4 }]),
    });
  });

  it("says where in the file a flag stands that cannot be used", async () => {
    write("art-e.yaml", `agent: baseline\nrun:\n  seed: 4\n`);
    const { code, stderr } = await artE(`run --dataset ${QUESTIONS}`);
    expect(code).toBe(2);
    expect(stderr).toContain("--seed is for --shuffle, which is not given.");
    expect(stderr).toContain("--seed is run.seed at art-e.yaml:3.");
  });

  it("does not write its results over the file", async () => {
    const { code, stderr } = await artE(`run --dataset ${QUESTIONS} -o art-e.yaml --overwrite`);
    expect(code).toBe(2);
    expect(stderr).toContain("art-e.yaml is the file of settings, and would be destroyed.");
    expect(read("art-e.yaml")).toBe("agent: baseline\n");
  });

  it("refuses a file that is not there or not well-formed", async () => {
    const missing = await artE("run --config nowhere.yaml");
    expect(missing.stderr).toContain("--config: nowhere.yaml cannot be read: there is no such file.");
    write("art-e.yaml", "agent: baseline\nlimits: {max-cots: 3}\n");
    const wrong = await artE("run --json");
    expect(wrong.code).toBe(2);
    expect(JSON.parse(wrong.stderr).error).toMatchObject({
      message: "art-e.yaml:2: limits has no setting max-cots.",
      hint: expect.stringContaining("Did you mean max-cost?"),
    });
  });

  it("goes on with a run as it was begun, whatever the file says", async () => {
    write("art-e.yaml", NIGHTLY);
    expect(await artE("run -l 15 --quiet")).toMatchObject({ code: 0 });
    write("art-e.yaml", `${NIGHTLY.replace("baseline", "email-search")}limits: {max-turns: 2}\n`);
    const { code, stderr } = await artE("run --resume latest");
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("art-e.yaml: gates.fail-under."),
    });
  });
});

describe("gate", () => {
  it("takes its thresholds from the file, and flags instead of them", async () => {
    expect(await artE("run --config ci/nightly.yaml --quiet")).toMatchObject({ code: 0 });
    const passed = await artE("gate latest --config ci/nightly.yaml");
    expect(passed).toMatchObject({ code: 0, stderr: "Settings of ci/nightly.yaml: gates.fail-under.\n" });
    expect(passed.stdout).toMatch(/^passed {2}found .*\npassed {2}sources /);
    const missed = await artE("gate latest --config ci/nightly.yaml --fail-under exactMatch=0.9");
    expect(missed.code).toBe(3);
    expect(missed.stdout).not.toContain("found");
  });

  it("says that there is none where the file has none", async () => {
    const { code, stderr } = await artE("gate latest");
    expect(code).toBe(2);
    expect(stderr).toContain("or write gates into art-e.yaml.");
  });
});
