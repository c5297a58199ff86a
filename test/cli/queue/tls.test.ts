import { spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { Workers } from "./queue-setup.js";

/** A Redis that speaks TLS (rediss://), with a certificate of its own making. */

const folder = workFolder({ mail: MAIL });
const { path, start, readJson } = folder;
const PASSWORD = "a-password-over-tls";
const canTls =
  spawnSync("sh", ["-c", "ldd $(command -v redis-server) | grep -q libssl && openssl version"]).status === 0;

describe("rediss://", needs("redis", canTls), () => {
  let redis: RedisServer;
  const workers = new Workers(folder, () => redis.url);
  /** Node's own way to trust a certificate. */
  const trusted = () => ({ ART_E_QUEUE_URL: redis.url, NODE_EXTRA_CA_CERTS: path("cert.pem") });

  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    const [cert, key] = [path("cert.pem"), path("key.pem")];
    const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
    expect(spawnSync("openssl", [...made, ...subject, "-keyout", key, "-out", cert]).status).toBe(0);
    redis = await startRedis({ password: PASSWORD, tls: { cert, key } });
    workers.start("a", "", trusted());
  });
  afterAll(async () => {
    await workers.close();
    await redis?.close();
  });

  it("carries a run", async () => {
    const line = `run -a baseline --model-id offline/baseline --dataset ${QUESTIONS} -l 5 --quiet -o over.json`;
    expect(await start(line, trusted()).ended).toMatchObject({ code: 0, stderr: "" });
    expect(readJson("over.json")).toMatchObject({ totalTasks: 5, completedTasks: 5 });
    expect(workers.named("a").said()).toContain(`takes tasks from rediss://127.0.0.1:${redis.port}`);
    expect(workers.named("a").said()).not.toContain(PASSWORD);
  });

  it("refuses a certificate that nobody vouches for, and shows no password", async () => {
    const { code, stderr } = await start("queue status --verbose", { ART_E_QUEUE_URL: redis.url }).ended;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/cannot be used: self.signed certificate/),
    });
    expect(stderr).not.toContain(PASSWORD);
  });
});
