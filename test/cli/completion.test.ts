import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { MAIL, QUESTIONS, workFolder } from "./art-e.js";

const { artE, path } = workFolder({ mail: MAIL });
const PROGRAM = join(import.meta.dirname, "../../bin/art-e.js");

let run: string;
beforeAll(async () => {
  run = JSON.parse((await artE(`run -a baseline --dataset ${QUESTIONS} -l 1 --quiet --json`)).stdout).runId;
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

  it("is refused for another shell", async () => {
    const { code, stderr } = await artE("completion tcsh");
    expect([code, stderr.split("\n")[0]]).toEqual([2, "art-e: SHELL: expected bash or zsh or fish."]);
  });
});
