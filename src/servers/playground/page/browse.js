import { ask, post } from "./api.js";
import { duration, el, outside, share, table, when } from "./dom.js";

const link = (section, id) => el("a", { href: `#${section}/${encodeURIComponent(id)}` }, id);

export async function agentList(page) {
  const { agents } = await ask("/api/agents");
  page.append(
    el("h2", {}, "Agents"),
    table(
      "Agents",
      ["Agent", "Name", "Model", "Tools", "Version"],
      agents.map((agent) => [
        link("agents", agent.id),
        outside("span", agent.name),
        agent.model ?? "the chat's",
        outside("span", agent.tools.join(", "), "clip"),
        String(agent.version),
      ]),
    ),
    el("p", { class: "hint" }, "art-e agents create makes one of your own; so does POST /api/agents."),
  );
}

export async function agentView(page, id) {
  const agent = await ask(`/api/agents/${encodeURIComponent(id)}`);
  page.append(
    el("h2", {}, agent.name),
    outside("p", agent.description),
    el(
      "dl",
      { class: "facts" },
      [
        ["Id", agent.id],
        ["Model", agent.model ?? "the chat's"],
        [
          "Settings",
          Object.entries(agent.settings)
            .map(([name, value]) => `${name} ${value}`)
            .join(", "),
        ],
        ["Version", `${agent.version}, changed ${when(agent.updated_at)}`],
        [
          "Tools",
          el(
            "span",
            {},
            agent.tools.flatMap((tool) => [link("tools", tool), " "]),
          ),
        ],
      ].map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
    ),
    el("h3", {}, "Prompt"),
    outside("pre", agent.prompt, "said"),
    el("p", {}, el("a", { class: "button", href: `#chat/${encodeURIComponent(agent.id)}` }, "Ask this agent")),
  );
}

export async function toolList(page) {
  const { tools } = await ask("/api/tools");
  page.append(
    el("h2", {}, "Tools"),
    table(
      "Tools",
      ["Tool", "Category", "Handler", "What the model reads"],
      tools.map((tool) => [
        link("tools", tool.id),
        tool.category,
        tool.handler_key,
        outside("span", tool.description, "clip"),
      ]),
    ),
  );
}

export async function toolView(page, id) {
  const tool = await ask(`/api/tools/${encodeURIComponent(id)}`);
  page.append(
    el("h2", {}, tool.name),
    el("p", { class: "hint mono" }, `${tool.id} · ${tool.category} · ${tool.handler_key}`),
    outside("p", tool.description),
    el("h3", {}, "Parameters"),
    outside("pre", JSON.stringify(tool.parameters_schema, null, 2), "said"),
  );
}

export async function runList(page) {
  const { runs } = await ask("/api/runs");
  page.append(
    el("h2", {}, "Runs"),
    runs.length === 0
      ? el("p", { class: "notice" }, "No runs yet: art-e run -a AGENT makes one.")
      : table(
          "Runs",
          ["Run", "Agent", "Model", "Tasks", "Status", "Started"],
          runs.map((run) => [
            link("runs", run.id),
            run.agent_id,
            run.model,
            `${run.tasks} of ${run.total_tasks}`,
            run.status,
            when(run.started_at),
          ]),
        ),
  );
}

export async function runView(page, id) {
  const path = `/api/runs/${encodeURIComponent(id)}`;
  const run = await ask(path);
  const facts = [
    ["Agent", `${run.agentId} (${run.model})`],
    [
      "Tasks",
      `${run.totalTasks} of the ${run.split} split: ${run.completedTasks} completed, ${run.failedTasks} failed`,
    ],
    ["Exact match", share(run.exactMatchAccuracy)],
    ["Semantic score", share(run.avgSemanticScore)],
    ["Sources correct", share(run.sourcesCorrect)],
    ["Gold mail found", share(run.foundGold)],
    ["Cost", run.costUsd === null ? "price not known" : `$${run.costUsd.toFixed(2)}`],
  ];
  const open = el("button", { type: "button", onclick: () => openReport(path) }, "Open the report");
  const rows = [];
  const body = el("div");
  const more = el("button", { type: "button", onclick: () => load() }, "Show more");
  async function load() {
    const { taskResults, has_more, total_count } = await ask(`${path}/results?limit=100&offset=${rows.length}`);
    rows.push(...taskResults);
    more.hidden = !has_more;
    body.replaceChildren(
      el("p", { class: "hint" }, `${rows.length} of ${total_count}`),
      table(
        "Results",
        ["Task", "Question", "Answer", "Right answer", "Score", "Ending", "Took"],
        rows.map((row) => [
          el("a", { href: `#trace/${encodeURIComponent(row.traceId)}` }, String(row.taskId)),
          outside("span", row.question, "clip"),
          outside("span", row.agentAnswer || "–", "clip"),
          outside("span", row.groundTruth, "clip"),
          share(row.semanticScore),
          row.ending,
          duration(row.executionTimeMs),
        ]),
      ),
    );
  }
  await load();
  page.append(
    el("h2", {}, "Run"),
    el("p", { class: "hint mono" }, run.runId),
    el(
      "dl",
      { class: "facts" },
      facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
    ),
    open,
    el("h3", {}, "Results"),
    body,
    more,
  );
}

/** The window is opened at the click, or the browser would take it for one that nobody asked for. */
async function openReport(path) {
  const report = window.open("", "_blank");
  try {
    const { url } = await post(`${path}/report`, {});
    report.location.href = url;
  } catch (error) {
    report.close();
    throw error;
  }
}
