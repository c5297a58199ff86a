import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { AppContext } from "../../src/platform/app-context.js";
import type { OpenedMachine, TaskMachines } from "../../src/sandbox/task-machine.js";
import { folderMachines } from "../../src/suites/machines/folder-machine.js";
import { openSuiteFolder } from "../../src/suites/suite-folder.js";
import { collectFinalState, notebookPictures, pngSize } from "../../src/suites/task/collected-images.js";
import { findSandboxedMachines } from "../../src/suites/task/open-task.js";
import { finalStateSchema } from "../../src/tasks/suite-task.js";
import { needs } from "../machine-requirements.js";
import { machinesStart } from "./machines-start.js";
import { noisyPng } from "./png.js";
import { DEMO_SUITE } from "./write-suite.js";

const signal = new AbortController().signal;
const SMALL = noisyPng(8, 6);
const picture = (path: string, cell: number | null = null) => ({
  path: `/home/user/${path}`,
  cell,
  width: 8,
  height: 6,
  data: SMALL.toString("base64"),
});

const notebook = (...outputs: readonly unknown[]) =>
  JSON.stringify({
    nbformat: 4,
    cells: [
      { cell_type: "markdown", source: "# Boats" },
      { cell_type: "code", source: "plot()", outputs },
    ],
  });
const shown = (png: unknown) => ({ output_type: "display_data", data: { "image/png": png, "text/plain": "<Figure>" } });

describe("collectFinalState", needs("sandbox", machinesStart), () => {
  let machines: TaskMachines;
  let folder: string;
  beforeAll(async () => {
    const context = { settings: { db: "/nowhere/art-e.db" } } as unknown as AppContext;
    machines = await findSandboxedMachines(openSuiteFolder(DEMO_SUITE), context);
    folder = mkdtempSync(join(tmpdir(), "art-e-test-left-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function opened(): Promise<OpenedMachine> {
    const machine = await machines.open("base", signal);
    onTestFinished(() => machine.close());
    return machine;
  }
  async function put(machine: OpenedMachine, path: string, content: string | Buffer): Promise<void> {
    writeFileSync(join(folder, "file"), content);
    await machine.copyIn(join(folder, "file"), `/home/user/${path}`);
  }
  const run = (machine: OpenedMachine, command: string) =>
    machine.run({ argv: ["bash", "-c", command], cwd: null, env: {}, timeoutMs: 20_000 }, signal);

  it("returns the new images in files and notebooks", async () => {
    const machine = await opened();
    await put(machine, "before.png", SMALL);
    await put(machine, "blank.png", noisyPng(3, 3));
    await put(machine, "before.ipynb", notebook(shown(SMALL.toString("base64"))));
    // The kernel's clock for files is some milliseconds behind.
    await run(machine, "sleep 0.05");
    const since = new Date();
    await run(machine, "sleep 0.05");
    await put(machine, "blank.png", SMALL);
    await put(machine, "plots/deep/Chart.PNG", SMALL);
    await put(machine, "boats.ipynb", notebook({ output_type: "stream", text: "3" }, shown(SMALL.toString("base64"))));
    await put(machine, "no-picture.png", "<html>");
    await put(machine, "broken.ipynb", "{");
    await put(machine, ".cache/hidden.png", SMALL);
    await put(machine, "env/lib/site-packages/logo.png", SMALL);
    await run(machine, "ln -s ~/blank.png link.png; ln -s /etc/passwd passwd.png; mkfifo pipe.png");
    const left = await collectFinalState(machine, since, signal);
    expect(left).toEqual({
      pictures: [picture("blank.png"), picture("boats.ipynb", 1), picture("plots/deep/Chart.PNG")],
      omitted: 0,
    });
    expect(finalStateSchema.parse(left)).toEqual(left);
  });

  it("returns at most eight images, of at most 300 KB each and 1 MB in total, and counts the others", async () => {
    const machine = await opened();
    const since = new Date(Date.now() - 1_000);
    const [huge, large] = [noisyPng(400, 400), noisyPng(290, 290)];
    expect(huge.length).toBeGreaterThan(300_000);
    expect(large.length).toBeGreaterThan(250_000);
    await put(machine, "a-huge.png", huge);
    for (const n of [1, 2, 3, 4]) await put(machine, `b-large-${n}.png`, large);
    const many = await collectFinalState(machine, since, signal);
    expect(many?.pictures.map(({ path }) => path)).toEqual([1, 2, 3].map((n) => `/home/user/b-large-${n}.png`));
    expect(many?.omitted).toBe(2);
    await run(machine, "rm *.png");
    await put(machine, "many.ipynb", notebook(...Array.from({ length: 10 }, () => shown(SMALL.toString("base64")))));
    const small = await collectFinalState(machine, since, signal);
    expect({ kept: small?.pictures.length, omitted: small?.omitted }).toEqual({ kept: 8, omitted: 2 });
  });

  it("returns null, and no error, if the agent has broken its machine", async () => {
    const machine = await opened();
    await machine.close();
    expect(await collectFinalState(machine, new Date(), signal)).toBeNull();
  });

  it("returns null if the machine is a folder", async () => {
    const machine = await folderMachines.open("base", signal);
    onTestFinished(() => machine.close());
    expect(await collectFinalState(machine, new Date(0), signal)).toBeNull();
  });
});

describe("notebookPictures", () => {
  const base64 = SMALL.toString("base64");

  it("returns images with their cells, whether stored as one string or as lines", () => {
    const text = notebook(shown(base64), shown([base64.slice(0, 20), base64.slice(20)]));
    expect(notebookPictures(text)).toEqual([
      { cell: 1, bytes: SMALL },
      { cell: 1, bytes: SMALL },
    ]);
  });

  it.each([
    ["invalid JSON", "{"],
    ["JSON of another kind", "[1]"],
    ["invalid cells", '{"cells": 3}'],
    ["invalid outputs", '{"cells": [{"outputs": {"data": 1}}]}'],
    ["data of another type", notebook(shown(7), shown({ a: 1 }), { data: null }, null)],
  ])("returns nothing for %s", (_, text) => expect(notebookPictures(text)).toEqual([]));
});

describe("pngSize", () => {
  it("reads the header", () => expect(pngSize(SMALL)).toEqual({ width: 8, height: 6 }));

  it("returns null for other files, for an empty one, and for an image that would fill the memory", () => {
    const bomb = Buffer.from(SMALL);
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    const empty = Buffer.from(SMALL);
    empty.writeUInt32BE(0, 16);
    for (const bytes of [bomb, empty, Buffer.alloc(0), SMALL.subarray(0, 20), Buffer.from("<svg/>".repeat(20))]) {
      expect(pngSize(bytes)).toBeNull();
    }
  });
});
