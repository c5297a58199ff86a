import { h, untrustedText } from "../../../reports/page/shared/dom.js";
import { minuteText } from "../../../reports/page/shared/format.js";
import type { AgentJson, ToolJson } from "./api-types.js";
import { get } from "./request.js";
import { factList, idLink, table } from "./tables.js";

export async function agentList(page: HTMLElement): Promise<void> {
  const { agents } = await get<{ agents: AgentJson[] }>("/api/agents");
  page.append(
    h("h2", {}, "Agents"),
    table(
      "Agents",
      ["Agent", "Name", "Model", "Tools", "Version"],
      agents.map(({ id, name, model, tools, version }) => [
        idLink("agents", id),
        untrustedText(name, "", "span"),
        model ?? "the chat's",
        untrustedText(tools.join(", "), "clip", "span"),
        version,
      ]),
    ),
    h("p", { class: "hint" }, "art-e agents create makes one of your own; so does POST /api/agents."),
  );
}

export async function agentView(page: HTMLElement, id: string): Promise<void> {
  const agent = await get<AgentJson>(`/api/agents/${encodeURIComponent(id)}`);
  const settings = Object.entries(agent.settings).map(([name, value]) => `${name} ${value}`);
  page.append(
    h("h2", {}, agent.name),
    untrustedText(agent.description, "", "p"),
    factList([
      ["Id", agent.id],
      ["Model", agent.model ?? "the chat's"],
      ["Settings", settings.join(", ")],
      ["Version", `${agent.version}, changed ${minuteText(agent.updated_at)}`],
      ["Tools", h("span", {}, ...agent.tools.flatMap((tool) => [idLink("tools", tool), " "]))],
    ]),
    h("h3", {}, "Prompt"),
    untrustedText(agent.prompt, "said", "pre"),
    h("p", {}, h("a", { class: "button", href: `#chat/${encodeURIComponent(agent.id)}` }, "Ask this agent")),
  );
}

export async function toolList(page: HTMLElement): Promise<void> {
  const { tools } = await get<{ tools: ToolJson[] }>("/api/tools");
  page.append(
    h("h2", {}, "Tools"),
    table(
      "Tools",
      ["Tool", "Category", "Handler", "What the model reads"],
      tools.map(({ id, category, handler_key, description }) => [
        idLink("tools", id),
        category,
        handler_key,
        untrustedText(description, "clip", "span"),
      ]),
    ),
  );
}

export async function toolView(page: HTMLElement, id: string): Promise<void> {
  const tool = await get<ToolJson>(`/api/tools/${encodeURIComponent(id)}`);
  page.append(
    h("h2", {}, tool.name),
    h("p", { class: "hint mono" }, `${tool.id} · ${tool.category} · ${tool.handler_key}`),
    untrustedText(tool.description, "", "p"),
    h("h3", {}, "Parameters"),
    untrustedText(JSON.stringify(tool.parameters_schema, null, 2), "said", "pre"),
  );
}
