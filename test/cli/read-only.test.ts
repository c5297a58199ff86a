import { copyFileSync, mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { chooseSandbox } from "../../src/sandbox/choose-sandbox.js";
import { needs } from "../machine-requirements.js";
import { addressOf, BIN, boxLines, MAIL, MARCUS, type Started, startProgram, workFolder } from "./art-e.js";

const choice = await chooseSandbox();
const hasBubblewrap = choice.ok && choice.sandbox.kind === "bubblewrap";
const { path } = workFolder({ demo: "answered" });

/** Runs art-e with a read-only database folder, as on a disk that is mounted read-only. */
function startInReadOnlyFolder(words: readonly string[]): Started {
  const folder = path("shelf");
  mkdirSync(folder, { recursive: true });
  copyFileSync(path("art-e.db"), path("shelf/art-e.db"));
  const mounts = ["--die-with-parent", "--dev-bind", "/", "/", "--ro-bind", folder, folder];
  const program = [process.execPath, BIN, ...words, "--db", path("shelf/art-e.db")];
  return startProgram(path(""), "bwrap", [...mounts, ...program], {});
}

const inReadOnlyFolder = (words: readonly string[]) => startInReadOnlyFolder(words).ended;

describe("a read-only database", needs("sandbox", hasBubblewrap), () => {
  it.each([
    [["stats", "--corpus"], "Distinct emails:"],
    [["search", MARCUS, "base quantity"], "<"],
    [["show", "latest/1"], "base quantity"],
    [["runs", "list"], "baseline"],
    [["agents", "list"], "email-search"],
    [["compare", "latest", "--published"], "published"],
    [["export-traces", "-o", "read.jsonl", "--quiet"], ""],
  ])("serves %j", async (words, shown) => {
    const { code, stdout, stderr } = await inReadOnlyFolder(words);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(shown);
  });

  it("passes the checks of doctor, except for checks that need to write", async () => {
    const { code, stdout } = await inReadOnlyFolder(["doctor"]);
    expect({ code, index: boxLines(stdout)["Full-text index"] }).toEqual({
      code: 0,
      index: "ok: not checked, because the file is not writable",
    });
  });

  it("has its path in errors", async () => {
    const { stderr } = await inReadOnlyFolder(["runs", "show", "nope"]);
    expect(stderr).toContain(`Unknown run "nope" in ${path("shelf/art-e.db")}.`);
  });

  it("lists its runs and traces over HTTP", async () => {
    const server = startInReadOnlyFolder(["serve", "--port", "0"]);
    const url = await addressOf(server);
    const [runs, traces] = await Promise.all(["runs", "traces"].map((list) => fetch(`${url}/api/${list}`)));
    expect(await runs?.json()).toMatchObject({ runs: [{ agent_id: "baseline" }] });
    expect(traces?.status).toBe(200);
    server.child.kill();
    await server.ended;
  });

  it("stays unchanged, and the error gives the next step", async () => {
    const { code, stderr } = await inReadOnlyFolder(["agents", "create", "mine", "--prompt", "Find."]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /Cannot use the database .*: attempt to write a readonly database\.\n {7}.*copy the file to a writable folder\.\n$/,
    );
  });

  it("rejects an import, and names the file", async () => {
    const { code, stderr } = await inReadOnlyFolder(["import", MAIL, "--quiet"]);
    expect(code).toBe(1);
    expect(stderr).toContain(`Cannot import into ${path("shelf/art-e.db")}: the file or its folder is read-only.`);
  });
});
