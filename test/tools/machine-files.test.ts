import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/platform/json.js";
import type { TaskMachine } from "../../src/sandbox/task-machine.js";
import { openWorkspace } from "../../src/sandbox/workspace.js";
import { FolderMachine } from "../../src/suites/machines/folder-machine.js";
import { resultValue } from "../../src/tools/tool.js";
import { needs } from "../machine-requirements.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { callTool, startSandboxed } from "./machines.js";

const sandboxed = await startSandboxed();

const root = mkdtempSync(join(tmpdir(), "art-e-tools-"));
const folder = new FolderMachine(root);
let empty: TestDb;
beforeAll(() => {
  empty = openEmpty();
});
afterAll(async () => {
  empty.close();
  rmSync(root, { recursive: true });
  await sandboxed?.close();
});

const MACHINES = [
  ["a folder", needs("linux"), folder],
  ["a sandbox", needs("sandbox", sandboxed !== null), sandboxed],
] as const;

describe.each(MACHINES)("file tools in %s", (_, options, machine) => {
  describe("with files", options, () => {
    const call = (id: string, args: JsonValue) => callTool(empty, machine as TaskMachine, id, args);

    test("read a written file by its absolute path and from the home folder", async () => {
      expect(await call("write_file", { path: "Desktop/notes/a.txt", content: "größe\nsecond\n" })).toEqual({
        ok: true,
        value: { path: "Desktop/notes/a.txt", bytes: 15 },
      });
      for (const path of [
        "/home/user/Desktop/notes/a.txt",
        "~/Desktop/notes/a.txt",
        "./Desktop/notes/../notes/a.txt",
      ]) {
        expect(await call("read_file", { path, offset: 2 })).toEqual({
          ok: true,
          value: { path, content: "2\tsecond", first_line: 2, last_line: 2, total_lines: 2, next_offset: null },
        });
      }
      expect(await call("read_file", { path: "Desktop/notes/a.txt", offset: 3 })).toMatchObject({
        kind: "bad_arguments",
      });
    });

    test("replace an existing file completely", async () => {
      await call("write_file", { path: "replaced", content: "a long first text" });
      await call("write_file", { path: "replaced", content: "short" });
      expect(await call("read_file", { path: "replaced" })).toMatchObject({ value: { content: "1\tshort" } });
    });

    test.each([
      ["missing", { path: "Desktop/none" }, "is not a regular file"],
      ["is a folder", { path: "/home/user" }, "is not a regular file"],
      ["contains a NUL", { path: "a\0b" }, "NUL"],
    ])("reject a path that %s in a way that lets the model continue", async (_, args, why) => {
      await call("write_file", { path: "there", content: "" });
      expect(await call("read_file", args)).toEqual({
        ok: false,
        kind: "bad_arguments",
        error: expect.stringContaining(why),
      });
    });
  });
});

test("does not follow links in a folder that acts as a machine", async () => {
  const secret = join(root, "secret");
  writeFileSync(secret, "secret");
  await callTool(empty, folder, "write_file", { path: "here", content: "" });
  symlinkSync(secret, join(root, "home/user/link"));
  expect(await callTool(empty, folder, "read_file", { path: "link" })).toMatchObject({ ok: false });
  await callTool(empty, folder, "write_file", { path: "link", content: "changed" });
  expect(readFileSync(secret, "utf8")).toBe("secret");
});

test.each([
  [16_777_216, "is a binary file of 16777216 bytes, not UTF-8 text."],
  [16_777_217, "is too large: 16777217 bytes."],
])("names the size of a file that it cannot read (%d bytes)", async (size, why) => {
  await callTool(empty, folder, "write_file", { path: "large", content: "" });
  truncateSync(join(root, "home/user/large"), size);
  const result = await callTool(empty, folder, "read_file", { path: "large" });
  expect(result).toEqual({ ok: false, kind: "bad_arguments", error: `large ${why}` });
});

test("cannot list the files of a folder that acts as a machine, and the error says so", async () => {
  expect(await callTool(empty, folder, "list_files", {})).toEqual({
    ok: false,
    kind: "bad_arguments",
    error: expect.stringContaining("only contains files"),
  });
});

test("prefers a machine, if there is one, to the task's workspace", async () => {
  const workspace = openWorkspace();
  await callTool(empty, folder, "write_file", { path: "mine", content: "x" }, { workspace });
  const names = await workspace.use(async ({ files }) => existsSync(join(files, "mine")));
  await workspace.close();
  expect(names).toBe(false);
});

test.each(["run_shell", "run_notebook"])("%s reports if the machine is missing or has only files", async (id) => {
  const args = id === "run_shell" ? { command: "true" } : { path: "a.ipynb" };
  expect(await callTool(empty, undefined, id, args)).toEqual({
    ok: false,
    kind: "failed",
    error: expect.stringContaining("requires a machine"),
  });
  expect(await callTool(empty, folder, id, args)).toMatchObject({
    error: expect.stringContaining("only contains files"),
  });
});

test("execute_python reports that the machine has only files", async () => {
  expect(await callTool(empty, folder, "execute_python", { code: "1" })).toMatchObject({
    error: expect.stringContaining("only contains files"),
  });
});

describe("file tools in a sandbox", needs("sandbox", sandboxed !== null), () => {
  const call = (id: string, args: JsonValue) => callTool(empty, sandboxed ?? undefined, id, args);
  const shell = (command: string) => call("run_shell", { command });

  test("list the files in the requested folder, except hidden ones", async () => {
    await shell("mkdir -p list/sub list/.hidden; echo abc > list/sub/a; echo > list/.hidden/b; ln -s /etc list/link");
    expect(await call("list_files", { path: "list" })).toEqual({
      ok: true,
      value: {
        folder: "/home/user/list",
        files: [
          { path: ".hidden", type: "folder", size: 0 },
          { path: "link", type: "link", size: 0 },
          { path: "sub", type: "folder", size: 0 },
          { path: "sub/a", type: "file", size: 4 },
        ],
        total: 4,
      },
    });
  });

  test("list files above deeply nested ones", async () => {
    await shell("mkdir -p many/a many/z; cd many/a; touch $(seq 300); touch ../z/last; touch ../top");
    const result = await call("list_files", { path: "many" });
    if (!result.ok) throw new Error(result.error);
    const { files, total } = resultValue(result) as { files: { path: string }[]; total: number };
    expect(files.length).toBe(200);
    expect(total).toBe(304);
    expect(files.map(({ path }) => path)).toEqual(expect.arrayContaining(["a", "top", "z"]));
  });

  test.each([
    ["list_files", { path: "none" }, "does not exist"],
    ["list_files", { path: "/etc/passwd" }, "not a folder"],
    ["write_file", { path: "Desktop", content: "" }, "is a folder"],
    ["read_file", { path: "/etc/shadow" }, "is not a regular file"],
    ["read_file", { path: "linked/passwd" }, "link"],
    ["read_file", { path: "binary" }, "binary"],
  ])("reject %s %j with the reason", async (id, args, why) => {
    await shell("ln -sfn /etc linked; printf '\\0' > binary");
    expect(await call(id, args)).toEqual({ ok: false, kind: "bad_arguments", error: expect.stringContaining(why) });
  });

  test("return an error for an unwritable path, and the machine continues", async () => {
    expect(await call("write_file", { path: "/usr/new", content: "" })).toMatchObject({ ok: false, kind: "failed" });
    expect(await shell("echo on")).toMatchObject({ value: { stdout: "on\n" } });
  });

  test("keep an executable file executable when rewriting it", async () => {
    await shell("echo 'echo old' > tool.sh; chmod +x tool.sh");
    await call("write_file", { path: "tool.sh", content: "echo new\n" });
    expect(await shell("./tool.sh")).toMatchObject({ value: { stdout: "new\n", exit_code: 0 } });
  });
});
