import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { validateAction } from "@action-validator/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { BIN, MAIL, QUESTIONS, ROOT } from "../test/cli/art-e.js";

/** The GitHub Action: its file, and the exact commands of its steps in a clean folder. */

const TEXT = readFileSync(join(ROOT, "action.yml"), "utf8");

const stepSchema = z.object({
  name: z.string().optional(),
  id: z.string().optional(),
  if: z.string().optional(),
  uses: z.string().optional(),
  with: z.record(z.string(), z.string()).optional(),
  shell: z.string().optional(),
  env: z.record(z.string(), z.string()).default({}),
  "working-directory": z.string().optional(),
  run: z.string().optional(),
});

const action = z
  .object({
    inputs: z.record(z.string(), z.object({ description: z.string(), default: z.string() })),
    outputs: z.record(z.string(), z.object({ description: z.string(), value: z.string() })),
    runs: z.object({ using: z.literal("composite"), steps: z.array(stepSchema) }),
  })
  .parse(parse(TEXT));

type Step = z.output<typeof stepSchema>;

describe("action.yml", () => {
  it("matches GitHub's schema of an action", () => {
    expect(validateAction(TEXT)).toEqual({ actionType: "action", errors: [] });
    expect(validateAction(TEXT.replace("shell: bash", "shel: bash")).errors).not.toEqual([]);
  });

  it("uses every declared input, and no others", () => {
    const used = [...JSON.stringify(action.runs).matchAll(/\binputs\.([\w-]+)/g)].map(([, name]) => name);
    expect([...new Set(used)].sort()).toEqual(Object.keys(action.inputs).sort());
  });

  it("pins other actions to a major version, and contains no expression in a script", () => {
    for (const { uses, run, shell } of action.runs.steps) {
      expect(uses ?? "actions/x@v1").toMatch(/^actions\/[\w/-]+@v\d+$/);
      expect(run ?? "").not.toContain("${{");
      expect(shell).toBe(run === undefined ? undefined : "bash");
    }
  });
});

/** A job that runs the command steps of the action, except for the installation of the program. */
class Job {
  readonly folder = mkdtempSync(join(tmpdir(), "art-e-action-"));
  readonly steps: Record<string, string> = {};
  private readonly known: Record<string, string> = {};

  constructor(inputs: Readonly<Record<string, string>>) {
    const defaults = Object.entries(action.inputs).map(([name, { default: value }]) => [name, value]);
    const given: Record<string, string> = { ...Object.fromEntries(defaults), ...inputs };
    for (const [name, value] of Object.entries(given)) this.known[`inputs.${name}`] = value;
    this.known["runner.temp"] = join(this.folder, "temp");
    for (const name of ["bin", "temp", "work"]) mkdirSync(join(this.folder, name));
    symlinkSync(BIN, join(this.folder, "bin/art-e"));
    symlinkSync(process.execPath, join(this.folder, "bin/node"));
  }

  /** Returns the exit code and the output. */
  run(name: string): { code: number | null; stdout: string; stderr: string } {
    const step = action.runs.steps.find((each) => each.name === name);
    if (step?.run === undefined) throw new Error(`no step "${name}" has commands`);
    const output = join(this.folder, "output");
    writeFileSync(output, "");
    const env = Object.entries(step.env).map(([key, value]) => [key, this.evaluate(value)]);
    const ended = spawnSync("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", step.run], {
      cwd: join(this.folder, "work", this.evaluate(step["working-directory"] ?? ".")),
      env: {
        PATH: `${join(this.folder, "bin")}:/usr/bin:/bin`,
        GITHUB_OUTPUT: output,
        GITHUB_STEP_SUMMARY: this.path("summary.md"),
        ...Object.fromEntries(env),
      },
      encoding: "utf8",
    });
    for (const line of readFileSync(output, "utf8").split("\n")) this.keepOutput(step, line);
    return { code: ended.status, stdout: ended.stdout, stderr: ended.stderr };
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  output(name: string): string {
    return this.evaluate(action.outputs[name]?.value ?? "");
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  private keepOutput({ id }: Step, line: string): void {
    const at = line.indexOf("=");
    if (at > 0) this.known[`steps.${id}.outputs.${line.slice(0, at)}`] = line.slice(at + 1);
  }

  private evaluate(text: string): string {
    return text.replace(/\$\{\{ ([\w.-]+) \}\}/g, (_, name: string) => {
      const value = this.known[name];
      if (value === undefined) throw new Error(`there is no ${name}`);
      return value;
    });
  }
}

const jobs: Job[] = [];
const jobWith = (inputs: Readonly<Record<string, string>>) => {
  const job = new Job({ mail: MAIL, ...inputs });
  jobs.push(job);
  return job;
};

afterAll(() => {
  for (const job of jobs) job.remove();
});

/** The tests start the program four times each. */
const SLOW = { tags: ["slow"] };

describe("a job that uses the action", () => {
  const passed = jobWith({
    args: `-a baseline --dataset ${QUESTIONS} -l 15`,
    "fail-under": "found=0.9",
    "working-directory": "sub folder",
  });
  let run: ReturnType<Job["run"]>;

  beforeAll(() => {
    mkdirSync(passed.path("work/sub folder"));
    expect(passed.run("Name the files")).toMatchObject({ code: 0, stderr: "" });
    expect(passed.run("Import the mail")).toMatchObject({ code: 0, stdout: expect.stringContaining("Stored:") });
    run = passed.run("Run the agent");
  });

  it("imports the mail, runs the agent, and writes the scores and gates into the step summary", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toMatch(/^Gate: +passed {2}found /m);
    expect(readFileSync(passed.path("summary.md"), "utf8")).toMatch(/baseline[\s\S]*foundGold/);
  });

  it("outputs the run, the results and the report", () => {
    expect(passed.run("Write the report").code).toBe(0);
    const results = JSON.parse(readFileSync(passed.output("results"), "utf8"));
    expect(results).toMatchObject({ runId: passed.output("run-id"), totalTasks: 15 });
    expect(readFileSync(passed.output("report"), "utf8")).toContain("<title>ART-E report");
    expect(readFileSync(passed.path("temp/art-e/junit.xml"), "utf8")).toContain('tests="15"');
  });

  it("ends the step with code 3 if a gate in the config file is missed, and still outputs the results", SLOW, () => {
    const missed = jobWith({ config: "ci/nightly.yaml", args: "-l 5", "import-args": "--batch-size 100" });
    mkdirSync(missed.path("work/ci"));
    const settings = `agent: baseline\ndataset: ${QUESTIONS}\ngates: {fail-under: {exactMatch: 0.9}}\n`;
    writeFileSync(missed.path("work/ci/nightly.yaml"), settings);
    expect(missed.run("Name the files").code).toBe(0);
    expect(missed.run("Import the mail").code).toBe(0);
    expect(missed.run("Run the agent")).toMatchObject({ code: 3, stderr: expect.stringContaining("exactMatch") });
    expect(missed.output("run-id")).toMatch(/^run_/);
    expect(missed.run("Write the report").code).toBe(0);
  });

  it("executes the runs in a file, and reports them together", SLOW, () => {
    const several = jobWith({ config: "nightly.yaml", only: "all,own" });
    const settings = `agent: baseline
dataset: ${QUESTIONS}
run: {limit: 4}
runs:
  all:
  own: {dataset: {cutoff: "off"}, run: {output: own.json}, gates: {fail-under: {exactMatch: 0.9}}}
  left-out:
`;
    writeFileSync(several.path("work/nightly.yaml"), settings);
    expect(several.run("Name the files").code).toBe(0);
    expect(several.run("Import the mail").code).toBe(0);
    const ended = several.run("Run the agent");
    expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining("1 of 2 runs did not pass: own") });
    const files = several.output("results").split(" ");
    expect(files.map((file) => basename(file))).toEqual(["results-all.json", "results-own.json"]);
    expect(several.output("run-id").split(" ")).toEqual(
      files.map((file) => JSON.parse(readFileSync(file, "utf8")).runId),
    );
    expect(existsSync(several.path("temp/art-e/junit-own.xml"))).toBe(true);
    expect(several.run("Write the report").code).toBe(0);
    expect(readFileSync(several.path("summary.md"), "utf8").match(/^### ART-E: /gm)).toHaveLength(2);
  });

  it("ends with the error if a run cannot start, and outputs no results", () => {
    const wrong = jobWith({ args: "-a nobody" });
    expect(wrong.run("Name the files").code).toBe(0);
    expect(wrong.run("Import the mail").code).toBe(0);
    expect(wrong.run("Run the agent").code).toBe(2);
    expect(() => wrong.output("results")).toThrow("there is no steps.run.outputs.results");
    expect(existsSync(wrong.path("temp/art-e/results.json"))).toBe(false);
    expect(() => wrong.output("run-id")).toThrow("there is no steps.run.outputs.run-id");
  });
});
