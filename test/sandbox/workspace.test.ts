import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WORKSPACE_LIMITS } from "../../src/sandbox/limits.js";
import {
  listEntries,
  openWorkspace,
  readText,
  type WorkspaceFolders,
  WorkspaceRefusal,
  writeText,
} from "../../src/sandbox/workspace.js";

describe("a folder for a task", () => {
  let outside = "";
  let workspace: ReturnType<typeof openWorkspace>;
  let files = "";

  beforeEach(async () => {
    outside = mkdtempSync(join(tmpdir(), "art-e-outside-"));
    writeFileSync(join(outside, "secret.txt"), "secret");
    workspace = openWorkspace();
    files = await workspace.use(async (folders) => folders.files);
  });

  afterEach(async () => {
    await workspace.close();
    expect(existsSync(files)).toBe(false);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
    rmSync(outside, { recursive: true });
  });

  const inside = <T>(work: (folders: WorkspaceFolders) => Promise<T>) => workspace.use(work);
  const read = (path: string) => inside((folders) => readText(folders, path));
  const write = (path: string, content: string) => inside((folders) => writeText(folders, path, content));
  const list = async (path = ".") => (await inside((folders) => listEntries(folders, path, 100))).entries;

  describe("a written file", () => {
    test.each([
      ["a.txt", "a.txt"],
      ["./notes//a.txt", "notes/a.txt"],
      ["/workspace/notes/a.txt", "notes/a.txt"],
      ["with space ü 日本/🙂.txt", "with space ü 日本/🙂.txt"],
      ["...", "..."],
      ["~/a", "~/a"],
      ["-rf", "-rf"],
    ])("can be read back if the path is %j", async (path, stands) => {
      expect(await write(path, "größer\n")).toBe(9);
      expect(await read(path)).toBe("größer\n");
      expect(readFileSync(join(files, stands), "utf8")).toBe("größer\n");
    });

    test("can be read back after a second, shorter text", async () => {
      await write("a", "long long long");
      await write("a", "short");
      expect(await read("a")).toBe("short");
    });

    test("can be read back if it is empty", async () => {
      expect(await write("a", "")).toBe(0);
      expect(await read("a")).toBe("");
    });
  });

  describe("a path out of the workspace", () => {
    const bad = [
      "/etc/passwd",
      "../a",
      "a/../../b",
      "/workspace/../etc/passwd",
      "..",
      "a\0b",
      "/workspacex/a",
      "//etc/passwd",
    ];
    test.each(bad)("leads to an error (%j)", async (path) => {
      await expect(read(path)).rejects.toThrow(WorkspaceRefusal);
      await expect(write(path, "x")).rejects.toThrow(WorkspaceRefusal);
      await expect(list(path)).rejects.toThrow(WorkspaceRefusal);
    });

    test("leads to an error through a symbolic link to a file", async () => {
      symlinkSync(join(outside, "secret.txt"), join(files, "link"));
      await expect(read("link")).rejects.toThrow("symbolic link");
      await expect(write("link", "changed")).rejects.toThrow("symbolic link");
      expect(await list()).toEqual([{ path: "link", type: "link", size: 0, counted: 0 }]);
    });

    test("leads to an error through a symbolic link to a parent folder", async () => {
      symlinkSync(outside, join(files, "link"));
      mkdirSync(join(files, "real"));
      symlinkSync("../link", join(files, "real", "again"));
      for (const path of ["link/secret.txt", "real/again/secret.txt", "link/new.txt", "link/deep/new.txt"]) {
        await expect(read(path)).rejects.toThrow(WorkspaceRefusal);
        await expect(write(path, "x")).rejects.toThrow(WorkspaceRefusal);
      }
      await expect(list("link")).rejects.toThrow(WorkspaceRefusal);
      expect(existsSync(join(outside, "new.txt"))).toBe(false);
      expect(existsSync(join(outside, "deep"))).toBe(false);
    });

    test("leads to an error through a link without a target", async () => {
      symlinkSync(join(outside, "made.txt"), join(files, "link"));
      await expect(write("link", "x")).rejects.toThrow("symbolic link");
      expect(existsSync(join(outside, "made.txt"))).toBe(false);
    });

    test("leads to an error through a pipe, which would block the call forever", async () => {
      execFileSync("mkfifo", [join(files, "pipe")]);
      await expect(read("pipe")).rejects.toThrow("not a regular file");
      await expect(write("pipe", "x")).rejects.toThrow("not a regular file");
      expect(await list()).toEqual([{ path: "pipe", type: "other", size: 0, counted: 0 }]);
    });
  });

  describe("unusable contents", () => {
    test("cause an error about a missing file, a folder, and a file used as a folder", async () => {
      await write("folder/a", "x");
      await expect(read("b")).rejects.toThrow("b does not exist in the workspace");
      await expect(read("folder")).rejects.toThrow("folder is not a regular file");
      await expect(write("folder", "x")).rejects.toThrow("folder is a folder");
      await expect(read("folder/a/b")).rejects.toThrow("not a folder");
      await expect(list("folder/a")).rejects.toThrow("not a folder");
      await expect(read(".")).rejects.toThrow("is a folder");
      await expect(read("a".repeat(300))).rejects.toThrow("too long");
    });

    test("cause an error about a binary file, and text that is not UTF-8", async () => {
      writeFileSync(join(files, "image"), Buffer.from([0x89, 0x50, 0, 0, 1]));
      writeFileSync(join(files, "latin1"), Buffer.from("größer", "latin1"));
      await expect(read("image")).rejects.toThrow("image is a binary file of 5 bytes");
      await expect(read("latin1")).rejects.toThrow("not UTF-8 text");
    });

    test("cause an error about files that are too large, too many bytes, too many files, and folders that are too deep", async () => {
      const most = "x".repeat(WORKSPACE_LIMITS.fileBytes);
      await expect(write("a", `${most}x`)).rejects.toThrow("too large");
      for (const name of ["a", "b", "c"]) await write(name, most);
      await write("d", most.slice(8192));
      await expect(write("e", most)).rejects.toThrow("full");
      await expect(write(`${"d/".repeat(WORKSPACE_LIMITS.depth)}a`, "x")).rejects.toThrow("too deep");
      for (let i = 0; i < WORKSPACE_LIMITS.files; i++) writeFileSync(join(files, `n${i}`), "");
      await expect(write("f", "")).rejects.toThrow(`${WORKSPACE_LIMITS.files} files`);
    });
  });

  describe("the life cycle", () => {
    test("lists everything below a folder by path", async () => {
      for (const path of ["b/c/d.txt", "a.txt", "b/e.txt"]) await write(path, "123");
      expect((await list()).map(({ path, type, size }) => [path, type, size])).toEqual([
        ["a.txt", "file", 3],
        ["b", "folder", 0],
        ["b/c", "folder", 0],
        ["b/c/d.txt", "file", 3],
        ["b/e.txt", "file", 3],
      ]);
      expect((await list("b/c")).map(({ path }) => path)).toEqual(["b/c/d.txt"]);
    });

    test("creates nothing before the first use, and rejects uses after close", async () => {
      const unused = openWorkspace();
      await unused.close();
      await expect(unused.use(async () => 1)).rejects.toThrow("closed");
    });

    test("runs one operation at a time, and closes after the last one", async () => {
      const order: string[] = [];
      const slow = inside(async ({ files: folder }) => {
        order.push("first begins");
        await new Promise((resolve) => setImmediate(resolve));
        order.push(existsSync(folder) ? "first ends" : "gone too early");
      });
      const next = inside(async () => order.push("second"));
      await Promise.all([slow, next, workspace.close()]);
      expect(order).toEqual(["first begins", "first ends", "second"]);
    });
  });
});
