import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkSuite, checkSuiteFolder } from "../../src/suites/check-suite.js";
import { openSuiteFolder } from "../../src/suites/suite-folder.js";
import { readSuite } from "../../src/suites/task/task-file.js";
import { DEMO_SUITE, findingsIn, flowbookTask, spiderTask, taskFiles, upload, writeSuite } from "./write-suite.js";

/** Creates a pair of tasks without faults, except for the changes to the first. */
const flowbookPair = (changes: object) => ({
  ...taskFiles("excel", flowbookTask("a", "b", changes)),
  ...taskFiles("excel", flowbookTask("b", "a")),
});

const spiderPair = (changes: object) => ({
  ...taskFiles("excel", spiderTask("a", "b", changes)),
  ...taskFiles("excel", spiderTask("b", "a")),
});

const compareCsv = (args: object) => ({ evaluation: { func: "compare_csv", arguments: args } });

/** A user's own task, without the fields that only the original suites' analyses use. */
const MINIMAL = {
  id: "own",
  instruction: "Write hello into out.txt.",
  snapshot: "base",
  config: [{ type: "sleep", parameters: { seconds: 1 } }],
  evaluator: {
    func: "check_include_exclude",
    result: { type: "vm_command_line", command: "cat out.txt" },
    expected: { type: "rule", rules: { include: ["hello"] } },
  },
};

async function checkMinimal(changes: object, files: Record<string, string> = {}) {
  const folder = writeSuite({ ...taskFiles("own", { ...MINIMAL, ...changes }), ...files });
  const { errors, warnings } = await checkSuiteFolder(folder, undefined);
  return [...errors, ...warnings].map(({ level, code, field, message }) => `${level} ${code} ${field}: ${message}`);
}

const step = (type: string, parameters: object) => ({ config: [{ type, parameters }] });
const graded = (changes: object) => ({ evaluator: { ...MINIMAL.evaluator, ...changes } });

describe("checkSuiteFolder", () => {
  it("reports a snapshot of a user's own task that is not available on this machine, and the reason", async () => {
    const mine = { commands: { "no-such-program": "no-such-package" } };
    const task: { id: string } = Object.assign({}, MINIMAL, { snapshot: "mine" });
    const folder = writeSuite({
      ...taskFiles("own", task),
      "snapshots.json": JSON.stringify({ mine }),
    });
    const { errors, notReady } = await checkSuiteFolder(folder, undefined);
    expect(errors).toEqual([]);
    expect(notReady).toEqual([{ snapshot: "mine", tasks: 1, why: expect.stringContaining("no-such-program") }]);
  });

  it("does not require tags, pairs and numbers that no task in the suite has", async () => {
    expect(await checkMinimal({})).toEqual([]);
  });

  it.each<[string, object, string]>([
    [
      "a missing argument",
      step("copyfile_from_host_to_guest", { dest: "/home/user/a" }),
      "error arguments_invalid config[0].parameters.src: is missing, but copyfile_from_host_to_guest requires it",
    ],
    [
      "an argument of the wrong type",
      step("execute", { command: 5 }),
      "error arguments_invalid config[0].parameters.command: expected a string or a list of words",
    ],
    [
      "a misspelled argument",
      step("execute", { command: "ls", shel: true }),
      "warning argument_unknown config[0].parameters.shel: is not an argument of execute. Did you mean shell?",
    ],
    [
      "a misspelled option",
      graded({ func: "compare_csv", options: { ignore_cse: true } }),
      "warning argument_unknown evaluator.options.ignore_cse: is not an argument of compare_csv. Did you mean ignore_case?",
    ],
    [
      "a getter without its required argument",
      graded({ result: { type: "vm_command_line" } }),
      "error arguments_invalid evaluator.result.command: is missing, but vm_command_line requires it",
    ],
    [
      "an unknown snapshot",
      { snapshot: "bse" },
      "error snapshot_unknown snapshot: unknown snapshot bse. Did you mean base?",
    ],
  ])("reports for a user's own task %s", async (_, changes, finding) => {
    expect(await checkMinimal(changes)).toEqual([finding]);
  });

  it("reports a broken snapshots.json, and accepts the snapshots in a valid one", async () => {
    const [broken, ...others] = await checkMinimal({}, { "snapshots.json": "{broken" });
    expect(broken).toMatch(/^error snapshots_invalid : Cannot read .*snapshots\.json: it is not JSON/);
    expect(others).toEqual([]);
    const own = JSON.stringify({ mine: { extends: "base" } });
    expect(await checkMinimal({ snapshot: "mine" }, { "snapshots.json": own })).toEqual([]);
  });
});

describe("checkSuite", () => {
  it("reports nothing in a valid suite, in either spelling", () => {
    expect(findingsIn(flowbookPair({}))).toEqual([]);
    expect(findingsIn(spiderPair({}))).toEqual([]);
  });

  it("reports only skipped windows in the demo suite", () => {
    const findings = checkSuite(readSuite(openSuiteFolder(DEMO_SUITE)));
    expect(findings.map(({ code }) => code)).toEqual(Array(4).fill("screen_passed_over"));
  });

  it.each<[string, object, string]>([
    ["a misspelled field", { tag: ["cli"] }, "warning field_unknown tag: is not a field of the task format"],
    [
      "a missing number of actions",
      { action_number: null },
      "warning field_missing action_number: is missing, so the task has no difficulty",
    ],
    [
      "a tag that is not in the vocabulary",
      { tags: ["cli", "abstract", "traditional_data_processing", "easy"] },
      "warning tag_unknown tags[3]: easy is not a tag of the task format",
    ],
    [
      "two interfaces",
      { tags: ["cli", "gui", "abstract", "traditional_data_processing"] },
      "warning tag_count tags: has 2 interface tags, expected one of cli, gui, cli+gui",
    ],
    [
      "a missing domain",
      { tags: ["cli", "abstract"] },
      "warning tag_count tags: has no domain tags, expected one of data_warehousing, data_transformation, " +
        "data_ingestion_and_integration, data_analysis_and_visualization, data_orchestration, " +
        "traditional_data_processing, it_service_management",
    ],
    [
      "an unknown setup function",
      { config: [{ func: "upload_files", arguments: {} }] },
      "error function_unknown config[0].func: upload_files is not a setup function of Flowbook",
    ],
    [
      "a function from the other dialect",
      { evaluation: { func: "compare_table", arguments: {} } },
      "error function_unknown evaluation.func: compare_table is not an evaluation function of Flowbook; " +
        "Spider2-V has one, but in a different task format",
    ],
    [
      "an unknown comparison in a combination",
      { evaluation: { func: "evaluate_multiple_notebooks", arguments: { comparisons: [{ func: "compare_all" }] } } },
      "error function_unknown evaluation.arguments.comparisons[0].func: " +
        "compare_all is not an evaluation function of Flowbook",
    ],
    [
      "an evaluation without a function",
      { evaluation: {} },
      "warning evaluation_missing evaluation: is missing or has no function, so the task has no score",
    ],
    [
      "setup in the other spelling",
      { config: [{ type: "upload_file_to_vm", parameters: { src: "a", dest: "/b" } }] },
      "warning function_old_spelling config[0].type: upload_file_to_vm is skipped, " +
        "as in Flowbook, which reads {func, arguments}",
    ],
    [
      "a missing input",
      { config: [upload("none.csv", "/home/user/in.csv")] },
      "error file_missing config[0].arguments.local_path: input none.csv is not in the task's folder",
    ],
    [
      "a missing script",
      { config: [{ func: "upload_script_and_execute", arguments: { local_path: "init.sh", remote_path: "/i.sh" } }] },
      "error file_missing config[0].arguments.local_path: script init.sh is not in the task's folder",
    ],
    [
      "a missing gold file",
      compareCsv({ local_expected: "none.csv", vm_result: "/home/user/out.csv" }),
      "error file_missing evaluation.arguments.local_expected: gold file none.csv is not in the task's folder",
    ],
    [
      "an input outside the folder",
      { config: [upload("../b/in.csv", "/home/user/in.csv")] },
      "error path_outside config[0].arguments.local_path: input ../b/in.csv is outside of the task's folder",
    ],
    [
      "an input indirectly outside the folder",
      { config: [upload("x/../../b/in.csv", "/home/user/in.csv")] },
      "error path_outside config[0].arguments.local_path: input x/../../b/in.csv is outside of the task's folder",
    ],
    [
      "a gold file that is a folder",
      compareCsv({ local_expected: ".", vm_result: "/home/user/out.csv" }),
      "error file_is_folder evaluation.arguments.local_expected: gold file . is a folder",
    ],
    [
      "a result with the gold file's name",
      compareCsv({ local_expected: "gold.csv", vm_result: "/home/user/gold.csv" }),
      "error destination_equal evaluation.arguments.local_expected: " +
        "the result is also saved as gold.csv, so the score is always 1",
    ],
    [
      "a path in the machine that is relative",
      compareCsv({ local_expected: "gold.csv", vm_result: "out.csv" }),
      "warning machine_path_relative evaluation.arguments.vm_result: out.csv is not an absolute path in the machine",
    ],
    [
      "a swapped upload and gold file",
      compareCsv({ local_expected: "in.csv", vm_result: "/home/user/gold.csv" }),
      "warning arguments_swapped evaluation.arguments.local_expected: " +
        "in.csv is uploaded at the start, and gold.csv is in the task's folder: the two look swapped",
    ],
    [
      "an upload to a different folder than the result's",
      compareCsv({ local_expected: "gold.csv", vm_result: "/home/user/Desktop/in.csv" }),
      "warning result_elsewhere evaluation.arguments.vm_result: " +
        "/home/user/Desktop/in.csv is expected, but the file of this name is uploaded to /home/user/in.csv",
    ],
  ])("reports %s in a Flowbook task", (_, changes, finding) => {
    expect(findingsIn(flowbookPair(changes))).toEqual([finding]);
  });

  it("reports a pair whose tasks have the same guidance", () => {
    const findings = findingsIn(flowbookPair({ tags: ["cli", "verbose", "traditional_data_processing"] }));
    expect(findings).toEqual([
      "warning counterpart_same_guidance counterpart: b is also verbose, but a pair has one abstract and one verbose task",
      "warning counterpart_same_guidance counterpart: a is also verbose, but a pair has one abstract and one verbose task",
    ]);
  });

  it("reports a swapped gold file and result", () => {
    expect(
      findingsIn(flowbookPair(compareCsv({ local_expected: "/home/user/out.csv", vm_result: "gold.csv" }))),
    ).toEqual([
      "error path_outside evaluation.arguments.local_expected: " +
        "gold file /home/user/out.csv is outside of the task's folder",
      "error arguments_swapped evaluation.arguments.vm_result: " +
        "gold.csv is not a path in the machine, but /home/user/out.csv is. Are the arguments swapped?",
    ]);
  });

  it("accepts a gold file that is also an input if the result is another file", () => {
    const evaluation = compareCsv({ local_expected: "in.csv", vm_result: "/home/user/copy.csv" });
    expect(findingsIn(flowbookPair(evaluation))).toEqual([]);
  });
});

describe("checkSuite on Spider2-V's tasks", () => {
  it("reports that an action's file is missing", () => {
    const parameters = { actions: [{ type: "load", from: "evaluation_examples/x/none.sql" }] };
    expect(findingsIn(spiderPair({ config: [{ type: "launch", parameters }] }))).toContain(
      "error file_missing config[0].parameters.actions[0].from: " +
        "input evaluation_examples/x/none.sql is not in the suite's folder",
    );
  });

  const evaluator = (changes: object) => ({ evaluator: { ...spiderTask("a", "b").evaluator, ...changes } });

  it.each<[string, object, string]>([
    [
      "an unknown getter",
      evaluator({ result: { type: "vm_files", path: "/home/user/out.csv" } }),
      "error function_unknown evaluator.result.type: vm_files is not a getter of Spider2-V",
    ],
    [
      "an unknown function in a list",
      evaluator({ func: ["compare_csv", "compare_all"], result: [], expected: [] }),
      "error function_unknown evaluator.func[1]: compare_all is not an evaluation function of Spider2-V",
    ],
    [
      "the same destination in both",
      evaluator({ result: { type: "vm_file", path: "/home/user/out.csv", dest: "gold.csv" } }),
      "error destination_equal evaluator.expected.dest: " +
        "the result is also saved as gold.csv, so the score is always 1",
    ],
    [
      "the same destination in lists",
      evaluator({
        func: ["compare_csv"],
        result: [{ type: "vm_file", path: ["/x", "/y"], multi: true, dest: ["x", "y"] }],
        expected: [{ type: "local_file", path: "examples/excel/a/in.csv", dest: "y" }],
      }),
      "error destination_equal evaluator.expected[0].dest: " +
        "the result is also saved as y, so the score is always 1",
    ],
    [
      "a file relative to the task's folder",
      evaluator({ expected: { type: "local_file", path: "gold.csv", dest: "gold.csv" } }),
      "error file_missing evaluator.expected.path: gold file gold.csv is not in the suite's folder",
    ],
    [
      "a file outside the suite",
      evaluator({ expected: { type: "local_file", path: "../gold.csv", dest: "gold.csv" } }),
      "error path_outside evaluator.expected.path: gold file ../gold.csv is outside of the suite's folder",
    ],
    [
      "windows",
      {
        config: [
          { type: "launch", parameters: {} },
          { type: "open", parameters: { path: "/home/user/in.csv" } },
        ],
      },
      "warning screen_passed_over config[0].type: launch, open: needs a screen, and is skipped without one",
    ],
    [
      "a getter that needs a browser",
      evaluator({ result: { type: "active_tab_info" } }),
      "warning needs_screen evaluator.result.type: active_tab_info: needs a screen",
    ],
    [
      "a server",
      { config: [{ type: "airbyte_webui_init", parameters: {} }] },
      "warning needs_server config[0].type: airbyte_webui_init: needs a server",
    ],
  ])("reports %s", (_, changes, finding) => {
    expect(findingsIn(spiderPair(changes))).toEqual([finding]);
  });

  it("reports a function that needs an account if the task does not have the tag", () => {
    const config = [{ type: "snowflake_init", parameters: {} }];
    expect(findingsIn(spiderPair({ config }))).toEqual([
      "warning tag_account_missing tags: the tag account is missing: snowflake_init needs " +
        "account settings, which only tasks with the tag get",
      "warning needs_account config[0].type: snowflake_init: needs an account",
    ]);
  });
});

describe("checkSuite on ids and counterparts", () => {
  it("reports an id and a file name that differ from the folder", () => {
    const files = flowbookPair({});
    const moved = {
      ...files,
      "examples/excel/c/d.json": flowbookTask("e", "a", { config: [], evaluation: null, counterpart: null }),
    };
    expect(findingsIn(moved).slice(0, 2)).toEqual([
      "error id_differs id: is e, but the task's folder is c",
      "error file_name_differs : is in d.json, expected c.json",
    ]);
  });

  it("reports an id that two tools share", () => {
    const files = { ...flowbookPair({}), ...taskFiles("jupyter", flowbookTask("a", "b")) };
    expect(findingsIn(files)).toEqual(["error id_duplicate id: is also the id of examples/excel/a/a.json"]);
  });

  it("reports counterparts that are missing, equal the task itself, or do not refer back", () => {
    const files = Object.assign(
      {},
      ...[
        ["a", "a"],
        ["b", "a"],
        ["c", "b"],
        ["d", "z"],
      ].map(([id = "", counterpart = ""]) =>
        taskFiles(
          "excel",
          flowbookTask(id, counterpart, { tags: ["cli", id < "b" ? "abstract" : "verbose", "data_warehousing"] }),
        ),
      ),
    );
    expect(findingsIn(files).filter((line) => line.startsWith("error"))).toEqual([
      "error counterpart_self counterpart: is the task itself; probably b is meant, which refers to this task",
      "error counterpart_not_mutual counterpart: a does not refer back: its counterpart is itself",
      "error counterpart_not_mutual counterpart: b does not refer back: its counterpart is a",
      "error counterpart_missing counterpart: z is not in the suite",
    ]);
  });
});

describe("checkSuite on index files", () => {
  it("reports tasks that are not in the suite, and ignores other files", () => {
    const files = {
      ...flowbookPair({}),
      "test_one.json": { excel: ["a", "c"], jupyter: ["a"] },
      "template.json": { id: "x", tags: ["cli"] },
      "notes.json": "no JSON",
    };
    expect(findingsIn(files)).toEqual([
      "error index_task_unknown excel: c is not in examples/excel",
      "error index_task_unknown jupyter: a is not in examples/jupyter",
    ]);
  });
});

describe("checkSuite on files", () => {
  it("does not follow links", () => {
    const folder = writeSuite(flowbookPair({}));
    const gold = join(folder, "examples/excel/a/gold.csv");
    rmSync(gold);
    symlinkSync("/etc/passwd", gold);
    expect(checkSuite(readSuite(openSuiteFolder(folder)))).toEqual([
      {
        level: "error",
        code: "file_is_link",
        task: "a",
        file: "examples/excel/a/a.json",
        field: "evaluation.arguments.local_expected",
        message: "gold file gold.csv is reached through a link, which is not followed",
      },
    ]);
  });
});

describe("checkSuite on account settings", () => {
  const TAGS = ["cli", "account", "abstract", "data_warehousing"];
  const naming = (path: string, field = "settings_file") => ({
    ...spiderPair({ tags: TAGS, config: [{ type: "snowflake_init", parameters: { [field]: path } }] }),
  });
  const settingsFindings = (files: Record<string, unknown>) =>
    checkSuite(readSuite(openSuiteFolder(writeSuite(files))))
      .filter(({ code }) => code !== "needs_account")
      .map(({ level, file, field, message }) => `${level} ${file} ${field}: ${message}`);

  it.each(["settings_file", "setting_file", "config_file"])("reports a template that was not copied (%s)", (field) => {
    const files = { ...naming("settings/s.json", field), "settings/s.json.template": "{}" };
    expect(settingsFindings(files)).toEqual([
      "warning settings/s.json : is not filled in: copy the template without its ending .template, " +
        "and fill it in (1 task needs it)",
    ]);
  });

  it("does not follow links to templates", () => {
    const folder = writeSuite({ ...spiderPair({}), "settings/readme.txt": "x" });
    symlinkSync("..", join(folder, "settings/up"));
    expect(checkSuite(readSuite(openSuiteFolder(folder)))).toEqual([]);
  });

  it("reports a template that no task uses", () => {
    const files = { ...spiderPair({}), "settings/other.json.template": "{}" };
    expect(settingsFindings(files)[0]).toMatch(/^warning settings\/other\.json .*\(no task uses it\)$/);
  });

  it("reports a copy that is not filled in, and does not show its values", () => {
    const settings = '{"user": "USER_NAME", // yours\n "password": "s3cret", "host": "xxxxx.com"}';
    expect(settingsFindings({ ...naming("settings/s.json"), "settings/s.json": settings })).toEqual([
      "warning settings/s.json user, host: is not filled in: these fields have the template's values (1 task needs it)",
    ]);
  });

  it("reports missing settings, and nothing if they are filled in", () => {
    expect(settingsFindings(naming("settings/s.json"))).toEqual([
      "warning settings/s.json : is missing, and has no template (1 task needs it)",
    ]);
    expect(settingsFindings({ ...naming("settings/s.json"), "settings/s.json": '{"user": "ida"}' })).toEqual([]);
  });

  it("checks nothing outside the suite", () => {
    expect(settingsFindings(naming("../../../etc/hostname"))).toEqual([
      "error examples/excel/a/a.json config[0].parameters.settings_file: " +
        "settings file ../../../etc/hostname is outside of the suite's folder, or is reached through a link",
    ]);
  });
});
