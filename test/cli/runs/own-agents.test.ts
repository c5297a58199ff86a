import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { stdioServerFile } from "../../tools/sdk-servers.js";
import { MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";

const { artE, path, write, read } = workFolder({ mail: MAIL });

const done = async (line: string | readonly string[], variables = {}) => {
  const ended = await artE(line, variables);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  return ended.stdout;
};
const json = async (line: string) => JSON.parse(await done(`${line} --json`));

it("imports defineTool of art-e in a tool's module", async () => {
  write(
    "typed.ts",
    `import { defineTool } from "art-e";
     export default defineTool({ description: "Doubles.", parameters: { type: "object" }, call: ({ n }: { n: number }) => 2 * n });`,
  );
  await done("tools add double --module typed.ts");
  expect(await done(["tools", "test", "double", '{"n": 21}'])).toBe("42\n");
});

describe("a custom agent", () => {
  it("runs from a file with a tool, changes, and repeats its run exactly", async () => {
    write("prompt.txt", "For {{inbox_address}} on {{query_date}}, {{max_turns}} turns:\n{{tools}}\n");
    expect(await done("agents create mine --prompt @prompt.txt --model offline/baseline --max-turns 7")).toContain(
      "version 1",
    );
    write(
      "days.ts",
      `export const description = "Days."; export const parameters = { type: "object" }; export const call = () => 3;`,
    );
    await done("tools add days --module days.ts");
    expect(await done(["tools", "test", "days", "{}"])).toBe("3\n");
    await done(["agents", "attach", "mine", "days", "--config", '{"timeoutMs": 9000}']);
    await done(`run -a mine --dataset ${QUESTIONS} -l 3 -o first.json --quiet`);
    const first = JSON.parse(read("first.json"));
    expect(first.settings).toMatchObject({ agentVersion: 2, maxTurns: 7 });

    await done(["agents", "set", "mine", "--prompt", "Otherwise.", "--max-turns", "1"]);
    await done("tools set days --description Other.");
    await done("agents delete mine");
    const shown = await json(`agents show --run ${first.runId}`);
    expect(shown).toMatchObject({
      id: "mine",
      version: 2,
      prompt: expect.stringContaining("{{tools}}"),
      settings: { maxTurns: 7 },
    });
    expect(shown.tools.at(-1)).toMatchObject({
      id: "days",
      description: "Days.",
      handlerKey: "module",
      config: '{"timeoutMs":9000}',
    });

    await done(`run --repeat ${first.runId} -o second.json --quiet`);
    const second = JSON.parse(read("second.json"));
    const { repeats, ...settings } = second.settings;
    expect(repeats).toBe(first.runId);
    expect(settings).toEqual(first.settings);
    const answers = (file: typeof first) =>
      file.taskResults.map((task: Record<string, unknown>) => [task.taskId, task.agentAnswer, task.sources]);
    expect(answers(second)).toEqual(answers(first));
    const trace = await json("show latest/1");
    expect(trace.messages[0].content).toContain(`For ${MARCUS}`);
    expect(trace.messages[0].content).toContain("\n- days: Days.");
  });

  it("gets several tools in one command, or loses them all, including a tool with a built-in handler", async () => {
    await done("agents create several --prompt Find. --tools return_final_answer");
    await done(["tools", "add", "read_pages", "--handler-key", "email_get", "--config", '{"pageSize": 3000}']);
    expect(await json("tools show read_pages")).toMatchObject({
      handlerKey: "email_get",
      handlerConfig: { pageSize: 3_000 },
      parametersSchema: (await json("tools show email_get")).parametersSchema,
    });
    await done(["tools", "set", "read_pages", "--config", '{"pageSize": 2000}']);
    expect(await artE("agents attach several email_search nothing")).toMatchObject({ code: 2 });
    await done("agents attach several email_search read_pages");
    const toolsOf = async () => (await json("agents show several")).tools.map(({ id }: { id: string }) => id);
    expect(await toolsOf()).toEqual(["return_final_answer", "email_search", "read_pages"]);
    expect((await json("agents show several")).version).toBe(2);
    await done(["agents", "configure", "several", "read_pages", "--config", '{"pageSize": 1000}']);
    const configs = async () =>
      (await json("agents show several")).tools.map(({ config }: { config: unknown }) => config);
    expect(await configs()).toEqual([null, null, '{"pageSize":1000}']);
    await done("agents configure several read_pages");
    expect(await configs()).toEqual([null, null, null]);
    expect((await artE("agents configure several read_file")).stderr).toContain('does not have the tool "read_file"');
    await done("agents detach several email_search return_final_answer");
    expect(await toolsOf()).toEqual(["read_pages"]);
  });

  it.each(["-a baseline", "-l 5", "--ids 1", "--resume latest"])(
    "cannot have its run repeated if %s is given",
    async (flag) => {
      const { code, stderr } = await artE(`run --repeat latest ${flag}`);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining(flag.split(" ")[0] === "-a" ? "--agent" : "--"),
      });
    },
  );

  it("can have its run repeated with other limits only if --force records them", async () => {
    expect(await artE("run --repeat latest --max-turns 2")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("maxTurns was 7"),
    });
    await done("run --repeat latest --max-turns 2 --force -o forced.json --quiet");
    expect(JSON.parse(read("forced.json")).settings.changes).toEqual(["maxTurns was 7 and would be 2"]);
  });

  it("travels to another database in one file", async () => {
    await done("agents clone art-e carried --db a.db");
    await done("agents export carried -o carried.yaml --db a.db");
    await done("agents import carried.yaml --db b.db");
    expect(await done("agents export carried --db b.db")).toBe(readFileSync(path("carried.yaml"), "utf8"));
    write("bad.yaml", `${read("carried.yaml")}colour: red\n`);
    const { code, stderr } = await artE("agents import bad.yaml --db c.db");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^art-e: bad\.yaml:\d+: .*colour/);
  });

  it("accepts flags before the subcommand too", async () => {
    await done("agents --overwrite -o early.yaml export art-e");
    expect(read("early.yaml")).toContain("id: art-e");
    await done("agents --replace import carried.yaml --db b.db");
  });

  it.each([
    ["agents create x", "--prompt is required"],
    ["agents create", "agents create: ID is required."],
    ["agents create x --prompt @none.txt", "the file does not exist"],
    ["agents create x --prompt prompt.txt", "--prompt: expected text, but prompt.txt is a file"],
    ["tools add x --parameters prompt.txt --http http://x", "--parameters: expected text, but prompt.txt is a file"],
    ["agents create x --prompt {{y}}", "{{y}}"],
    ["agents set art-e --name x", "is built in"],
    ["agents set carried --db a.db", "agents set: at least one change is required"],
    ["agents list --model x", "agents list does not take --model."],
    ["agents show art-e more", 'agents show does not take "more".'],
    ["agents show --run latest art-e", "ID and --run cannot be combined"],
    ["agents set mine --tools email_get", "agents set does not take --tools."],
    ["agents detach art-e", "agents detach: TOOLS is required."],
    ["tools add x --handler-key none --description d", 'Unknown handler_key "none"'],
    ["tools add x --handler-key http", "has its own flag"],
    ["tools add x --command true --handler-key email_get --description d", "define two tools"],
    ["tools add x --command true --config {} --description d", "--config does not apply to"],
    ["agents show art-e@99", "does not have a version 99"],
    ["agents fly", "Unknown command: agents fly."],
    ["agents clone art-e", "agents clone: NEW_ID is required."],
    ["agents --quiet", "agents: a subcommand is required."],
    ["tools add x", "the tool itself is required"],
    ["tools add x --command true", "--description is required"],
    ["tools add x --command true --http http://a.b --description d", "define two tools"],
    ["tools add x --command true --method GET --description d", "--method does not apply to"],
    ["tools test email_get nonsense", "expected a JSON object"],
    ["tools set days --http http://a.b", "Cannot change the kind of tool"],
    ["tools set days --mcp program", "tools set does not take --mcp."],
    ["tools add x --mcp program", "ID cannot be combined with --mcp"],
    ["tools list --inbox a@b.c", "tools list does not take --inbox."],
    ["queue frob", "Unknown command: queue frob."],
    ["evals show", "evals show: NAME is required."],
  ])("rejects %s in one line", async (line, word) => {
    const { code, stdout, stderr } = await artE(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.split("\n")[0]).toContain(word);
  });
});

describe("art-e tools test", () => {
  it("calls a tool as in a task, and exits with code 1 if the call fails", async () => {
    const search = ["tools", "test", "email_search", JSON.stringify({ query: "base quantity", inbox_id: MARCUS })];
    const all = JSON.parse(await done([...search, "--inbox", MARCUS, "--json"]));
    const before = JSON.parse(await done([...search, "--inbox", MARCUS, "--before", "2001-03-06", "--json"]));
    expect(before.value.total).toBeLessThan(all.value.total);
    // The named mailbox need not be given again.
    const unnamed = ["tools", "test", "email_search", '{"query": "base quantity"}', "--inbox", MARCUS, "--json"];
    expect(JSON.parse(await done(unnamed))).toEqual(all);
    const failed = await artE(["tools", "test", "email_get", '{"message_id": "<x@y>"}', "--inbox", MARCUS]);
    expect(failed).toMatchObject({ code: 1, stdout: expect.stringContaining("invalid_email: Unknown email") });
  });

  it("calls a web API with a key from the environment, which is neither stored nor shown", async () => {
    const server = createServer((request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ url: request.url, key: request.headers.authorization }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const headers = JSON.stringify({ Authorization: `Bearer \${ENV:WEB_KEY}` });
    const parameters = '{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}}}';
    await done([
      ..."tools add web --description Web. --allow-private --http".split(" "),
      `http://127.0.0.1:${port}/a/{{q}}`,
      "--headers",
      headers,
      "--parameters",
      parameters,
    ]);
    const call = ["tools", "test", "web", '{"q": "a/b ?", "n": 2}'];
    const told = JSON.parse(await done(call, { WEB_KEY: "very-secret-key" }));
    expect(told).toEqual({ url: "/a/a%2Fb%20%3F?n=2", key: "Bearer [secret]" });
    expect(await artE(call)).toMatchObject({ code: 1, stdout: expect.stringContaining("WEB_KEY is not set") });
    const climb = await artE(["tools", "test", "web", '{"q": ".."}'], { WEB_KEY: "very-secret-key" });
    expect(climb).toMatchObject({ code: 1, stdout: expect.stringContaining("The request was not sent") });
    expect(readFileSync(path("art-e.db"), "latin1")).not.toContain("very-secret-key");
    await new Promise((resolve) => server.close(resolve));
  });

  it("calls tools that --mcp imported, and a program with quoted arguments", async () => {
    const file = stdioServerFile(path(""));
    expect(await done(["tools", "add", "--mcp", `'${process.execPath}' "${file}"`, "--prefix", "m"])).toContain(
      "5 tools added:\n  m_behave: ",
    );
    expect(await done(["tools", "test", "m_behave", '{"do": "echo", "word": "hi"}'])).toContain('"word": "hi"');
    const program = `'${process.execPath}' -e 'process.stdin.on("end", () => console.log("[1]")).resume()'`;
    await done(["tools", "add", "one", "--command", program, "--description", "One."]);
    expect(await done("tools test one --json")).toBe(`${JSON.stringify({ ok: true, value: [1] }, null, 2)}\n`);
    await done("tools delete one");
    expect(await artE("tools add x --description d --command 'true")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("quote is not closed"),
    });
  });
});
