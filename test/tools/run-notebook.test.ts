import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/platform/json.js";
import { resultValue } from "../../src/tools/tool.js";
import { needs } from "../machine-requirements.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { callTool, hasNotebooks, startSandboxed } from "./machines.js";

const sandboxed = await startSandboxed();
const folder = mkdtempSync(join(tmpdir(), "art-e-notebooks-"));
let empty: TestDb;
beforeAll(() => {
  empty = openEmpty();
});
afterAll(async () => {
  empty.close();
  rmSync(folder, { recursive: true });
  await sandboxed?.close();
});

const call = (id: string, args: JsonValue) => callTool(empty, sandboxed ?? undefined, id, args);

type Source = string | { readonly markdown: string };

interface Notebook {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly cells: readonly { metadata: object; outputs?: object[]; execution_count?: number | null }[];
}

async function writeNotebook(path: string, sources: readonly Source[], kernel = "python3"): Promise<void> {
  const cells = sources.map((source) =>
    typeof source === "string"
      ? { cell_type: "code", source, metadata: {}, outputs: [], execution_count: null }
      : { cell_type: "markdown", source: source.markdown, metadata: {} },
  );
  const metadata = { kernelspec: { name: kernel, display_name: kernel, language: "python" } };
  const notebook = { cells, metadata, nbformat: 4, nbformat_minor: 4 };
  await call("write_file", { path, content: JSON.stringify(notebook) });
}

async function savedNotebook(path: string): Promise<Notebook> {
  const copy = join(folder, "saved.ipynb");
  await sandboxed?.copyOut(`/home/user/${path}`, copy);
  return JSON.parse(readFileSync(copy, "utf8")) as Notebook;
}

describe("run_notebook", needs("notebooks", await hasNotebooks(sandboxed)), () => {
  test("runs every cell in the notebook's folder, and saves the notebook with its outputs", async () => {
    await writeNotebook("work/a.ipynb", [
      { markdown: "# Sums" },
      "import os\nprint(os.getcwd())",
      "open('made', 'w').write('x')\n6 * 7",
      "",
    ]);
    expect(await call("run_notebook", { path: "work/a.ipynb" })).toEqual({
      ok: true,
      value: {
        path: "work/a.ipynb",
        kernel: "python3",
        cells: 4,
        code_cells: 3,
        outputs: [
          { cell: 1, execution_count: 1, text: "/home/user/work\n", pictures: [], error: null },
          { cell: 2, execution_count: 2, text: "42\n", pictures: [], error: null },
        ],
        seconds: expect.any(Number),
        stopped: null,
        saved: true,
      },
    });
    const { cells, metadata } = await savedNotebook("work/a.ipynb");
    expect(cells.map((cell) => cell.execution_count)).toEqual([undefined, 1, 2, null]);
    expect(cells[2]?.outputs).toEqual([
      { output_type: "execute_result", data: { "text/plain": ["42"] }, execution_count: 2, metadata: {} },
    ]);
    expect(cells.map((cell) => cell.metadata)).toEqual([{}, {}, {}, {}]);
    expect(metadata).toMatchObject({ kernelspec: { name: "python3" } });
    expect(await call("run_shell", { command: "ls work" })).toMatchObject({ value: { stdout: "a.ipynb\nmade\n" } });
  });

  test("reports the failed cell and its error, and saves the output up to there", async () => {
    await writeNotebook("fails.ipynb", ["print('before')", "1 / 0", "print('after')"]);
    const result = await call("run_notebook", { path: "fails.ipynb" });
    expect(result).toMatchObject({
      value: {
        saved: true,
        stopped: expect.stringContaining("Stopped at the failed cell"),
        outputs: [
          { cell: 0, text: "before\n" },
          { cell: 1, error: { name: "ZeroDivisionError", message: "division by zero" } },
        ],
      },
    });
    // Without color escapes.
    expect(JSON.stringify(result)).not.toContain("\\u001b");
    const { cells } = await savedNotebook("fails.ipynb");
    expect(cells.map(({ outputs }) => outputs?.length)).toEqual([1, 1, 0]);
  });

  test("continues after a failed cell on request", async () => {
    await writeNotebook("goes-on.ipynb", ["1 / 0", "print('after')"]);
    expect(await call("run_notebook", { path: "goes-on.ipynb", continue_on_error: true })).toMatchObject({
      value: {
        stopped: null,
        outputs: [
          { cell: 0, error: { name: "ZeroDivisionError" } },
          { cell: 1, text: "after\n" },
        ],
      },
    });
  });

  test("stops a cell that takes too long, and survives a cell that ends the kernel", async () => {
    await writeNotebook("slow.ipynb", ["print('begun', flush=True)", "import time\ntime.sleep(300)"]);
    expect(await call("run_notebook", { path: "slow.ipynb", timeout_seconds: 5 })).toMatchObject({
      value: {
        saved: true,
        stopped: expect.stringContaining("after 5 seconds"),
        outputs: expect.arrayContaining([expect.objectContaining({ text: "begun\n" })]),
      },
    });
    await writeNotebook("dies.ipynb", ["print('begun', flush=True)", "import os\nos._exit(1)"]);
    expect(await call("run_notebook", { path: "dies.ipynb" })).toMatchObject({
      value: { saved: true, stopped: expect.stringContaining("kernel exited") },
    });
  }, 120_000);

  test("uses Python if the notebook's kernel is not installed, and lists pictures but does not show them", async () => {
    const show =
      "from IPython.display import display\ndisplay({'image/png': 'aGk=', 'text/plain': '<Figure>'}, raw=True)\nprint('x' * 50_000)";
    await writeNotebook("picture.ipynb", [show], "conda-of-somebody");
    const result = await call("run_notebook", { path: "picture.ipynb" });
    if (!result.ok) throw new Error(result.error);
    const { kernel, outputs } = resultValue(result) as unknown as {
      kernel: string;
      outputs: { text: string; pictures: string[] }[];
    };
    expect(kernel).toBe("python3");
    expect(outputs[0]?.pictures).toEqual(["image/png"]);
    expect(outputs[0]?.text).toMatch(/^<Figure>\nx+\n… \(\d+ characters omitted\) …\nx+\n$/);
    expect(await savedNotebook("picture.ipynb")).toMatchObject({
      metadata: { kernelspec: { name: "conda-of-somebody" } },
    });
  });

  test.each([
    ["nothing.ipynb", "does not exist"],
    ["broken.ipynb", "is not a readable notebook"],
  ])("rejects %s with the reason", async (path, why) => {
    await call("write_file", { path: "broken.ipynb", content: "{" });
    expect(await call("run_notebook", { path })).toEqual({
      ok: false,
      kind: "failed",
      error: expect.stringContaining(why),
    });
  });
});

describe("run_notebook without its packages", needs("sandbox", sandboxed !== null), () => {
  test("names the missing package on a machine without nbclient", async () => {
    await call("write_file", { path: "a.ipynb", content: "{}" });
    const python = `#!/bin/sh\nunset PYTHONPATH\nexec /usr/bin/python3 -S "$@"\n`;
    await call("write_file", { path: ".local/bin/python3", content: python });
    await call("run_shell", { command: "chmod +x .local/bin/python3" });
    const refused = await call("run_notebook", { path: "a.ipynb" });
    await call("run_shell", { command: "rm -r .local/bin" });
    expect(refused).toEqual({
      ok: false,
      kind: "failed",
      error: expect.stringContaining("does not have the module nbformat"),
    });
  });
});
