import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import WebSocket, { WebSocketServer } from "ws";
import { quantiles } from "./quantiles.js";

/**
 * Clients of a training environment, in a separate process: `env-clients.ts URL --sessions N --episodes N [--pace N]`.
 * Each session plays consecutive episodes of three steps: search the question's words, read the first email found, and
 * answer with its subject. With --pace, all sessions together take that number of steps per second, like sessions of
 * models that think before each step. Prints figures. `env-clients.ts echo` is an environment that only echoes, and
 * prints its URL.
 */

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    sessions: { type: "string", default: "64" },
    episodes: { type: "string", default: "2000" },
    pace: { type: "string", default: "0" },
  },
});
const [target = ""] = positionals;

/** Steps per episode. */
const STEPS = 3;

if (target === "echo") serveEcho();
else
  console.log(
    JSON.stringify(await play(target, Number(values.sessions), Number(values.episodes), Number(values.pace))),
  );

interface Answer {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: the types of its users check the fields that they read.
  readonly data: any;
}

async function play(url: string, sessions: number, episodes: number, pace: number) {
  const steps: number[] = [];
  const resets: number[] = [];
  const rewards = { n: 0, sum: 0 };
  let left = episodes;
  const clients = await Promise.all(Array.from({ length: sessions }, () => connect(url)));
  const pauseMs = pace === 0 ? 0 : (sessions / pace) * 1_000;
  const started = performance.now();
  const timed = async (ask: Ask, message: object, into: number[]) => {
    const begun = performance.now();
    const answer = await ask(message);
    into.push(performance.now() - begun);
    if (answer.type === "error") throw new Error(JSON.stringify(answer.data));
    return answer.data;
  };
  const think = () => (pauseMs === 0 ? undefined : delay(pauseMs * (0.5 + Math.random())));
  await Promise.all(
    clients.map(async ({ ask, close }, i) => {
      // Spread over an episode, because sessions that start simultaneously would all search simultaneously for a while.
      if (pauseMs > 0) await delay((STEPS * pauseMs * i) / sessions);
      while (left-- > 0) {
        const { observation } = await timed(ask, { type: "reset", data: { seed: left } }, resets);
        const { question = "echo", inbox_address } = observation.result ?? {};
        const call = (tool_name: string, args: object) => ({
          type: "step",
          data: { type: "call_tool", tool_name, arguments: args },
        });
        await think();
        const found = await timed(ask, call("email_search", { query: question, inbox_id: inbox_address }), steps);
        const [first] = found.observation.result?.data?.emails ?? [];
        await think();
        await timed(ask, call("email_get", { message_id: first?.message_id ?? "<none>" }), steps);
        await think();
        const sources = first === undefined ? [] : [first.message_id];
        const end = await timed(ask, call("return_final_answer", { answer: first?.subject ?? "", sources }), steps);
        if (end.done) rewards.n++;
        rewards.sum += end.reward ?? 0;
      }
      close();
    }),
  );
  const seconds = (performance.now() - started) / 1_000;
  const cpu = process.cpuUsage();
  return {
    stepsPerSecond: steps.length / seconds,
    episodesPerSecond: resets.length / seconds,
    step: quantiles(steps),
    reset: quantiles(resets),
    ended: rewards.n,
    meanReward: rewards.sum / Math.max(1, rewards.n),
    clientCpuSeconds: (cpu.user + cpu.system) / 1e6,
  };
}

type Ask = (message: object) => Promise<Answer>;

async function connect(url: string): Promise<{ ask: Ask; close(): void }> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/ws`, { perMessageDeflate: false });
  let answered: (answer: Answer) => void = () => undefined;
  let failed: (error: Error) => void = () => undefined;
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", (error) => failed(error));
  socket.on("close", () => failed(new Error("closed")));
  socket.on("message", (data) => answered(JSON.parse(data.toString()) as Answer));
  return {
    ask: (message) =>
      new Promise((resolve, reject) => {
        answered = resolve;
        failed = reject;
        socket.send(JSON.stringify(message));
      }),
    close: () => socket.close(),
  };
}

function serveEcho(): void {
  const http = createServer();
  const sockets = new WebSocketServer({ server: http, perMessageDeflate: false });
  sockets.on("connection", (socket) => {
    socket.on("message", (data) => {
      const message = JSON.parse(data.toString()) as Answer;
      const done = message.data?.tool_name === "return_final_answer";
      const observation = { tool_name: "echo", result: { data: message.data }, error: null, metadata: {} };
      socket.send(JSON.stringify({ type: "observation", data: { observation, reward: 0, done } }));
    });
  });
  http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}`));
}
