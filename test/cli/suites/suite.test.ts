import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import type { FakeProvider } from "../../providers/fake-provider.js";
import { machinesStart } from "../../suites/machines-start.js";
import { ROOT, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";
import { providerVariables, shell, startScriptedAgent } from "./scripted-agent.js";

const SUITE = join(ROOT, "fixtures/suites/demo");

describe("suite commands", () => {
  const ORACLE = join(SUITE, "oracle.jsonl");
  const WEATHER = "575c7366-13f2-5bed-a55f-7b62b88b38c7";
  const CATCHES = "84401e16-fcb1-5115-a576-2bce8b3d06fe";
  const TOTALS = "feda7272-9969-567e-9182-097176c6c8f0";
  const { artE, path, write } = workFolder();

  /** A copy of the demo suite that a test may change. */
  function copyOf(name: string): string {
    cpSync(SUITE, path(name), { recursive: true });
    return path(name);
  }

  describe("art-e suite list", () => {
    it("prints a table of the tasks, and the number of tasks per class", needs("sandbox", machinesStart), async () => {
      const { code, stdout, stderr } = await artE(`suite list ${SUITE} --tool terminal --counterparts abstract`);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatchInlineSnapshot(`
      "id                                    tool      tags                                      actions  evaluation                             takes   runs here
      ────────────────────────────────────  ────────  ────────────────────────────────────────  ───────  ─────────────────────────────────────  ──────  ─────────
      142a807f-2837-51cf-879a-45809fa50acf  terminal  cli,traditional_data_processing,abstract  2        compare_text_file                      files   yes
      575c7366-13f2-5bed-a55f-7b62b88b38c7  terminal  cli,traditional_data_processing,abstract  1        check_include_exclude                  script  yes
      84401e16-fcb1-5115-a576-2bce8b3d06fe  terminal  cli,traditional_data_processing,abstract  3        compare_csv                            files   yes
      8cb2db91-8320-551e-8b1c-2311c2bcb324  terminal  cli,traditional_data_processing,abstract  2        compare_script_logs                    script  yes
      feda7272-9969-567e-9182-097176c6c8f0  terminal  cli,data_transformation,abstract          3        check_yaml_file and compare_json_file  files   yes

      5 tasks: 3 files, 2 script
      runnable on this machine: 5
      "
    `);
    });

    it("prints all tasks as JSON, in the order of their folders", needs("sandbox", machinesStart), async () => {
      const { suite, tasks, unreadable } = JSON.parse((await artE(`suite list ${SUITE} --json`)).stdout);
      expect({ suite, unreadable, length: tasks.length }).toEqual({ suite: "demo", unreadable: 0, length: 20 });
      expect(tasks.find(({ id }: { id: string }) => id === CATCHES)).toEqual({
        id: CATCHES,
        tool: "terminal",
        tags: ["cli", "traditional_data_processing", "abstract"],
        actionNumber: 3,
        evaluation: "compare_csv",
        counterpart: "a21721b6-7bc0-5938-b0ee-2bd7a0cc1cd7",
        takes: "files",
        obstacle: null,
      });
    });

    it.each([
      ["--tag data_warehousing,verbose", 1],
      ["--index test_one.json", 1],
      ["--index test_one.json --counterparts both", 2],
      ["--index test_verbose.json", 10],
      ["--task 84401e16,a21721b6", 2],
    ])("selects by %s", async (flags, count) => {
      const { stdout } = await artE(`suite list ${SUITE} --json ${flags}`);
      expect(JSON.parse(stdout).tasks).toHaveLength(count);
    });

    it("reports unreadable tasks on stderr", async () => {
      const suite = copyOf("unreadable");
      writeFileSync(join(suite, `examples/terminal/${CATCHES}/${CATCHES}.json`), "{");
      const { code, stdout, stderr } = await artE(`suite list ${suite} --json`);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ unreadable: 1 });
      expect(stderr).toContain("1 task cannot be read. See why: art-e suite check");
    });

    it.each([
      [
        "a folder that is not a suite",
        `suite list ${ROOT}/docs`,
        "is not a task suite: it contains neither a folder examples/ nor Harbor task folders.",
      ],
      ["a missing index file", `suite list ${SUITE} --index none.json`, "Cannot find the index file none.json"],
      [
        "an invalid choice",
        `suite list ${SUITE} --counterparts all`,
        "--counterparts: expected both or abstract or verbose.",
      ],
    ])("rejects %s", async (_, line, message) => {
      const { code, stdout, stderr } = await artE(line);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(message);
    });
  });

  describe("art-e suite show", () => {
    it.each([
      ["no task", null, `99975a18-5108-5e5b-9a9f-ea29651d809e (it names this task, which names none)`],
      ["itself", TOTALS, `99975a18-5108-5e5b-9a9f-ea29651d809e (it names this task, which names ${TOTALS})`],
      ["a missing task", "1234", `99975a18-5108-5e5b-9a9f-ea29651d809e (it names this task, which names 1234)`],
      ["a task of another pair", WEATHER, `${WEATHER} (not a pair: not in the suite, or it names another task)`],
    ])("separates the facts of the task file from those of its counterpart (%s)", async (_, counterpart, line) => {
      const suite = copyOf("counterpart");
      const file = join(suite, `examples/terminal/${TOTALS}/${TOTALS}.json`);
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), counterpart }));
      expect((await artE(`suite show ${suite} ${TOTALS}`)).stdout).toContain(`Counterpart:  ${line}\n`);
    });

    it("prints an entire task", needs("sandbox", machinesStart), async () => {
      const { code, stdout } = await artE(`suite show ${SUITE} feda7272`);
      expect(code).toBe(0);
      expect(stdout.replace(ROOT, "ROOT")).toMatchInlineSnapshot(`
      "Task:         feda7272-9969-567e-9182-097176c6c8f0
      Tool:         terminal
      Snapshot:     base
      Tags:         cli, data_transformation, abstract
      Related apps: terminal
      Actions:      3
      Counterpart:  99975a18-5108-5e5b-9a9f-ea29651d809e
      Takes:        files
      Runs here:    yes
      Source:       written for this project
      Folder:       ROOT/fixtures/suites/demo/examples/terminal/feda7272-9969-567e-9182-097176c6c8f0

      Instruction
        In hive.yml in the home folder, note that the queen is marked now and that frame B holds 2 kg of honey. Then write the total of honey into totals.json beside it, as its field honey.

      Set-up
        copyfile_from_host_to_guest(src="examples/terminal/feda7272-9969-567e-9182-097176c6c8f0/hive.yml", dest="/home/user/hive.yml")
        copyfile_from_host_to_guest(src="examples/terminal/feda7272-9969-567e-9182-097176c6c8f0/totals.json", dest="/home/user/totals.json")

      Evaluation
        check_yaml_file()
          result: vm_file(path="/home/user/hive.yml", dest="hive.yml")
          expected: rule(rules=[["match",["queen","marked"],true],["match",["frames",["name","B"],"honey"],2]])
        and compare_json_file()
          result: vm_file(path="/home/user/totals.json", dest="totals.json")
          expected: local_file(path="examples/terminal/feda7272-9969-567e-9182-097176c6c8f0/totals_gold.json", dest="totals_gold.json")
      "
    `);
    });

    it("prints the task as JSON, with the problems that suite check finds", async () => {
      const { task, takes, findings } = JSON.parse((await artE(`suite show ${SUITE} 25fa --json`)).stdout);
      expect(task).toMatchObject({ dialect: "spider2v", snapshot: "excel", evaluation: { conjunction: "and" } });
      expect(takes).toBe("files");
      expect(findings).toEqual([expect.objectContaining({ level: "warning", code: "screen_passed_over" })]);
    });

    it("rejects an unknown id", async () => {
      expect(await artE(`suite show ${SUITE} ffff`)).toMatchObject({ code: 2, stdout: "" });
    });
  });

  describe("art-e suite check", () => {
    it("succeeds if there are no errors", async () => {
      const { code, stdout } = await artE(`suite check ${SUITE}`);
      expect(code).toBe(0);
      expect(stdout.trimEnd().split("\n").at(-1)).toBe("demo: 20 tasks read, 0 errors, 4 warnings");
    });

    it("fails if there are errors, and lists each with its file and field", async () => {
      const suite = copyOf("faulty");
      rmSync(join(suite, `examples/terminal/${CATCHES}/catches_gold.csv`));
      const { code, stdout } = await artE(`suite check ${suite}`);
      expect(code).toBe(1);
      const file = `examples/terminal/${CATCHES}/${CATCHES}.json`;
      expect(stdout.split("\n\n")[0]).toBe(
        "error file_missing: 1\n" +
          `  ${file}: evaluation.arguments.local_expected: gold file catches_gold.csv is not in the task's folder`,
      );
      const json = JSON.parse((await artE(`suite check ${suite} --json`)).stdout);
      expect(json).toMatchObject({
        suite: "faulty",
        tasks: 20,
        errors: [{ code: "file_missing", file, task: CATCHES }],
      });
      expect(json.warnings).toHaveLength(4);
    });

    it("lists at most ten problems per kind", async () => {
      const suite = copyOf("many");
      for (const style of ["abstract", "verbose"]) {
        const index = JSON.parse(readFileSync(join(suite, `test_${style}.json`), "utf8"));
        for (const [tool, ids] of Object.entries<string[]>(index)) {
          for (const id of ids) {
            const file = join(suite, `examples/${tool}/${id}/${id}.json`);
            const task = JSON.parse(readFileSync(file, "utf8"));
            writeFileSync(file, JSON.stringify({ ...task, tags: [...task.tags, "odd"] }));
          }
        }
      }
      const { code, stdout } = await artE(`suite check ${suite}`);
      expect(code).toBe(0);
      const [odd = ""] = stdout.split("\n\n");
      expect(odd.split("\n")).toHaveLength(12);
      expect(odd.split("\n")[0]).toBe("warning tag_unknown: 20");
      expect(odd.split("\n")[11]).toBe("  ... and 10 more; --json lists all");
    });
  });

  describe("art-e suite check --oracle", () => {
    const line = (changes: object) =>
      `${JSON.stringify({ suite: "demo", uuid: CATCHES, state: "gold", expected_score: 1, ...changes })}\n`;

    it("gives the demo suite the scores in its oracle file", async () => {
      const lines = readFileSync(ORACLE, "utf8").split("\n");
      const oracle = write("files.jsonl", lines.filter((one) => one.includes('"grading": "files"')).join("\n"));
      const { code, stdout } = await artE(`suite check ${SUITE} --oracle ${oracle} --json`);
      const { lines: graded, ...counts } = JSON.parse(stdout);
      expect(graded.filter(({ score, expected }: { score: number; expected: number }) => score !== expected)).toEqual(
        [],
      );
      expect({ code, ...counts }).toEqual({ code: 0, equal: 32, different: 0, skipped: 0 });
    });

    it("shows the output of a server that does not start", needs("sandbox", machinesStart), async () => {
      const processes = [{ cmd: ["sh", "-c", "echo no port; exit 1"], ready: "tcp:127.0.0.1:8036" }];
      const oracle = write("dead.jsonl", line({ uuid: WEATHER, grading: "process", processes }));
      const { code, stdout } = await artE(`suite check ${SUITE} --oracle ${oracle} --json`);
      expect({ code, line: JSON.parse(stdout).lines[0] }).toMatchObject({
        code: 1,
        line: { status: "setup_error", reason: "sh -c echo no port; exit 1 is not ready at 127.0.0.1:8036: no port" },
      });
    });

    it("fails if a score differs, and says which one", async () => {
      const oracle = write("wrong.jsonl", line({ files: { "/home/user/Desktop/catches.csv": "catches.csv" } }));
      const { code, stdout } = await artE(`suite check ${SUITE} --oracle ${oracle}`);
      expect(code).toBe(1);
      expect(stdout).toMatch(new RegExp(`^${CATCHES} +gold +1 +0 +success`, "m"));
      expect(stdout.trimEnd().split("\n").at(-1)).toBe("0 equal, 1 different, 0 skipped");
    });

    it("skips lines for other suites and unsupported machines, and lists the missing requirements", async () => {
      const suite = copyOf("demo");
      write("demo/snapshots.json", JSON.stringify({ base: { commands: { "no-such-program": null } } }));
      const server = { cmd: ["true"] };
      const oracle = write(
        "others.jsonl",
        line({ suite: "other" }) + line({ grading: "script" }) + line({ processes: [server] }),
      );
      const { code, stdout } = await artE(`suite check ${suite} --oracle ${oracle} --json`);
      expect(code).toBe(0);
      const { lines, ...counts } = JSON.parse(stdout);
      expect(counts).toEqual({ equal: 0, different: 0, skipped: 3 });
      expect(lines).toHaveLength(2);
      expect(lines[0]).toEqual({
        suite: "demo",
        uuid: CATCHES,
        state: "gold",
        expected: 1,
        score: null,
        status: "not_ready",
        reason: machinesStart
          ? "the snapshot base is not ready: missing: no-such-program"
          : expect.stringMatching(/^cannot start machines for tasks: |no-such-program$/),
      });
    });

    it("reads derived files from the oracle file's folder, and omits removed files", async () => {
      write("derived.csv", "boat,arrivals,total_kg\nSkua,2,190\nPetrel,3,275\nFulmar,1,40\n");
      const result = "/home/user/Desktop/catches.csv";
      const derived = { [result]: "derived.csv" };
      const lines = [
        line({ derived }),
        line({ derived, remove: [result], expected_score: 0 }),
        line({ derived, remove: ["/home/user/Desktop"], expected_score: 0 }),
      ];
      const oracle = write("derived.jsonl", lines.join(""));
      const { stdout } = await artE(`suite check ${SUITE} --oracle ${oracle} --json`);
      expect(JSON.parse(stdout)).toMatchObject({ equal: 3, different: 0, skipped: 0 });
    });

    it("continues if a file is missing, and says so, but rejects a path outside the folder", async () => {
      const gold = { "/home/user/Desktop/catches.csv": "catches_gold.csv" };
      const lines = [
        line({ files: { ...gold, "/home/user/none.zip": "none.zip" } }),
        line({ files: { ...gold, "/home/user/passwd": "../../../../../../../../etc/passwd" } }),
      ];
      const oracle = write("paths.jsonl", lines.join(""));
      const { code, stdout } = await artE(`suite check ${SUITE} --oracle ${oracle} --json`);
      const report = JSON.parse(stdout);
      expect(code).toBe(1);
      expect(report.lines[0]).toMatchObject({ score: 1, status: "success" });
      expect(report.lines[0].reason).toContain("missing files: none.zip");
      expect(report.lines[1]).toMatchObject({ score: null, status: "setup_error" });
    });

    it("counts an unknown task as a differing score", async () => {
      const oracle = write("unknown.jsonl", line({ uuid: "none" }));
      const { code, stdout } = await artE(`suite check ${SUITE} --oracle ${oracle} --json`);
      expect({ code, report: JSON.parse(stdout) }).toMatchObject({ code: 1, report: { different: 1 } });
    });

    it.each([
      ["invalid JSON", "{", ":1 is not JSON"],
      ["a relative path", line({ files: { "out.csv": "gold.csv" } }), ":1: files.out.csv: "],
      [
        "a process whose ready condition is unknown",
        line({ processes: [{ cmd: ["a"], ready: "soon" }] }),
        ".0.ready: ",
      ],
      ["a line without a score", line({ expected_score: undefined }), ":1: expected_score: "],
    ])("rejects a file that contains %s", async (_, content, message) => {
      const oracle = write("refused.jsonl", content);
      const { code, stdout, stderr } = await artE(`suite check ${SUITE} --oracle ${oracle}`);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(message);
    });
  });
});

describe("running a suite", () => {
  const [KILNS, WEATHER, LAMPS] = ["142a807f", "575c7366", "8cb2db91"];
  const { artE, readJson } = workFolder();
  let provider: FakeProvider;

  afterEach(() => provider.close());

  /** The agent's commands, depending on the task's instruction. */
  const COMMANDS: Readonly<Record<string, string>> = {
    kiln: "grep 'kiln 3' ~/Desktop/kilns.log > ~/Desktop/kiln3.txt",
    weather: "cd ~/weather && (setsid python3 -m http.server 8036 --bind 127.0.0.1 >/dev/null 2>&1 &) ; sleep 1",
    // Looks for hidden files, and leaves its task undone.
    Lamps: "find / -name '*gold*' -not -path '/proc/*' -not -path '/usr/*' 2>/dev/null; cat ~/eval.sh; env | grep KEY",
  };

  beforeEach(async () => {
    provider = await startScriptedAgent((instruction) => {
      const [, command = ""] = Object.entries(COMMANDS).find(([word]) => instruction.includes(word)) ?? [];
      return [shell(command)];
    });
  });

  const run = (line: string) => artE(`run ${line}`, providerVariables(provider));

  describe("art-e run --suite", needs("sandbox", machinesStart), () => {
    it("lets an agent work in each task's machine, and grades the resulting files", async () => {
      const line = `--suite ${SUITE} --task ${KILNS},${WEATHER},${LAMPS} -a data-worker --quiet --json -o results.json`;
      const { code, stdout, stderr } = await run(line);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const results = resultsSchema.parse(readJson("results.json"));
      expect(
        results.taskResults.map(({ taskId, suite, scores }) => [`${taskId}`.slice(0, 8), suite?.score, scores]),
      ).toEqual([
        [KILNS, 1, { taskScore: 1, taskSolved: 1 }],
        [WEATHER, 1, { taskScore: 1, taskSolved: 1 }],
        [LAMPS, 0, { taskScore: 0, taskSolved: 0 }],
      ]);
      expect(results.taskResults[2]?.suite).toMatchObject({ name: "demo", tool: "terminal", state: "success" });
      expect(JSON.parse(stdout).scores.taskScore).toMatchObject({ n: 3, value: 2 / 3 });
      const shown = await artE(`show latest/${results.taskResults[2]?.taskId}`);
      expect(shown.stdout).toMatch(/^Grade: +0 {2}success/m);
      expect(shown.stdout).not.toMatch(/_gold|north\.conf|test-key|ANTHROPIC/);
    });

    it("resumes a run that a limit stopped, and lists the flags that a suite run does not accept", {
      tags: ["slow"],
    }, async () => {
      const begun = await run(
        `--suite ${SUITE} --task ${KILNS},${LAMPS} -a data-worker --max-run-tokens 1 --concurrency 1 --quiet`,
      );
      expect(begun.code).toBe(1);
      const more = await run("--resume latest --max-run-tokens 1000000 --json --quiet");
      expect(more.code).toBe(0);
      const { plannedTasks, totalTasks, status } = JSON.parse(more.stdout);
      expect({ totalTasks, status }).toEqual({ totalTasks: plannedTasks, status: "completed" });
      const refused = await run(`--suite ${SUITE} -a data-worker --judge art`);
      expect(refused).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          "--judge does not apply to these suite tasks: none of them has a gold answer (email_answer).",
        ),
      });
      const none = await run(`--suite ${SUITE} --tool airbyte -a data-worker`);
      expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('Unknown tool "airbyte"') });
    });
  });
});

describe("the documentation of suites", () => {
  /** The example in the docs: the demo's oracle file is graded with the documented result. */

  const { artE, path } = workFolder();
  const PAGE = readFileSync(join(ROOT, "docs/write-a-suite.md"), "utf8");
  const [, line = "", shown = ""] = /^\$ art-e (suite check \S+ --oracle \S+)\n(.+)$/m.exec(PAGE) ?? [];

  it(
    "shows the demo's oracle file, and every line gets its expected score, including scripts and running servers",
    needs("sandbox", machinesStart),
    async () => {
      symlinkSync(join(ROOT, "fixtures"), path("fixtures"));
      expect(shown).toMatch(/^\d+ equal, 0 different, 0 skipped$/);
      const { code, stdout } = await artE(line);
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${shown}\n` });
    },
  );
});
