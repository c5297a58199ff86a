// A program that runs the benchmark with the library, and reports each stored answer on stdout as soon as the library
// does. Arguments: question file, and "new" or the run to continue.
import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { loadTasks, resumeArtEBenchmark, runArtEBenchmark } from "../../dist/library.js";

const [dataset, run] = process.argv.slice(2);

async function slowAgent({ id, epoch, callTool, question }) {
  await callTool("email_search", { query: question });
  await delay((id * 7 + epoch * 3) % 20);
  return { answer: `answer ${id}/${epoch}`, usage: { inputTokens: id, outputTokens: 1 } };
}

const config = {
  concurrency: 8,
  onProgress: ({ result }) => writeSync(1, `${result.taskId}/${result.epoch}\n`),
};
const results =
  run === "new"
    ? await runArtEBenchmark(await loadTasks({ dataset }), { ...config, agent: slowAgent, epochs: 3 })
    : await resumeArtEBenchmark(run, { ...config, agent: slowAgent });
writeSync(1, `completed ${results.completedTasks}\n`);
