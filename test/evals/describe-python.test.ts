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
])("describePython describes code %# without running it", (code, described) => {
  expect(describePython(code)).toEqual(described);
});
