import { expect, it } from "vitest";
import { traceText } from "../../src/reports/trace-text.js";
import { suiteTrace, withCall } from "./suite-run.js";

it("a trace of a suite's task tells the task, its commands with what they printed, and its grade", () => {
  const call = withCall(
    "execute_python",
    { code: "import csv\nprint(3)" },
    { stdout: "3\n", stderr: "slow\n", exit_code: 2, timed_out: false, truncated: false },
  );
  const pictures = [
    { path: "/home/user/a.png", cell: null, width: 96, height: 48, data: "" },
    { path: "/home/user/b.ipynb", cell: 4, width: 8, height: 6, data: "" },
  ];
  const trace = suiteTrace(0, { counterpart: "t2" }, { ...call, left: { pictures, omitted: 2 } });
  const lines = traceText(trace).split("\n");
  expect(lines.slice(1, 6)).toEqual([
    "task t1  harbour  terminal  base",
    "cli, abstract, terminal  3 actions of a person",
    "counterpart t2",
    "",
    "Task: Count the boats.",
  ]);
  expect(lines.slice(lines.indexOf("[assistant]"), lines.indexOf("[assistant]") + 12)).toEqual([
    "[assistant]",
    "  -> execute_python(code: …)",
    "     code:",
    "       import csv",
    "       print(3)",
    "",
    "[execute_python]",
    "  3",
    "  stderr:",
    "  slow",
    "  exit code 2",
    "",
  ]);
  expect(lines.slice(-4)).toEqual([
    "Answer:   Done.",
    "Grade:    0  success: compare_csv gives 0",
    "Pictures: /home/user/a.png (96 x 48), /home/user/b.ipynb cell 4 (8 x 6), 2 not kept",
    "Scores:   taskScore 0.000, taskSolved 0.000",
  ]);
});

it("one that was not graded says so", () => {
  const text = traceText(suiteTrace(null, {}, { messages: [], toolCalls: [], turns: [] }));
  expect(text).toContain("\nGrade:    not graded  unsupported: compare_csv gives 0\n");
  expect(text).not.toContain("Pictures:");
});

it.each([
  [
    "a file",
    { path: "a.txt", content: "1\tboat", first_line: 1, last_line: 1, total_lines: 3 },
    ["  1\tboat", "  (lines 1 to 1 of 3 of a.txt)"],
  ],
  ["a command without output", { stdout: "", stderr: "", exit_code: 0 }, ["  (no output)"]],
  [
    "a command that was stopped",
    { stdout: "", stderr: "", exit_code: null, stopped: "Stopped after 60 seconds." },
    ["  Stopped after 60 seconds."],
  ],
  [
    "a notebook",
    {
      path: "b.ipynb",
      outputs: [{ cell: 1, text: "7\n", error: { name: "NameError", message: "x" } }],
      stopped: "Stopped.",
    },
    ["  b.ipynb", "  cell 1:", "  7", "  NameError: x", "  Stopped."],
  ],
  ["a notebook without output", { path: "b.ipynb", outputs: [], stopped: null }, ["  b.ipynb: no output"]],
])("shows %s as such", (_, result, expected) => {
  const lines = traceText(suiteTrace(1, {}, withCall("tool", {}, result))).split("\n");
  const from = lines.indexOf("[tool]") + 1;
  expect(lines.slice(from, from + expected.length)).toEqual(expected);
});
