// The sections for agents and tools: lists, details and forms. Built-in ones are read-only.
import { REASONING_EFFORTS } from "../../models/reasoning-effort.js";
import { TOOL_RESULTS } from "../../models/tool-results.js";
import { presentProperties } from "../../platform/optional-values.js";
import type { AgentJson, AgentToolJson, ToolJson } from "../../server/response-shapes.js";
import { type Child, h, minuteText, replaceChildren, select, setText, untrustedInline, untrustedText } from "../dom.js";
import { versionComparison } from "./agent-versions.js";
import { get, patch, post, remove } from "./api.js";
import { clipped, type Fact, factList, idLink, labeled, searchedList, statusLine } from "./lists.js";
import { discardEdits, trackEdits } from "./unsaved-edits.js";

type ToolForm = Pick<ToolJson, "name" | "description" | "category" | "parameters_schema" | "handler_config">;

/** A form field. `name` is the API's parameter name. */
interface Field {
  readonly name: string;
  readonly label: string;
  /** `prose` and `json` have several lines. A list contains the possible values. */
  readonly kind: "text" | "number" | "prose" | "json" | readonly string[];
  readonly rows?: number;
  readonly value: string | number;
  readonly isRequired?: boolean;
}

type Values = Readonly<Record<string, unknown>>;

const pathOf = (kind: "agents" | "tools", id: string) => `/api/${kind}/${encodeURIComponent(id)}`;

function open(kind: "agents" | "tools", id: string): string {
  location.hash = `${kind}/${encodeURIComponent(id)}`;
  return "";
}

export async function agentList(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void> {
  const { agents } = await get<{ agents: AgentJson[] }>("/api/agents");
  await searchedList<AgentJson>(page, query, signal, {
    title: "Agents",
    section: "agents",
    fields: null,
    none: "No agents yet. Create one below, or with art-e agents create.",
    search: "Search agents",
    load: async () => ({ lines: agents, next: null, total: agents.length }),
    columns: [
      { title: "Agent", sort: ({ id }) => id, cell: ({ id }) => idLink("agents", id) },
      { title: "Name", sort: ({ name }) => name, cell: ({ name }) => untrustedInline(name) },
      { title: "Model", sort: ({ model }) => model ?? "set per chat" },
      {
        title: "Tools",
        sort: ({ tools }) => tools.join(", "),
        cell: ({ tools }) => clipped(tools.join(", ")),
        narrow: "new line",
      },
      { title: "Version", sort: ({ version }) => version, isNumeric: true, narrow: "left out" },
    ],
  });
  page.append(
    folded(
      "New agent",
      editForm(NEW_AGENT, "Create agent", async ({ id, name }) => {
        const made = await post<AgentJson>("/api/agents", { name, ...presentProperties({ id: id || null }) });
        return open("agents", made.id);
      }),
      h("p.hint", "It starts with the prompt and tools of email-search. To copy another agent, open its page."),
    ),
  );
}

const NEW_AGENT: readonly Field[] = [
  { name: "name", label: "Name", kind: "text", value: "", isRequired: true },
  { name: "id", label: "Id (derived from the name if empty)", kind: "text", value: "" },
];

export async function agentView(
  page: HTMLElement,
  id: string,
  _signal: AbortSignal,
  query: URLSearchParams,
): Promise<void> {
  const [agent, { tools }, all] = await Promise.all([
    get<AgentJson>(pathOf("agents", id)),
    get<{ tools: AgentToolJson[] }>(`${pathOf("agents", id)}/tools`),
    get<{ tools: ToolJson[] }>("/api/tools"),
  ]);
  const title = h("h2", agent.name);
  const version = h("p.hint.mono", versionText(agent));
  const versions = h("div");
  const showVersions = async () => replaceChildren(versions, await versionComparison(id, query));
  await showVersions();
  // The form's fields are based on this state. It does not move on when somebody else has changed them.
  let loaded = agent;
  const changed = (now: AgentJson, isSaved: boolean) => {
    if (isSaved || formOf(now) === formOf(loaded)) loaded = now;
    setText(title, now.name);
    setText(version, versionText(now));
    void showVersions();
  };
  page.append(
    title,
    version,
    h("p", h("a.button", { href: `#chat/${encodeURIComponent(agent.id)}` }, "Ask this agent")),
    ...(agent.builtin
      ? agentFacts(agent)
      : [
          agentForm(
            agent,
            () => loaded,
            (now) => changed(now, true),
          ),
        ]),
    h("h3", "Tools"),
    toolsOfAgent(agent, tools, all.tools, (now) => changed(now, false)),
    versions,
    copyForm(agent, tools),
    agent.builtin
      ? ""
      : deleteButton(
          "Delete this agent",
          "Delete the agent? Its runs and traces remain.",
          pathOf("agents", id),
          "agents",
        ),
  );
}

function versionText({ id, version, updated_at, builtin }: AgentJson): string {
  const origin = builtin ? ", built in: it can be copied but not changed" : "";
  return `${id} · version ${version}, changed ${minuteText(updated_at)}${origin}`;
}

function agentFacts({ description, model, settings, prompt }: AgentJson): HTMLElement[] {
  const named = settingFields(settings).flatMap(({ label, value }): Fact[] =>
    value === "" ? [] : [[label.replace(/ \(.*/, ""), String(value)]],
  );
  return [
    untrustedText(description, null, "p"),
    factList([["Model", model ?? "set per chat"], ...named]),
    h("h3", "Prompt"),
    untrustedText(prompt, "said", "pre"),
  ];
}

function settingFields(settings: AgentJson["settings"]): Field[] {
  const { maxTurns, maxTokens, toolCalls, toolChoice, toolResults, ...optional } = settings;
  const { reasoningTokens = "", reasoningEffort = "", temperature = "" } = optional;
  return [
    { name: "maxTurns", label: "Maximum model calls per task", kind: "number", value: maxTurns },
    { name: "maxTokens", label: "Maximum tokens per reply", kind: "number", value: maxTokens },
    {
      name: "reasoningTokens",
      label: "Reasoning tokens (depends on the model if empty)",
      kind: "number",
      value: reasoningTokens,
    },
    {
      name: "reasoningEffort",
      label: "Reasoning effort (model default if empty)",
      kind: ["", ...REASONING_EFFORTS],
      value: reasoningEffort,
    },
    { name: "temperature", label: "Temperature (provider default if empty)", kind: "number", value: temperature },
    { name: "toolCalls", label: "Tool calls per reply", kind: ["all", "first"], value: toolCalls },
    { name: "toolChoice", label: "Tool choice", kind: ["auto", "required"], value: toolChoice },
    { name: "toolResults", label: "Tool results for the model", kind: TOOL_RESULTS, value: toolResults },
  ];
}

/** The part of an agent that its form edits. */
function formOf({ name, model, description, prompt, settings }: AgentJson): string {
  return JSON.stringify([name, model, description, prompt, settings]);
}

function agentForm(agent: AgentJson, loaded: () => AgentJson, saved: (now: AgentJson) => void): HTMLElement {
  const fields: readonly Field[] = [
    { name: "name", label: "Name", kind: "text", value: agent.name, isRequired: true },
    { name: "model", label: "Model (set per chat or run if empty)", kind: "text", value: agent.model ?? "" },
    { name: "description", label: "Purpose", kind: "prose", value: agent.description },
    { name: "prompt", label: "Prompt", kind: "prose", rows: 12, value: agent.prompt, isRequired: true },
    ...settingFields(agent.settings),
  ];
  return editForm(fields, "Save", async ({ name, model, description, prompt, reasoningEffort: effort, ...others }) => {
    const settings = { ...others, reasoningEffort: effort === "" ? null : effort };
    const body = { name, description, prompt, settings, model: model === "" ? null : model };
    const { version, updated_at } = loaded();
    const now = await patch<AgentJson>(pathOf("agents", agent.id), { ...body, version, updated_at });
    saved(now);
    return `Saved: version ${now.version}.`;
  });
}

/** The tools of an agent with their configs, and the tools that can be added. */
function toolsOfAgent(
  agent: AgentJson,
  tools: readonly AgentToolJson[],
  all: readonly ToolJson[],
  changed: (now: AgentJson) => void,
): HTMLElement {
  const path = `${pathOf("agents", agent.id)}/tools`;
  const status = statusLine();
  // Receives the focus after a change, which removes the focused button from the page.
  status.element.tabIndex = -1;
  const section = h("div");
  let shown = agent;
  const draw = (now: readonly AgentToolJson[]) => {
    const attachedList = h("ul.attached", ...now.map((tool) => h("li", ...toolItem(tool))));
    const rest = all.filter(({ id }) => !now.some((tool) => tool.tool_id === id));
    replaceChildren(
      section,
      attachedList,
      agent.builtin || rest.length === 0 ? null : attachForm(rest),
      status.element,
    );
  };
  const redraw = async (said: string) => {
    const [{ tools: after }, now] = await Promise.all([
      get<{ tools: AgentToolJson[] }>(path),
      get<AgentJson>(pathOf("agents", agent.id)),
    ]);
    shown = now;
    changed(now);
    draw(after);
    status.say(said);
    status.element.focus();
    return "";
  };
  function toolItem({ tool_id: id, handler_key, config }: AgentToolJson): Child[] {
    const own = `${path}/${encodeURIComponent(id)}`;
    const head = [idLink("tools", id), h("span.hint", handler_key === id ? " " : ` ${handler_key} `)];
    const text = config === null ? "" : JSON.stringify(config, null, 2);
    if (agent.builtin) return [...head, text === "" ? null : untrustedText(text, "said", "pre")];
    const detach = () =>
      remove(own)
        .then(() => redraw(`Removed ${id}.`))
        .catch((error: Error) => status.say(error.message, true));
    return [
      ...head,
      h("button", { "aria-label": `Remove ${id}`, click: detach }, "Remove"),
      folded(
        config === null ? "Config" : "Config (custom)",
        editForm([configField(`config-${id}`, text)], "Save config", async (values) => {
          const { version, updated_at } = shown;
          await patch(own, { config: values[`config-${id}`], version, updated_at });
          return redraw(`Saved the config of ${id}.`);
        }),
      ),
    ];
  }
  function attachForm(rest: readonly ToolJson[]): HTMLElement {
    const tool: Field = { name: "tool_id", label: "Tool", kind: rest.map(({ id }) => id), value: rest[0]?.id ?? "" };
    return folded(
      "Attach a tool",
      editForm([tool, configField("config", "")], "Attach", async (body) => {
        await post(path, body);
        return redraw(`Attached ${body.tool_id}.`);
      }),
    );
  }
  draw(tools);
  return section;
}

function configField(name: string, value: string): Field {
  return { name, label: "Config for this agent, in addition to the tool's (optional JSON)", kind: "json", value };
}

function copyForm({ id, name, description, prompt, model, settings }: AgentJson, tools: readonly AgentToolJson[]) {
  const fields: readonly Field[] = [
    { name: "copy-name", label: "Name of the copy", kind: "text", value: `${name} (copy)`, isRequired: true },
    { name: "copy-id", label: "Id of the copy (derived from the name if empty)", kind: "text", value: "" },
  ];
  return folded(
    `Copy ${id}`,
    editForm(fields, "Create copy", async (values) => {
      const made = await post<AgentJson>("/api/agents", {
        name: values["copy-name"],
        description,
        prompt,
        model,
        settings,
        ...presentProperties({ id: values["copy-id"] || null }),
        tools: tools.map(({ tool_id, config }) => ({ id: tool_id, config })),
      });
      return open("agents", made.id);
    }),
  );
}

export async function toolList(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void> {
  const { tools } = await get<{ tools: ToolJson[] }>("/api/tools");
  const handlers = [...new Set(["http", ...tools.map(({ handler_key }) => handler_key)])];
  const fields: readonly Field[] = [
    { name: "id", label: "Id", kind: "text", value: "", isRequired: true },
    { name: "handler_key", label: "Handler (http calls a URL)", kind: handlers, value: "http" },
    ...toolFields(NEW_TOOL).filter(({ name }) => name !== "name"),
  ];
  await searchedList<ToolJson>(page, query, signal, {
    title: "Tools",
    section: "tools",
    fields: null,
    none: "No tools yet. Create one below, or with art-e tools add.",
    search: "Search tools",
    load: async () => ({ lines: tools, next: null, total: tools.length }),
    columns: [
      { title: "Tool", sort: ({ id }) => id, cell: ({ id }) => idLink("tools", id) },
      { title: "Category", sort: ({ category }) => category },
      { title: "Handler", sort: ({ handler_key }) => handler_key, narrow: "left out" },
      { title: "Description", cell: ({ description }) => clipped(description), narrow: "new line" },
    ],
  });
  page.append(
    folded(
      "New tool",
      editForm(fields, "Create tool", async (body) => {
        const made = await post<ToolJson>("/api/tools", body);
        return open("tools", made.id);
      }),
    ),
  );
}

const NEW_TOOL: ToolForm = {
  name: "",
  description: "",
  category: "general",
  parameters_schema: {
    type: "object",
    properties: { query: { type: "string" } },
    required: ["query"],
    additionalProperties: false,
  },
  handler_config: { url: "https://example.com/search?q={{query}}" },
};

function toolFields(tool: ToolForm): Field[] {
  const json = (value: unknown) => JSON.stringify(value, null, 2);
  return [
    { name: "name", label: "Name", kind: "text", value: tool.name, isRequired: true },
    {
      name: "description",
      label: "Description for the model",
      kind: "prose",
      value: tool.description,
      isRequired: true,
    },
    { name: "category", label: "Category", kind: "text", value: tool.category, isRequired: true },
    {
      name: "parameters_schema",
      label: "Parameters (JSON Schema)",
      kind: "json",
      rows: 10,
      isRequired: true,
      value: json(tool.parameters_schema),
    },
    {
      name: "handler_config",
      label: "Handler config (JSON)",
      kind: "json",
      isRequired: true,
      value: json(tool.handler_config),
    },
  ];
}

export async function toolView(page: HTMLElement, id: string): Promise<void> {
  const tool = await get<ToolJson>(pathOf("tools", id));
  const title = h("h2", tool.name);
  const origin = tool.builtin ? " · built in" : "";
  page.append(title, h("p.hint.mono", `${tool.id} · ${tool.category} · ${tool.handler_key}${origin}`));
  if (tool.builtin) {
    page.append(
      untrustedText(tool.description, null, "p"),
      h("h3", "Parameters"),
      untrustedText(JSON.stringify(tool.parameters_schema, null, 2), "said", "pre"),
    );
    return;
  }
  let saved = tool;
  page.append(
    editForm(toolFields(tool), "Save", async (body) => {
      saved = await patch<ToolJson>(pathOf("tools", id), { ...body, updated_at: saved.updated_at });
      setText(title, saved.name);
      return "Saved.";
    }),
    deleteButton("Delete this tool", "Delete the tool permanently?", pathOf("tools", id), "tools"),
  );
}

export function folded(summary: string, ...children: readonly Child[]): HTMLElement {
  return h("details.edit", h("summary", summary), ...children);
}

/**
 * A form with fields and a button. `send` receives the values, with null for empty number and JSON fields, and returns
 * the text to show below. Its errors are shown there too, without clearing the fields.
 */
export function editForm(
  fields: readonly Field[],
  label: string,
  send: (values: Values) => Promise<string>,
): HTMLElement {
  const status = statusLine();
  const button = h("button.primary", { type: "submit" }, label);
  const inputs = fields.map((field) => ({ field, input: inputOf(field) }));
  const submit = async (event: Event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const values = inputs.map(({ field, input }) => [field.name, readField(field, input.value)]);
      const said = await send(Object.fromEntries(values));
      edits.setSaved();
      status.say(said);
    } catch (error) {
      status.say((error as Error).message, true);
    }
    button.disabled = false;
  };
  const rows = inputs.map(({ field: { label: name, kind }, input }) =>
    labeled(name, input, kind === "prose" || kind === "json" ? "long" : null),
  );
  const form = h("form.edit-form", { submit }, ...rows, h("div.long", button, status.element));
  const edits = trackEdits(
    form,
    inputs.map(({ input }) => input),
  );
  return form;
}

function inputOf(field: Field) {
  const input = emptyInput(field);
  input.value = String(field.value);
  return input;
}

function emptyInput({ name, kind, rows = 4, isRequired = false }: Field) {
  const attributes = { id: `edit-${name}`, required: isRequired, autocomplete: "off", spellcheck: "false" };
  switch (kind) {
    case "text":
    case "number":
      return h("input", { ...attributes, type: kind, step: kind === "number" ? "any" : null });
    case "prose":
    case "json":
      return h("textarea", { ...attributes, rows, class: kind === "json" ? "mono" : null });
    default:
      return select(attributes, kind);
  }
}

function readField({ kind, label }: Field, text: string): unknown {
  if (kind === "prose") return text;
  const trimmed = text.trim();
  if (kind !== "number" && kind !== "json") return trimmed;
  if (trimmed === "") return null;
  if (kind === "number") return Number(trimmed);
  try {
    return JSON.parse(trimmed);
  } catch (error) {
    throw new Error(`${label}: not valid JSON. ${(error as Error).message}`);
  }
}

/** Asks for confirmation before it deletes, then opens the list. */
function deleteButton(label: string, question: string, path: string, section: "agents" | "tools"): HTMLElement {
  const status = statusLine();
  const ask = h("button", { click: () => show(true) }, label);
  const yes = async () => {
    try {
      await remove(path);
      discardEdits();
      location.hash = section;
    } catch (error) {
      show(false);
      status.say((error as Error).message, true);
    }
  };
  const sure = h(
    "span",
    { hidden: true },
    `${question} `,
    h("button.label-bad", { click: yes }, "Delete"),
    " ",
    h("button", { click: () => show(false) }, "Keep"),
  );
  function show(isAsking: boolean): void {
    sure.hidden = !isAsking;
    ask.hidden = isAsking;
    status.say("");
    (isAsking ? sure.querySelector("button") : ask)?.focus();
  }
  return h("div.delete", ask, sure, status.element);
}
