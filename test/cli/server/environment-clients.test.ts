import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ENRON, needs, slow } from "../../machine-requirements.js";
import {
  addressOf,
  demoQuestions,
  jsonLines,
  MAIL,
  QUESTIONS,
  type Started,
  startProgram,
  workFolder,
} from "../art-e.js";

/** The trainers' clients against the real server, with stand-ins for trainers that cannot be installed. */

const TRAINERS = join(import.meta.dirname, "trainers");
const TOKEN = "a-token-for-this-test";
const FIRST_HIT = `python3 ${join(TRAINERS, "first_hit.py")}`;

const { artE, path, read, readJson, start, write } = workFolder({ mail: MAIL });

let running: Started | null = null;
async function stop(): Promise<void> {
  running?.child.kill("SIGKILL");
  await running?.ended;
  running = null;
}

/** Starts the environment, and waits until it prints its URL. */
async function serve(flags: string, port = 0, dataset = QUESTIONS): Promise<string> {
  running = start(`env serve --port ${port} --dataset ${dataset} ${flags}`, { ART_E_TOKEN: TOKEN });
  return addressOf(running);
}

function variables(url: string): Record<string, string> {
  const folders = [path("."), path("art_e_mail"), TRAINERS];
  return { ART_E_ENV_URL: url, ART_E_TOKEN: TOKEN, PYTHONPATH: folders.join(":"), PYTHONDONTWRITEBYTECODE: "1" };
}

/** A program next to this file, with the written clients and the stand-ins for trainers. */
async function python(url: string, program: string, ...args: string[]) {
  const { code, stdout, stderr } = await startProgram(
    path("."),
    "python3",
    [join(TRAINERS, program), ...args],
    variables(url),
  ).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return jsonLines(stdout);
}

/** Runs the same policy offline. Returns its scores in task order. */
async function runOffline(dataset = QUESTIONS, flags = ""): Promise<(score: string) => number[]> {
  const line = ["run", "-a", "first-hit", "--agent-command", FIRST_HIT, "--dataset", dataset, "-l", "0", "--no-judge"];
  const more = flags.split(" ").filter((word) => word !== "");
  expect((await artE([...line, ...more, "--quiet", "-o", path("offline.json")])).code).toBe(0);
  const results: { taskId: number; scores: Record<string, number> }[] = readJson("offline.json").taskResults;
  const byId = new Map(results.map(({ taskId, scores }) => [taskId, scores]));
  const questions = jsonLines(readFileSync(dataset, "utf8")) as { id: number }[];
  return (score) => questions.map(({ id }) => byId.get(id)?.[score] ?? Number.NaN);
}

beforeAll(async () => {
  for (const [trainer, written] of Object.entries({
    trl: "art_e_trl.py",
    verifiers: "art_e_mail",
    art: "art_e_rollout.py",
  })) {
    const { code, stdout, stderr } = await artE(`env client --for ${trainer}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Wrote ${path(written)}\n`);
  }
});

describe("an episode's rewards", () => {
  let offline: (score: string) => number[];
  beforeAll(async () => {
    offline = await runOffline();
  });
  afterAll(stop);

  it("equal a run's scores for the same policy over 64 trl threads, task by task", { tags: ["slow"] }, async () => {
    const rewards = await python(await serve("--reward semanticScore --no-save"), "trl_rollouts.py", "test");
    expect(rewards.map(({ index }) => index)).toEqual([...rewards.keys()]);
    expect(rewards.map(({ reward }) => reward)).toEqual(offline("semanticScore"));
    await stop();
  });

  describe("with one server", () => {
    let url = "";
    beforeAll(async () => {
      url = await serve("--reward sourcesF1");
    });

    it.each(["verifiers", "art"])(
      "equal a run's scores for %s, even for a plain-text reply, and the agent's instructions apply",
      async (trainer) => {
        const lines = await python(url, `${trainer}.py`);
        const rewards = (model: string) => lines.filter((line) => line.model === model).map(({ reward }) => reward);
        expect(rewards("first_hit")).toEqual(offline("sourcesF1").slice(0, 20));
        expect(rewards("plain_text")).toEqual(Array(20).fill(0));
        for (const [i, { system }] of lines.entries()) expect(system).toContain(demoQuestions[i % 20]?.inbox_address);
      },
    );

    it("do not reach trl if the server dies, and continue with the next episode after its restart", {
      tags: ["slow"],
    }, async () => {
      const child = spawn("python3", [join(TRAINERS, "lost_server.py")], {
        env: { ...process.env, ...variables(url) },
        stdio: ["pipe", "pipe", "inherit"],
      });
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const said = async () => JSON.parse((await lines.next()).value ?? "null");
      expect(await said()).toEqual({ did: "search" });
      await stop();
      child.stdin.write("\n");
      expect(await said()).toEqual({ reward: null, done: true });
      await serve("--reward sourcesF1", Number(new URL(url).port));
      child.stdin.write("\n");
      expect(await said()).toEqual({ reward: 1, done: true });
      child.stdin.end();
      await once(child, "exit");
    });
  });
});

it(
  "trl receives a run's scores as rewards over 500 training questions about real mail",
  slow(needs("real-mail")),
  async () => {
    const db = `--db ${path("real.db")}`;
    for (const archive of ["maildir.tar.gz", "folders.tar.gz"]) {
      expect((await artE(`import ${join(ENRON, archive)} ${db} --quiet`)).code).toBe(0);
    }
    expect((await artE(`questions make -n 520 --unanswerable 0 --train 1 -o made.jsonl ${db} --quiet`)).code).toBe(0);
    const real = jsonLines(readFileSync(join(ENRON, "questions.jsonl"), "utf8"));
    const questions = [...jsonLines(read("made.jsonl")), ...real.map((one) => ({ ...one, split: "train" }))];
    const dataset = write("train.jsonl", questions.map((one) => `${JSON.stringify(one)}\n`).join(""));
    const offline = await runOffline(dataset, `-s train ${db}`);
    for (const reward of ["semanticScore", "sourcesF1"]) {
      const rewards = await python(await serve(`--reward ${reward} ${db}`, 0, dataset), "trl_rollouts.py", "train");
      await stop();
      expect(rewards.length).toBeGreaterThanOrEqual(500);
      expect(rewards.map(({ reward }) => reward)).toEqual(offline(reward));
    }
  },
);

it("a busy server has more time for its answers than for the connection", async () => {
  onTestFinished(stop);
  const url = await serve("--no-save");
  const program = `import art_e_trl
art_e_trl.CONNECT_SECONDS = 0.2
print("ready", flush=True)
row, *_ = art_e_trl.mail_rows("test", 1)
print(art_e_trl.MailEnvironment().reset(**row).split("\\n")[0])`;
  running?.child.kill("SIGSTOP");
  const trainer = startProgram(path("."), "python3", ["-c", program], variables(url));
  if (trainer.child.stdout) await once(trainer.child.stdout, "data");
  await delay(1_000);
  running?.child.kill("SIGCONT");
  const { code, stdout, stderr } = await trainer.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain(demoQuestions[0]?.question);
});

describe("art-e env client", () => {
  it.each([
    ["", "--for"],
    ["--for nemo", "--for: expected trl or verifiers or art"],
    ["--for trl -o there.py", "--output: .*there.py already exists"],
    ["--for verifiers -o there.py", "--output: .*there.py: it already exists"],
    ["--for trl -o there.py/client.py", "--output: "],
  ])("rejects %s", async (flags, message) => {
    write("there.py", "# mine");
    const { code, stderr } = await artE(`env client ${flags}`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) });
    expect(read("there.py")).toBe("# mine");
  });

  it("shows the server's URL if it cannot be reached", async () => {
    const args = ["-c", "import art_e_trl; art_e_trl.mail_rows()"];
    const { code, stderr } = await startProgram(path("."), "python3", args, variables("http://127.0.0.1:9")).ended;
    expect(code).toBe(1);
    expect(stderr).toContain("Cannot connect to http://127.0.0.1:9. Start the server with `art-e env serve`");
  });
});
