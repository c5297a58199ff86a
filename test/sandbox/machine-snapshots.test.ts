import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { UserError } from "../../src/platform/errors.js";
import { checkSnapshots, readSnapshots, type Snapshot, snapshotOf } from "../../src/sandbox/machine-snapshots.js";
import { needs } from "../machine-requirements.js";
import { BASE, machinesStart, openMachine, shell } from "./machines.js";

/** Contents of machines with a snapshot, and reports of missing programs. */

const snapshot = (changes: Partial<Snapshot>): Snapshot => ({
  ...BASE,
  name: "test",
  commands: {},
  modules: {},
  shims: {},
  ...changes,
});

describe("readSnapshots", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "art-e-snapshots-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (content: unknown) =>
    writeFileSync(join(folder, "snapshots.json"), typeof content === "string" ? content : JSON.stringify(content));

  test("returns the built-in snapshots if a suite has none", async () => {
    const snapshots = await readSnapshots(folder);
    expect([...snapshots.keys()]).toEqual([...(await readSnapshots(null)).keys()]);
    expect([...snapshots.keys()]).toEqual(
      expect.arrayContaining(["jupyter", "excel", "dbt", "airbyte", "airflow", "bigquery", "dagster", "metabase"]),
    );
    const jupyter = snapshotOf("jupyter", snapshots);
    expect(jupyter.commands).toMatchObject({ bash: "bash", jupyter: "jupyter-core" });
    expect(Object.keys(jupyter.shims)).toEqual(expect.arrayContaining(["python", "uv", "code", "gnome-terminal"]));
    expect(snapshotOf("airbyte", snapshots).unavailable).toContain("containers");
  });

  test.each([
    "airflow",
    "dagster",
    "snowflake",
    "duckdb",
    "bigquery",
    "jupyter",
    "dbt",
    "mysql",
    "servicenow",
    "terminal",
    "metabase",
    "airbyte",
    "docker",
    "hasura_cloud",
    "sqlite3",
    "vscode",
    "chromium",
    "postgresql",
    "superset",
    "dbt_cloud",
    "excel",
  ])("has a snapshot for %s that can start or says why not", async (app) => {
    const { commands, unavailable } = snapshotOf(app, await readSnapshots(null));
    if (unavailable === null) expect(commands).toMatchObject({ bash: "bash", python3: "python3" });
    else expect(unavailable).toMatch(/containers|server|Docker/);
  });

  test("notes the parts of an application that a snapshot does not have", async () => {
    const snapshots = await readSnapshots(null);
    expect(snapshotOf("vscode", snapshots).note).toContain("The editor does not open.");
    expect(snapshotOf("jupyter", snapshots).note).toBeNull();
  });

  test("adds to and replaces the built-in snapshots", async () => {
    write({
      jupyter: { extends: "jupyter", modules: { polars: null }, env: { A: "b" } },
      excel: { commands: { soffice: "libreoffice-calc" } },
      mine: { extends: "jupyter", shims: { code: "exit 3" }, folders: ["/home/user/x"] },
    });
    const snapshots = await readSnapshots(folder);
    const jupyter = snapshotOf("jupyter", snapshots);
    expect(jupyter.modules).toMatchObject({ pandas: "python3-pandas", polars: null });
    expect(snapshotOf("excel", snapshots)).toMatchObject({
      commands: { soffice: "libreoffice-calc" },
      modules: {},
    });
    const mine = snapshotOf("mine", snapshots);
    expect(mine).toMatchObject({ name: "mine", env: { A: "b" }, folders: ["/home/user/x"] });
    expect([mine.shims.code, mine.shims.uv]).toEqual(["exit 3", "exit 0"]);
  });

  test.each([
    ["invalid JSON", "{", "is not JSON"],
    ["an unknown field", { a: { command: {} } }, "command"],
    ["a private folder", { a: { readOnly: ["/root/.ssh"] } }, "must be below"],
    ["a folder whose path contains ..", { a: { readOnly: ["/opt/../root"] } }, "without . and .."],
    ["the entire /opt folder", { a: { readOnly: ["/opt"] } }, "must be below"],
    ["a file outside of the writable folders", { a: { files: { "/etc/passwd": "" } } }, "must be below"],
    ["a shim that is a path", { a: { shims: { "../../x": "" } } }, "must be a program name"],
    ["a package whose name is an option", { a: { commands: { x: "-o=Dpkg::Pre-Invoke::=id" } } }, "Debian package"],
    ["a snapshot that extends an unknown one", { a: { extends: "b" } }, 'extends the unknown snapshot "b"'],
    ["a snapshot that extends itself", { a: { extends: "b" }, b: { extends: "a" } }, "extends itself"],
  ])("rejects %s", async (_, content, why) => {
    write(content);
    const error = await readSnapshots(folder).catch((reason) => reason);
    expect(error).toBeInstanceOf(UserError);
    expect(error.message).toContain(why);
    expect(error.message).toContain(join(folder, "snapshots.json"));
    expect(error.message).not.toContain("\n");
  });

  test("does not follow a link", async () => {
    writeFileSync(join(folder, "other.json"), "{}");
    symlinkSync("other.json", join(folder, "snapshots.json"));
    await expect(readSnapshots(folder)).rejects.toThrow("is a link");
  });

  test("lists the available snapshots if a task's snapshot is unknown", async () => {
    const snapshots = await readSnapshots(null);
    expect(() => snapshotOf("jupiter", snapshots)).toThrow(/Unknown snapshot "jupiter"\. Available: .*\bjupyter\b/);
    expect(() => snapshotOf("constructor", snapshots)).toThrow("Unknown snapshot");
  });
});

describe("checkSnapshots", () => {
  test("reports the ready snapshots, the missing programs, and the command that installs them", async () => {
    const status = await checkSnapshots([
      snapshot({ name: "there", commands: { sh: "dash", ls: null }, modules: { json: "python3", os: null } }),
      snapshot({
        name: "absent",
        commands: { sh: "dash", "no-such-program": "some-package", "art-e-other": "a-package" },
        modules: { no_such_module: "python3-none", json: "python3" },
      }),
      snapshot({ name: "by hand", commands: { "art-e-none": null }, modules: { no_such_module: "python3-none" } }),
      snapshot({ name: "shim", commands: { "no-such-tool": "x" }, shims: { "no-such-tool": "exit 0" } }),
      snapshot({ name: "never", commands: { "art-e-never": "never" }, unavailable: "needs an account" }),
    ]);
    expect(status.snapshots).toEqual([
      { name: "there", ready: true, why: null, missing: [] },
      {
        name: "absent",
        ready: false,
        why: "missing: no-such-program, art-e-other, no_such_module",
        missing: ["no-such-program", "art-e-other", "no_such_module"],
      },
      {
        name: "by hand",
        ready: false,
        why: "missing: art-e-none, no_such_module",
        missing: ["art-e-none", "no_such_module"],
      },
      { name: "shim", ready: true, why: null, missing: [] },
      { name: "never", ready: false, why: "needs an account", missing: [] },
    ]);
    expect(status.install).toBe("apt-get install --no-install-recommends a-package python3-none some-package");
    expect(status.withoutPackage).toEqual(["art-e-none"]);
  });

  test("reports nothing to install if all snapshots are ready", async () => {
    expect(await checkSnapshots([snapshot({ commands: { sh: "dash" } })])).toMatchObject({
      install: null,
      withoutPackage: [],
    });
  });

  test("finds programs and modules in the folders that a snapshot shows", async () => {
    const folder = mkdtempSync(join(tmpdir(), "art-e-tools-"));
    try {
      writeFileSync(join(folder, "no-such-tool"), "#!/bin/sh\n", { mode: 0o755 });
      writeFileSync(join(folder, "no_such_module.py"), "");
      const wanted = { commands: { "no-such-tool": null }, modules: { no_such_module: null } };
      const env = { PATH: `${folder}:/usr/bin`, PYTHONPATH: folder };
      const { snapshots } = await checkSnapshots([snapshot(wanted), snapshot({ ...wanted, env })]);
      expect(snapshots.map(({ ready }) => ready)).toEqual([false, true]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("a machine that uses a snapshot", needs("sandbox", machinesStart), () => {
  test("has the snapshot's shims first on the path, its files, folders and variables, and the setup's files", async () => {
    const machine = await openMachine({
      snapshot: {
        shims: { ...BASE.shims, code: 'echo "code $*"', ls: "echo shim" },
        files: { "/home/user/a/b.txt": "content ü\n", "/mnt/container/c": "" },
        folders: ["/home/user/f/g"],
        env: { EXTRA: "1" },
        setUp: [["bash", "-c", "echo set up by $USER > made"]],
      },
    });
    try {
      const { stdout } = await shell(machine, "code a b; ls; cat a/b.txt made; test -d f/g && echo $EXTRA; python -V");
      expect(stdout).toMatch(/^code a b\nshim\ncontent ü\nset up by user\n1\nPython 3/);
    } finally {
      await machine.close();
    }
  });

  test("reports a failed setup command, and leaves nothing", async () => {
    const setUp = [["bash", "-c", "echo why not >&2; exit 3"]];
    await expect(openMachine({ snapshot: { setUp } })).rejects.toThrow(
      "cannot set up the machine: bash -c echo why not >&2; exit 3 (exit code 3): why not",
    );
  });

  test("has, for jupyter, a venv and the conda commands that tasks call", async () => {
    const { files, shims, setUp } = snapshotOf("jupyter", await readSnapshots(null));
    const machine = await openMachine({ snapshot: { files, shims, setUp } });
    try {
      const script = `source ~/anaconda3/etc/profile.d/conda.sh && conda activate jupyter && echo $CONDA_DEFAULT_ENV
        source ~/Desktop/.action-env/bin/activate && which python && uv pip install x && gnome-terminal -- x && echo ok`;
      expect(await shell(machine, script)).toEqual({
        exitCode: 0,
        stdout: "jupyter\n/home/user/Desktop/.action-env/bin/python\nok\n",
        stderr: "",
      });
    } finally {
      await machine.close();
    }
  });
});
