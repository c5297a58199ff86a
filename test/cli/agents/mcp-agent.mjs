// An agent as a program: searches with the question over MCP, reads the first mail, and answers with its subject.
// Its second argument says how it misbehaves instead, at each question of its log in turn.
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [log = "", behaviours = "answer"] = process.argv.slice(2);
const note = (word) => log !== "" && appendFileSync(log, `${process.pid} ${word}\n`);
note("start");
console.log("loading the model, which nobody asked about");
console.error("ready, with the key sk-test-0123456789abcdef");

async function answer({ id, question, inbox_address, query_date, max_turns, tools }) {
  const client = new Client({ name: "agent", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(tools.mcp.url)));
  const { structuredContent: found } = await client.callTool({ name: "email_search", arguments: { query: question } });
  const [first] = found.emails;
  const { structuredContent: mail } = await client.callTool({
    name: "email_get",
    arguments: { message_id: first.message_id },
  });
  await client.close();
  note(`${inbox_address} ${query_date} ${max_turns} ${tools.mcp.url}`);
  return {
    id,
    answer: mail.subject,
    sources: [first.message_id],
    usage: { input_tokens: 100, output_tokens: 10 },
    trace: [{ role: "assistant", content: "I read the first one." }],
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  note(`asked ${question.id}`);
  // Programs before this one were asked too.
  const asked = log === "" ? 1 : readFileSync(log, "utf8").match(/ asked /g).length;
  const behaviour = behaviours.split(",")[asked - 1] ?? behaviours;
  if (behaviour === "crash") process.exit(3);
  if (behaviour === "hang") continue;
  if (behaviour === "garbage") console.log('{"id": 5, "answer": ["no text"]}');
  else if (behaviour === "error") console.log(JSON.stringify({ id: question.id, error: "my model is down" }));
  else if (behaviour === "silent") console.log(JSON.stringify({ id: question.id, answer: "" }));
  else console.log(JSON.stringify(await answer(question)));
}
note("end");
