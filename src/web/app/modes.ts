// The section that groups coding notes into failure modes.
import type {
  ChangedModesJson,
  ModelsJson,
  ModeProposalJson,
  NoteCountJson,
  TaxonomyJson,
} from "../../server/response-shapes.js";
import { counted } from "../../text/format.js";
import { costText, h, intervalText, replaceChildren, scoreText, untrustedInline, untrustedText } from "../dom.js";
import { get, post } from "./api.js";
import { changeLock } from "./decision-page.js";
import { labeled, numeric, statusLine, table, twoLines } from "./lists.js";

type Proposal = ModeProposalJson["modes"][number];

interface ProposalActions {
  apply(change: ModeChangeJson, accepted: Proposal): void;
  remove(proposal: Proposal): void;
}

type ModeChangeJson = Readonly<Record<string, string | readonly string[]>>;

/** Changes by the text of their button, for the name in the form's field and the selected notes. */
type Actions = Readonly<Record<string, (name: string, notes: string[]) => ModeChangeJson>>;

/** Groups coding notes into failure modes. */
export async function modesView(page: HTMLElement): Promise<void> {
  const status = statusLine();
  const body = h("div");
  const change = changeLock(body, status.say);
  let proposals: readonly Proposal[] = [];
  const [taxonomy, { models }] = await Promise.all([load(), get<ModelsJson>("/api/models")]);
  const proposers = models.filter(({ provider }) => provider !== "offline").map(({ id }) => id);

  const apply = (made: ModeChangeJson, accepted: Proposal | null = null) =>
    change(async () => {
      const { mode, traces, taxonomy: now } = await post<ChangedModesJson>("/api/evals/modes", made);
      if (accepted !== null) remove(accepted);
      show(now);
      status.say(`Saved: ${mode}, ${counted(traces, "trace")}.`);
    });
  const remove = (proposal: Proposal) => {
    proposals = proposals.filter((other) => other !== proposal);
  };
  const propose = (model: string) =>
    change(async () => {
      status.say(`${model} is grouping the notes …`);
      const found = await post<ModeProposalJson>("/api/evals/mode-proposals", { model });
      proposals = found.modes;
      show(await load());
      const left = `${counted(found.left.length, "note")} left out`;
      status.say(`${proposals.length} proposed, ${left}. Cost: ${costText(found.cost_usd)}.`);
    });
  const show = ({ coded, nothing_wrong: nothingWrong, ungrouped, modes }: TaxonomyJson) =>
    replaceChildren(
      body,
      h(
        "p.hint",
        coded === 0
          ? "No traces are coded yet. "
          : `${counted(coded, "coded trace")}, ${nothingWrong} with nothing wrong. `,
        h("a", { href: "#code/latest" }, coded === 0 ? "Note what goes wrong in each trace" : "Code more traces"),
        " here, or with ",
        h("code", "art-e evals code"),
        ".",
      ),
      h("datalist", { id: "mode-names" }, ...modes.map(({ name }) => h("option", { value: name }))),
      modes.length > 0 && modeTable(modes),
      ...modes.map(({ name, notes }) => notesForm(name, notes, actionsOf(name), apply)),
      ungrouped.length > 0 && [
        notesForm("Notes without a failure mode", ungrouped, UNGROUPED, apply),
        proposalForm(proposers, propose),
      ],
      ...proposals.map((proposal, i) => proposedMode(proposal, `proposed-${i}`, { apply, remove })),
      coded > 0 &&
        ungrouped.length === 0 &&
        h("p.notice", "Every coded trace has a label for every mode. Next: ", h("code", "art-e evals suggest")),
    );
  show(taxonomy);
  page.append(h("h2", "Failure modes"), status.element, body);
}

function load(): Promise<TaxonomyJson> {
  return get("/api/evals/modes");
}

function proposalForm(models: readonly string[], propose: (model: string) => void): HTMLElement {
  const [value] = models;
  if (value === undefined) {
    const words = "A model can propose modes if the server has a provider's API key: see ";
    return h("p.hint", words, h("code", "art-e env"));
  }
  const model = h("input", { id: "proposer", type: "text", value, list: "proposers", autocomplete: "off" });
  return h(
    "div.label-buttons",
    labeled("Model that proposes modes", model),
    h("datalist", { id: "proposers" }, ...models.map((id) => h("option", { value: id }))),
    h("button", { click: () => propose(model.value.trim()) }, "Propose modes"),
  );
}

/** Nothing changes before a proposal is accepted. */
function proposedMode(proposal: Proposal, id: string, { apply, remove }: ProposalActions): HTMLElement {
  const { name, sentence, notes } = proposal;
  const mode = h("input", { id, type: "text", value: name, autocomplete: "off" });
  const texts = notes.map(({ note }) => note);
  const accept = () => apply({ action: "assign", mode: mode.value.trim(), sentence, notes: texts }, proposal);
  const skip = () => {
    remove(proposal);
    section.remove();
  };
  const section = h(
    "section.proposal",
    { "aria-label": `Proposed mode ${name}` },
    untrustedText(sentence, null, "p"),
    h("ul", ...notes.map(({ note, traces }) => h("li", untrustedInline(note), ` (${traces})`))),
    labeled("Name of the proposed mode", mode),
    h("div.label-buttons", h("button.primary", { click: accept }, "Accept"), h("button", { click: skip }, "Skip")),
  );
  return section;
}

const UNGROUPED: Actions = { "Assign to": (mode, notes) => ({ action: "assign", mode, notes }) };

function actionsOf(mode: string): Actions {
  return {
    "Split into": (name, notes) => ({ action: "split", mode, name, notes }),
    "Also assign to": (to, notes) => ({ action: "assign", mode: to, notes }),
    "Rename to": (name) => ({ action: "rename", mode, name }),
    "Merge into": (into) => ({ action: "merge", mode, into }),
    "Take out": (_, notes) => ({ action: "unassign", mode, notes }),
    "Fix in the prompt": () => ({ action: "describe", mode, fix: "prompt" }),
    Delete: () => ({ action: "delete", mode }),
  };
}

function notesForm(
  title: string,
  notes: readonly NoteCountJson[],
  actions: Actions,
  apply: (change: ModeChangeJson) => void,
): HTMLElement {
  const boxes = notes.map(({ note }, i) => h("input", { type: "checkbox", id: `${title}-${i}`, value: note }));
  const name = h("input", { id: `${title}-name`, type: "text", list: "mode-names", autocomplete: "off" });
  const chosen = () => boxes.filter(({ checked }) => checked).map(({ value }) => value);
  const items = notes.map(({ note, traces }, i) =>
    h("li", boxes[i] ?? null, h("label", { for: `${title}-${i}` }, untrustedInline(note), ` (${traces})`)),
  );
  const buttons = Object.entries(actions).map(([text, action]) =>
    h("button", { click: () => apply(action(name.value.trim(), chosen())) }, text),
  );
  return h(
    "details",
    { open: actions === UNGROUPED },
    h("summary", title),
    h("ul.mode-notes", items),
    labeled("Name of the failure mode, such as wrong_year", name),
    h("div.label-buttons", buttons),
  );
}

function modeTable(modes: TaxonomyJson["modes"]): HTMLElement {
  const max = Math.max(...modes.map(({ rate }) => rate.value ?? 0)) || 1;
  return table(
    "Failure modes",
    ["Failure mode", numeric("Traces"), "Rate (95%)", "Fix", "Labels"],
    modes.map(({ name, traces, rate, fix }) => [
      name,
      traces,
      twoLines(
        `${scoreText(rate.value)} (${intervalText(rate)})`,
        h("meter.mode-rate", { min: 0, max, value: rate.value ?? 0, "aria-label": `Rate of ${name}` }),
      ),
      fix,
      h("a", { href: `#label/latest?${new URLSearchParams({ criterion: name, order: "confirm" })}` }, "Look again"),
    ]),
  );
}
