import { describe, expect, test } from "vitest";
import { checkPrompt, renderPrompt } from "../../src/agents/agent.js";
import { listTools } from "../../src/agents/agent-loop.js";
import { getAgent, listAgents } from "../../src/agents/registry-store.js";
import { UserError } from "../../src/platform/errors.js";
import { loadTools } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { openEmpty } from "../runs/demo-setup.js";

const variables = {
  inbox_address: "marcus.hale@kestrelplains.example",
  query_date: "2001-05-14",
  max_turns: 10,
  tools: "- a: A",
};

describe("a prompt", () => {
  test.each([
    "user_name",
    "user-name",
    "user.name",
    "inboxaddress",
    "constructor",
    "toString",
    "__proto__",
    "hasOwnProperty",
    "two words",
    "#if tools",
  ])("that asks for {{%s}} is an error that says what there is", (name) => {
    const render = () => renderPrompt(`You are {{${name}}}.`, variables);
    expect(render).toThrow(UserError);
    expect(render).toThrow(`{{${name}}}`);
    expect(() => checkPrompt(`You are {{${name}}}.`)).toThrow(`{{${name}}}`);
    try {
      render();
    } catch (error) {
      expect(error).toMatchObject({
        code: "prompt_variable",
        hint: "A prompt may use: {{inbox_address}}, {{query_date}}, {{max_turns}}, {{tools}}, {{snapshot}}, {{home}}.",
      });
    }
  });

  test("gets every variable, as often as it asks, with blanks or without", () => {
    expect(renderPrompt("{{inbox_address}} {{ query_date }} {{max_turns}} {{max_turns}}", variables)).toBe(
      "marcus.hale@kestrelplains.example 2001-05-14 10 10",
    );
  });

  test("keeps single braces, and a value that looks like a variable or a replacement pattern", () => {
    const odd = { ...variables, inbox_address: "{{query_date}} $& $1" };
    expect(renderPrompt('{"a": {}} {{inbox_address}}', odd)).toBe('{"a": {}} {{query_date}} $& $1');
  });

  test("of every seeded agent for mail can be filled in, and tells the inbox and the date", () => {
    const { db, close } = openEmpty();
    const agents = listAgents(db).filter(({ id }) => !["data-worker", "noop", "oracle"].includes(id));
    const prompts = agents.map((agent) => renderPrompt(agent.prompt, variables));
    close();
    expect(prompts).toHaveLength(3);
    for (const prompt of prompts) {
      expect(prompt).toContain(variables.inbox_address);
      expect(prompt).toContain("2001-05-14");
      expect(prompt).not.toContain("{{");
    }
  });

  test("of the agent for suites tells the machine, and says so where a task has none", () => {
    const { db, close } = openEmpty();
    const { prompt } = getAgent(db, "data-worker");
    close();
    const machine = { max_turns: 50, tools: "", snapshot: "jupyter", home: "/home/user" };
    expect(renderPrompt(prompt, machine)).toContain(
      "(snapshot: jupyter). You work as its user, whose home folder is /home/user,",
    );
    expect(renderPrompt(prompt, variables)).toContain("(snapshot: (none in this task))");
    for (const given of [machine, variables]) expect(renderPrompt(prompt, given)).not.toContain("{{");
  });

  test("lists the tools one a line", () => {
    const { db, close } = openEmpty();
    const tools = loadTools(db, getAgent(db, "art-e"), { mailbox: openMailbox(db) });
    const text = renderPrompt("Your tools:\n{{tools}}", { ...variables, tools: listTools(tools) });
    close();
    expect(text.split("\n")).toEqual([
      "Your tools:",
      expect.stringMatching(/^- search_emails: Search the user's mailbox/),
      expect.stringMatching(/^- read_email: Read one mail/),
      expect.stringMatching(/^- return_final_answer: /),
    ]);
  });
});
