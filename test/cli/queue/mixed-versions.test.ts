import { copyFileSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { programVersion, readManifest } from "../../../src/platform/program-files.js";
import { PROTOCOL } from "../../../src/queue/protocol/shared-state.js";
import { needs } from "../../machine-requirements.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { BIN, MAIL, QUESTIONS, ROOT, type Started, startProgram, workFolder } from "../art-e.js";

/** Workers and runs of an earlier installation and of this one, over one queue. */

const { path, readJson } = workFolder({ mail: MAIL });

const VERSIONS = { earlier: "0.0.9", own: programVersion() };
type Version = keyof typeof VERSIONS;

describe("two versions over one queue", needs("redis"), () => {
  let redis: RedisServer;
  const all: Started[] = [];

  /** Starts a program of this installation, or of its copy with an earlier version in package.json. */
  const start = (version: Version, line: string) => {
    const bin = version === "own" ? BIN : path("earlier/bin/art-e.js");
    const variables = { ART_E_QUEUE_URL: redis.url };
    const started = startProgram(path("."), process.execPath, [bin, ...line.split(" ")], variables);
    all.push(started);
    let text = "";
    started.child.stderr?.on("data", (more: string) => {
      text += more;
    });
    return { ...started, said: () => text };
  };

  beforeAll(async () => {
    mkdirSync(path("earlier"));
    for (const part of ["bin", "dist", "sql", "schema"]) {
      cpSync(join(ROOT, part), path(`earlier/${part}`), { recursive: true });
    }
    symlinkSync(join(ROOT, "node_modules"), path("earlier/node_modules"));
    writeFileSync(path("earlier/package.json"), JSON.stringify({ ...readManifest(), version: VERSIONS.earlier }));
    redis = await startRedis();
  });
  afterAll(async () => {
    for (const { child } of all) child.kill("SIGKILL");
    await Promise.all(all.map(({ ended }) => ended));
    await redis?.close();
  });

  const LEAVES = "leaves a run of the %s version to workers of that version, and says why";
  it.each<[Version, Version]>([["earlier", "own"]])(LEAVES, leavesRun);
  // The other direction: refused-runs.test.ts tests a worker that sees a run of a later version.
  it.each<[Version, Version]>([["own", "earlier"]])(LEAVES, { tags: ["slow"] }, leavesRun);

  async function leavesRun(version: Version, other: Version): Promise<void> {
    for (const name of ["run", other, version]) copyFileSync(path("art-e.db"), path(`${name}.db`));
    const questions = `--dataset ${QUESTIONS} -l 5 --no-progress --db run.db -o ${version}.json`;
    const run = start(version, `run -a baseline --model-id offline/baseline ${questions}`);
    const refusing = start(other, `worker --db ${other}.db --name refusing`);
    const why = `it was started by art-e ${VERSIONS[version]} (queue protocol ${PROTOCOL}), and this is art-e ${VERSIONS[other]} (${PROTOCOL})`;
    await expect.poll(run.said).toContain(`worker refusing is not working on this run: ${why}`);
    expect(refusing.said()).toContain(`is left to other workers: ${why}.`);

    const answering = start(version, `worker --db ${version}.db --name answering`);
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(readJson(`${version}.json`)).toMatchObject({ status: "completed", completedTasks: 5, failedTasks: 0 });
    expect(refusing.said()).not.toContain("is working on run");
    for (const { child, ended } of [refusing, answering]) {
      child.kill("SIGTERM");
      expect(await ended).toMatchObject({ code: 0 });
    }
  }
});
