// Repeating a stored task in the playground: its recorded settings, an editable prompt, and both answers side by side.
import type { RepeatJson, TraceDetailsJson } from "../../server/response-shapes.js";
import { counted, duration } from "../../text/format.js";
import { type Child, h, scoreText, untrustedInline } from "../dom.js";
import { figureTable } from "../report/figure-table.js";
import { spaceWords } from "../report/header.js";
import { get } from "./api.js";
import { type Fact, factList, idLink, labeled } from "./lists.js";

/** A link to the playground with the recorded agent, model and question of a trace. */
export function playgroundLink(traceId: string): HTMLElement {
  const href = `#chat?${new URLSearchParams({ repeats: traceId })}`;
  return h("a", { href, "aria-keyshortcuts": "p" }, "Open in playground");
}

export function loadRepeat(traceId: string): Promise<RepeatJson> {
  return get<RepeatJson>(`/api/traces/${encodeURIComponent(traceId)}/repeat`);
}

interface RepeatPanel {
  readonly repeat: RepeatJson;
  /** The edited prompt, or null for the recorded one. */
  readonly prompt: string | null;
  onPrompt(prompt: string | null): void;
  onEnd(): void;
}

/** The recorded settings that the next answer uses, with the prompt in a text field. */
export function repeatPanel({ repeat, prompt, onPrompt, onEnd }: RepeatPanel): HTMLElement {
  const field = h("textarea.mono", { id: "prompt", rows: 8, spellcheck: "false" });
  field.value = prompt ?? repeat.prompt;
  const edited = h("span.hint", { role: "status" }, "edited");
  const restore = h("button.quiet", "Restore the recorded prompt");
  const showEdited = () => {
    const isEdited = field.value !== repeat.prompt;
    edited.hidden = restore.hidden = !isEdited;
    return isEdited;
  };
  const save = () => onPrompt(showEdited() ? field.value : null);
  field.addEventListener("input", save);
  restore.addEventListener("click", () => {
    field.value = repeat.prompt;
    save();
  });
  showEdited();
  return h(
    "section.repeat",
    { "aria-label": "Repeated task" },
    h(
      "p.run-actions",
      h("b", "Repeats ", idLink("trace", repeat.trace_id, "this trace")),
      h("button.quiet", { click: onEnd }, "Use current settings"),
    ),
    factList(factsOf(repeat)),
    h(
      "details",
      { open: prompt !== null },
      h("summary", "Prompt ", edited),
      labeled("Prompt with its {{variables}}", field),
      restore,
    ),
  );
}

function factsOf({ agent_version, base_url, settings }: RepeatJson): Fact[] {
  const { maxTurns, maxTokens, reasoningTokens, reasoningEffort, temperature, toolCalls, toolChoice } = settings;
  const parameters = [
    counted(maxTurns, "turn"),
    `${counted(maxTokens, "token")} per reply`,
    temperature !== undefined && `temperature ${temperature}`,
    reasoningTokens !== undefined && counted(reasoningTokens, "reasoning token"),
    reasoningEffort !== undefined && `reasoning effort ${reasoningEffort}`,
    toolCalls === "first" && "first tool call only",
    toolChoice === "required" && "tool calls required",
  ];
  return [
    ["Agent version", String(agent_version)],
    ["Model server", base_url],
    ["Parameters", parameters.filter((part) => part !== false).join(", ")],
  ];
}

/** The recorded and the new answer next to each other, with the scores of both. */
export async function comparedAnswers(recordedId: string, newId: string): Promise<HTMLElement> {
  const path = (id: string) => `/api/traces/${encodeURIComponent(id)}`;
  const sides = await Promise.all([recordedId, newId].map((id) => get<TraceDetailsJson>(path(id))));
  const labels = new Map(sides.flatMap(({ scores }) => scores.map(({ name, label }) => [name, label])));
  const scores = [...labels].flatMap(([name, label]) => {
    const values = sides.map(({ scores }) => scores.find((score) => score.name === name)?.value ?? null);
    return values.every((value) => value === null) ? [] : [{ label, values }];
  });
  const [differing, equal] = [scores.filter(isDifferent), scores.filter((score) => !isDifferent(score))];
  const [recorded] = sides;
  const gold = recorded?.trace.kind === "question" ? recorded.trace.task.answer : "";
  const rows: [label: string, ...cells: Child[]][] = [
    ["Answer", ...sides.map(({ answer, ending }) => untrustedInline(answer ?? spaceWords(ending)))],
    ...differing.map(({ label, values }): [string, ...Child[]] => [label, ...values.map(scoreText)]),
    ["Model", ...sides.map(({ model }) => untrustedInline(model))],
    ["Took", ...sides.map(({ duration_ms }) => duration(duration_ms))],
  ];
  const columns = ["", "Recorded", "New"];
  return h(
    "div.served",
    figureTable(
      { className: "of-words", caption: "Recorded and new answer", columns },
      rows.map(([label, ...cells]) => ({ label: [label], cells: cells.map((cell) => [cell]) })),
    ),
    scores.length === 0
      ? h("p.meta", "Scores appear if the question is the recorded one and has a gold answer.")
      : equal.length > 0 &&
          h("p.meta", `Equal: ${equal.map(({ label, values }) => `${label} ${scoreText(values[0])}`).join(", ")}`),
    gold !== "" && h("p.meta", "Gold answer: ", untrustedInline(gold)),
  );
}

function isDifferent({ values: [recorded, now] }: { readonly values: readonly (number | null)[] }): boolean {
  return recorded !== now;
}
