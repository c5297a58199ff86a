import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { MAIL, MARCUS, QUESTIONS, workFolder } from "./art-e.js";

const { artE, path } = workFolder({ mail: MAIL });
const PROGRAM = join(import.meta.dirname, "../../bin/art-e.js");

let run: string;
beforeAll(async () => {
  run = JSON.parse((await artE(`run -a baseline --dataset ${QUESTIONS} -l 2 --quiet --json`)).stdout).runId;
  writeFileSync(path("art-e"), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(path("art-e"), 0o755);
});

const offered = async (...words: string[]) =>
  (await artE(["--complete-words", ...words])).stdout.split("\n").filter((word) => word !== "");

describe("a word that is being typed", () => {
  it("is offered commands, subcommands and flags", async () => {
    expect(await offered("ru")).toEqual(["run", "runs"]);
    expect(await offered("--db", "art-e.db", "sui")).toEqual(["suite"]);
    expect(await offered("agents", "cl")).toEqual(["clone"]);
    expect(await offered("run", "--model-")).toEqual(["--model-id", "--model-provider"]);
    expect(await offered("--no")).toEqual(["--no-progress"]);
  });

  it("is offered the agents and runs of the database where one belongs", async () => {
    expect(await offered("run", "-a", "base")).toEqual(["baseline"]);
    expect(await offered("agents", "show", "email-")).toEqual(["email-search"]);
    for (const words of [
      ["stats", "--run"],
      ["runs", "show"],
      ["compare", "latest"],
      ["run", "--quiet", "--resume"],
    ]) {
      expect(await offered(...words, "")).toEqual(["latest", run]);
    }
  });

  it("is offered mailboxes, tools, evals, tasks and traces", async () => {
    expect(await offered("search", "marc")).toEqual([MARCUS]);
    expect(await offered("ask", "marc")).toEqual([MARCUS]);
    expect(await offered("mcp", "--inbox", "marc")).toEqual([MARCUS]);
    expect(await offered("agents", "attach", "baseline", "email_s")).toEqual(["email_search"]);
    expect(await offered("tools", "show", "email_g")).toEqual(["email_get"]);
    expect(await offered("evals", "show", "")).toEqual([]);
    expect(await offered("show", "la")).toEqual(["latest/"]);
    expect(await offered("show", "latest/")).toEqual(["latest/1", "latest/2"]);
    expect(await offered("show", `${run}/2`)).toEqual([`${run}/2`]);
    expect(await offered("export-traces", "--run", run, "--ids", "")).toEqual(["1", "2"]);
    expect(await offered("export-traces", "--ids", "1,")).toEqual(["1,1", "1,2"]);
    expect(await offered("show", "nothing/")).toEqual([]);
    const suite = join(import.meta.dirname, "../../fixtures/suites/demo");
    const tasks = await offered("suite", "show", suite, "");
    expect(tasks.length).toBeGreaterThan(2);
    expect(await offered("run", "--suite", suite, "--task", tasks[0]?.slice(0, -1) ?? "")).toContain(tasks[0]);
    expect(await offered("completion", "z")).toEqual(["zsh"]);
  });

  it("is left to the shell where any word will do, and where there is no database", async () => {
    expect(await offered("run", "--suite", "")).toEqual([]);
    expect(await offered("import", "")).toEqual([]);
    expect(await offered("--db", "none.db", "run", "-a", "")).toEqual([]);
  });
});

const inBash = (script: string) =>
  spawnSync("bash", ["-c", script], {
    cwd: path("."),
    encoding: "utf8",
    env: { PATH: `${path(".")}:${process.env.PATH}`, HOME: path(".") },
  });

describe("the script", () => {
  it("of bash completes a word", () => {
    const { stdout, stderr } = inBash(
      'eval "$(art-e completion bash)"; COMP_WORDS=(art-e stats --run run_); COMP_CWORD=3; _art_e; echo $COMPREPLY; complete -p art-e',
    );
    expect(stderr).toBe("");
    expect(stdout).toBe(`${run}\ncomplete -o bashdefault -o default -F _art_e art-e\n`);
  });

  it("of bash leaves no space after the name of a run, whose task comes next", () => {
    const { stdout, stderr } = inBash(
      `eval "$(art-e completion bash)"; compopt() { echo "compopt:$2"; }; COMP_WORDS=(art-e show ${run.slice(0, -1)}); COMP_CWORD=2; _art_e; echo $COMPREPLY`,
    );
    expect(stderr).toBe("");
    expect(stdout).toBe(`compopt:nospace\n${run}/\n`);
  });

  it("is refused for another shell", async () => {
    const { code, stderr } = await artE("completion tcsh");
    expect([code, stderr.split("\n")[0]]).toEqual([2, "art-e: SHELL: expected bash or zsh or fish."]);
  });
});
