import { expect, it } from "vitest";
import { describePython } from "../../src/evals/run-evals/run-python-evals.js";

it.each([
  ["def eval_function(task, task_metadata, trace, ctx):\n    return 1.0, ''", { criterion: null, usesMetadata: false }],
  [
    'import re\n\ndef eval_function(task: dict, task_metadata: dict, trace: dict, ctx) -> tuple[float, str]:\n    """\n    The answer is short.\n\n    Args:\n        task_metadata: nothing\n    """\n    return 1.0, ""',
    { criterion: "The answer is short.", usesMetadata: false },
  ],
  [
    "def eval_function(task: dict[str, int], meta: dict[str, int] = {}, trace=None, ctx=None):\n    '''Right.'''\n    return 1.0, meta['expected_output']",
    { criterion: "Right.", usesMetadata: true },
  ],
  [
    "def eval_function(\n    task,\n    task_metadata,\n    trace,\n    ctx,\n):\n    pass",
    { criterion: null, usesMetadata: false },
  ],
  ["def eval_function(trace):\n    return 1.0", null],
  ["def other(task, task_metadata, trace, ctx):\n    return 1.0, ''", null],
  ["    def eval_function(task, task_metadata, trace, ctx): pass", null],
  [
    "def eval_function(task, metadata, trace):\n    pass\n\ndef eval_function(task, metadata=(1, 2), trace={}, ctx=None):\n    return metadata",
    { criterion: null, usesMetadata: true },
  ],
])("describePython describes code %# without running it", (code, described) => {
  expect(describePython(code)).toEqual(described);
});

it.each([
  ["parameters", "def eval_function(a: ".concat(" ".repeat(90), ", b: ", " ".repeat(90), ", c: ", " ".repeat(99_000))],
  ["definitions", "def eval_function(a, b, c\n".repeat(4_000)],
  ["a docstring", `def eval_function(a, b, c, d):\n    """${"x ".repeat(50_000)}`],
])("describePython reads 100 kB in linear time: %s", (_, code) => {
  const start = performance.now();
  describePython(code);
  expect(performance.now() - start).toBeLessThan(1_000);
});
