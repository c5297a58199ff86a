import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { importEvals } from "../../src/evals/eval-files.js";
import { chooseSandbox } from "../../src/sandbox/choose-sandbox.js";
import { openStore } from "../../src/store/open-store.js";
import { needs } from "../machine-requirements.js";

const folder = mkdtempSync(join(tmpdir(), "art-e-"));
afterAll(() => rmSync(folder, { recursive: true }));
const settings = { db: join(folder, "evals.db"), cacheDir: folder, agentStderr: null, env: {} };
openStore(settings.db, { mustExist: false }).close();
const choice = await chooseSandbox();

async function imported(code: string) {
  const path = join(folder, "checked.py");
  writeFileSync(path, code);
  const [one] = await importEvals([path], settings, new AbortController().signal);
  return { criterion: one?.stored.definition.criterion, reference: one?.stored.definition.reference };
}

const NO_CRITERION = "The check checked passes.";

describe("importEvals of a Python file", needs("sandbox", choice.ok), () => {
  it.each([
    ["no docstring", "def eval_function(task, task_metadata, trace, ctx):\n    return 1.0, ''", NO_CRITERION, false],
    [
      "annotations and a docstring that mentions the metadata",
      'import re\n\ndef eval_function(task: dict, task_metadata: dict, trace: dict, ctx) -> tuple[float, str]:\n    """\n    The answer is short.\n\n    Args:\n        task_metadata: nothing\n    """\n    return 1.0, ""',
      "The answer is short.",
      false,
    ],
    [
      "nested annotations",
      "from typing import *\ndef eval_function(task: Dict[str, Tuple[List[int], int]], task_metadata: Callable[[int, str], int], trace, ctx): return 1.0, ''",
      NO_CRITERION,
      false,
    ],
    [
      "a comment and a string that mention the metadata",
      "def eval_function(task, task_metadata, trace, ctx):\n    # no task_metadata\n    return 1.0, 'without task_metadata'",
      NO_CRITERION,
      false,
    ],
    [
      "the declaration REFERENCE",
      "REFERENCE = True\ndef eval_function(task, meta: dict = {}, trace=None, ctx=None):\n    '''Right.'''\n    return 1.0, meta['expected_output']",
      "Right.",
      true,
    ],
    [
      "a declaration in a comment and in a string",
      "# REFERENCE = True\nTEXT = '''\nREFERENCE = True\n'''\ndef eval_function(task, meta, trace, ctx):\n    return 1.0, ''",
      NO_CRITERION,
      false,
    ],
    [
      "two definitions, of which the last counts",
      "def eval_function(task, metadata, trace):\n    pass\n\ndef eval_function(a, b, /, *rest, **options):\n    'Last.'",
      "Last.",
      false,
    ],
    [
      "default values with commas and parentheses",
      "def eval_function(\n    task,\n    b=(1, ')'),\n    c={},  # why, so\n    d=None,\n    e=5,\n):\n    pass",
      NO_CRITERION,
      false,
    ],
  ])("reads the criterion and the declaration from %s", async (_, code, criterion, reference) => {
    expect(await imported(code)).toEqual({ criterion, reference });
  });

  it.each([
    [
      "one parameter",
      "def eval_function(trace):\n    return 1.0, ''",
      "eval_function with four parameters is missing.",
    ],
    ["another name", "def other(task, meta, trace, ctx):\n    return 1.0, ''", "eval_function with four parameters"],
    ["a keyword parameter", "def eval_function(a, b, c, d, *, e):\n    pass", "eval_function with four parameters"],
    [
      "a function inside another",
      "def make():\n    def eval_function(a, b, c, d): pass",
      "eval_function with four parameters is missing.",
    ],
    [
      "invalid Python",
      "def eval_function(a, b, c, d):\nreturn 1",
      "it is not valid Python: expected an indented block",
    ],
    [
      "gold answers without a declaration",
      "def eval_function(task, meta, trace, ctx):\n    return 1.0, meta['expected_output']",
      "it uses meta, which is empty without REFERENCE = True at the top level of the file.",
    ],
    [
      "a declaration that is not a boolean",
      "REFERENCE = 1\ndef eval_function(task, meta, trace, ctx): pass",
      "REFERENCE must be True or False (line 1).",
    ],
  ])("rejects a file with %s", async (_, code, message) => {
    await expect(imported(code)).rejects.toThrow(`Cannot read the eval ${join(folder, "checked.py")}: ${message}`);
  });

  it("never runs the code", async () => {
    const code = "raise SystemExit\nimport os; os._exit(3)\ndef eval_function(task, meta, trace, ctx): pass";
    expect(await imported(code)).toEqual({ criterion: NO_CRITERION, reference: false });
  });

  it.each([
    ["deep nesting", `${"(".repeat(90_000)}`],
    ["a long sum", `x = ${"-".repeat(90_000)}1\ndef eval_function(a, b, c, d): pass`],
  ])("rejects code that overflows Python's parser (%s)", async (_, code) => {
    await expect(imported(code)).rejects.toThrow(/Cannot read the eval .*: (it is not valid|Python cannot parse it)/);
  });
});
