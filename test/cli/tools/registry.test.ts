import { readdirSync } from "node:fs";
import { describe, it } from "vitest";
import { workFolder } from "../art-e.js";

const { artE, path } = workFolder();

describe("without any database, and without making one,", () => {
  it.concurrent("agents list shows what a new one holds", async ({ expect }) => {
    const { code, stdout, stderr } = await artE("agents list");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatchInlineSnapshot(`
      "id            name                model             tools
      ────────────  ──────────────────  ────────────────  ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────
      art-e         ART-E Agent         the run's         search_emails, read_email, return_final_answer
      baseline      Offline Baseline    offline/baseline  email_search, email_get, return_final_answer
      data-worker   Data Worker         the run's         run_shell, execute_python, read_file, write_file, list_files, run_notebook, search_documents, return_final_answer
      email-search  Email Search Agent  the run's         email_search, email_get, return_final_answer
      noop          No Operation        offline/noop      return_final_answer
      oracle        Oracle              offline/oracle    apply_oracle, return_final_answer
      "
    `);
  });

  it.concurrent("agents show shows one, with its prompt and tools", async ({ expect }) => {
    const { code, stdout } = await artE("agents show art-e");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^art-e: ART-E Agent\n/);
    expect(stdout).toContain("\nModel:    the run's\n");
    expect(stdout).toContain("\nSettings: maxTurns 10, maxTokens 2048, toolCalls first, toolChoice required\n");
    expect(stdout).toMatch(/\nTools: {4}search_emails, read_email.*, return_final_answer\n/);
    expect(stdout).toMatch(/\nPrompt:\n {2}\S/);
    expect(stdout).toContain("{{inbox_address}}");
  });

  it.concurrent("agents show --json is one document", async ({ expect }) => {
    expect(JSON.parse((await artE("agents show baseline --json")).stdout)).toMatchObject({
      id: "baseline",
      model: "offline/baseline",
      tools: [
        { id: "email_search", config: null },
        { id: "email_get", config: null },
        { id: "return_final_answer", config: null },
      ],
    });
  });

  it.concurrent("tools list shows those of a category", async ({ expect }) => {
    const { code, stdout, stderr } = await artE("tools list --category email");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatchInlineSnapshot(`
      "id             category  handler        name
      ─────────────  ────────  ─────────────  ───────────────────
      email_get      email     email_get      Read Email
      email_search   email     email_search   Search Emails
      read_email     email     email_get      Read Email (ART)
      search_emails  email     search_emails  Search Emails (ART)
      "
    `);
  });

  it.concurrent("tools list --json shows all, with their parameters", async ({ expect }) => {
    const tools = JSON.parse((await artE("tools list --json")).stdout);
    const ids = tools.map((tool: { id: string }) => tool.id);
    expect(ids).toEqual(expect.arrayContaining(["email_search", "read_email", "execute_python"]));
    for (const tool of tools) expect(tool.parametersSchema).toMatchObject({ type: "object" });
  });

  it.concurrent("tools show shows one, with its parameters as JSON Schema", async ({ expect }) => {
    const { code, stdout } = await artE("tools show email_get");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^email_get: Read Email\n/);
    expect(stdout).toContain("\nCategory: email\nHandler:  email_get\n");
    const [, parameters = ""] = stdout.split("\nParameters:\n");
    expect(JSON.parse(parameters)).toMatchObject({ required: ["message_id"] });
  });

  it("the folder is as empty as before", ({ expect }) => {
    expect(readdirSync(path(""))).toEqual([]);
  });
});
