// An agent as a program, for tasks of a suite that have a machine: does one of them by its shell, with fetch alone.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [log] = process.argv.slice(2);

async function request(url, method, params) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return (await (await fetch(url, { method: "POST", headers, body })).json()).result;
}

for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line);
  const { url } = task.tools.mcp;
  const { tools } = await request(url, "tools/list", {});
  appendFileSync(log, `${JSON.stringify({ ...task, offered: tools.map(({ name }) => name) })}\n`);
  const command = task.instruction.includes("kiln")
    ? "grep 'kiln 3' ~/Desktop/kilns.log > ~/Desktop/kiln3.txt"
    : "true";
  const { structuredContent } = await request(url, "tools/call", { name: "run_shell", arguments: { command } });
  console.log(JSON.stringify({ id: task.id, answer: `exit code ${structuredContent.exit_code}` }));
}
