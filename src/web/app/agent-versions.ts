// The comparison of two versions of an agent.
import type { AgentVersionJson } from "../../server/response-shapes.js";
import { h, minuteText, replaceChildren, select } from "../dom.js";
import { lineDifferences } from "../report/differences.js";
import { get } from "./api.js";
import { loadLibraries } from "./libraries.js";
import { labeled } from "./lists.js";

/** Compares two versions of an agent, or is null if there is only one. `query` can contain `versions=2,5`. */
export async function versionComparison(agentId: string, query: URLSearchParams): Promise<HTMLElement | null> {
  const path = `agents/${encodeURIComponent(agentId)}`;
  const { versions } = await get<{ versions: readonly AgentVersionJson[] }>(`/api/${path}/versions`);
  const [newest, previous] = versions;
  if (newest === undefined || previous === undefined) return null;
  const linked = query.get("versions")?.split(",") ?? [];
  const shown = h("div", { role: "status" });
  const definitionOf = (number: string) => versions.find(({ version }) => String(version) === number)?.definition ?? "";
  const show = async () => {
    await loadLibraries("diff");
    const differences = lineDifferences(definitionOf(before.value), definitionOf(after.value));
    replaceChildren(shown, differences ?? h("p.hint", "The two versions are equal."));
  };
  const change = () => {
    history.replaceState(history.state, "", `#${path}?versions=${before.value},${after.value}`);
    void show();
  };
  const options = versions.map(
    ({ version, created_at: at }) => [String(version), `${version}, ${minuteText(at)}`] as const,
  );
  const choose = (id: string, value: string) => {
    const list = select({ id, change }, options);
    list.value = value;
    return list;
  };
  const before = choose("version-before", linked[0] ?? String(previous.version));
  const after = choose("version-after", linked[1] ?? String(newest.version));
  const lists = h("div.edit-form", labeled("From version", before), labeled("To version", after));
  return h(
    "details.edit",
    { open: linked.length > 0, toggle: () => void show() },
    h("summary", `Compare versions (${versions.length})`),
    lists,
    shown,
  );
}
