import type { ModelsJson, ModeProposalJson, NoteCountJson, TaxonomyJson } from "../../server/response-shapes.js";
import { costText, h, intervalText, replaceChildren, scoreText, untrustedInline, untrustedText } from "../dom.js";
import { get, post } from "./api.js";
import { changeLock } from "./label.js";
import { labelled, statusLine, table } from "./lists.js";

/** Groups coding notes into failure modes. */
export async function modesView(page: HTMLElement): Promise<void> {
  const [taxonomy, { models }] = await Promise.all([
    get<TaxonomyJson>("/api/evals/modes"),
    get<ModelsJson>("/api/models"),
  ]);
  const view = new Modes(models.filter(({ provider }) => provider !== "offline").map(({ id }) => id));
  view.show(taxonomy);
  page.append(...view.elements);
}

class Modes {
  private readonly status = statusLine();
  private readonly body = h("div");
  private readonly change = changeLock({
    setBusy: (isBusy) => this.body.setAttribute("aria-busy", String(isBusy)),
    say: this.status.say,
  });
  readonly elements: readonly HTMLElement[] = [h("h2", {}, "Failure modes"), this.status.element, this.body];
  private proposals: ModeProposalJson["modes"] = [];

  /** `models` are examples of the models that can propose modes. */
  constructor(private readonly models: readonly string[]) {}

  show(taxonomy: TaxonomyJson): void {
    const { coded, nothing_wrong: nothingWrong, ungrouped, modes } = taxonomy;
    const names = h("datalist", { id: "mode-names" }, ...modes.map(({ name }) => h("option", { value: name })));
    replaceChildren(
      this.body,
      h(
        "p",
        { class: "hint" },
        `${coded} coded traces, ${nothingWrong} with nothing wrong. `,
        h("a", { href: "#code/latest" }, "Code more traces"),
        " here, or with ",
        h("code", {}, "art-e evals code"),
      ),
      names,
      modes.length === 0 ? "" : modeTable(modes),
      ...modes.map((mode) => this.modeForm(mode)),
      ungrouped.length === 0 ? "" : this.ungroupedForm(ungrouped),
      ungrouped.length === 0 ? "" : this.proposalForm(),
      ...this.proposals.map((proposal, i) => this.proposedMode(proposal, i)),
      coded > 0 && ungrouped.length === 0
        ? h("p", { class: "notice" }, "Every coded trace has a label for every mode. Next: ", h("code", {}, NEXT))
        : "",
    );
  }

  private proposalForm(): HTMLElement {
    const [first] = this.models;
    if (first === undefined) {
      return h(
        "p",
        { class: "hint" },
        "A model can propose modes if the server has a provider's API key: see ",
        h("code", {}, "art-e env"),
      );
    }
    const model = h("input", { id: "proposer", type: "text", value: first, list: "proposers", autocomplete: "off" });
    const propose = () =>
      this.change(async () => {
        this.status.say(`${model.value} is grouping the notes …`);
        const body = { model: model.value.trim() };
        const { modes, left, cost_usd: cost } = await post<ModeProposalJson>("/api/evals/mode-proposals", body);
        this.proposals = modes;
        this.show(await get<TaxonomyJson>("/api/evals/modes"));
        this.status.say(`${modes.length} proposed, ${left.length} notes left out. Cost: ${costText(cost)}.`);
      });
    return h(
      "div",
      { class: "label-buttons" },
      labelled("Model that proposes modes", model),
      h("datalist", { id: "proposers" }, ...this.models.map((value) => h("option", { value }))),
      h("button", { type: "button", click: () => void propose() }, "Propose modes"),
    );
  }

  /** Nothing changes before a proposal is accepted. */
  private proposedMode({ name, sentence, notes }: ModeProposalJson["modes"][number], i: number): HTMLElement {
    const field = h("input", { id: `proposed-${i}`, type: "text", value: name, autocomplete: "off" });
    const remove = () => {
      this.proposals = this.proposals.filter((proposal) => proposal.notes !== notes);
    };
    const texts = notes.map(({ note }) => note);
    const accept = () => this.apply({ action: "assign", mode: field.value.trim(), sentence, notes: texts }, remove);
    const skip = (event: Event) => {
      remove();
      (event.target as Element).closest("section")?.remove();
    };
    return h(
      "section",
      { class: "proposal", "aria-label": `Proposed mode ${name}` },
      untrustedText(sentence, null, "p"),
      h("ul", {}, ...notes.map(({ note, traces }) => h("li", {}, untrustedInline(note), ` (${traces})`))),
      labelled("Name of the proposed mode", field),
      h(
        "div",
        { class: "label-buttons" },
        h("button", { type: "button", class: "primary", click: () => void accept() }, "Accept"),
        h("button", { type: "button", click: skip }, "Skip"),
      ),
    );
  }

  private ungroupedForm(notes: readonly NoteCountJson[]): HTMLElement {
    return this.notesForm({
      title: "Notes without a failure mode",
      notes,
      id: "ungrouped",
      isOpen: true,
      actions: [["Assign to", (name, chosen) => ({ action: "assign", mode: name, notes: chosen })]],
    });
  }

  private modeForm({ name, notes }: TaxonomyJson["modes"][number]): HTMLElement {
    return this.notesForm({
      title: name,
      notes,
      id: name,
      isOpen: false,
      actions: [
        ["Split into", (to, chosen) => ({ action: "split", mode: name, name: to, notes: chosen })],
        ["Also assign to", (to, chosen) => ({ action: "assign", mode: to, notes: chosen })],
        ["Rename to", (to) => ({ action: "rename", mode: name, name: to })],
        ["Merge into", (to) => ({ action: "merge", mode: name, into: to })],
      ],
      withoutName: [
        ["Take out", (chosen) => ({ action: "unassign", mode: name, notes: chosen })],
        ["Fix in the prompt", () => ({ action: "describe", mode: name, fix: "prompt" })],
        ["Delete", () => ({ action: "delete", mode: name })],
      ],
    });
  }

  private notesForm({ title, notes, id, isOpen, actions, withoutName = [] }: NotesForm): HTMLElement {
    const boxes = notes.map(({ note }, i) => h("input", { type: "checkbox", id: `${id}-${i}`, value: note }));
    const name = h("input", { id: `${id}-name`, type: "text", list: "mode-names", autocomplete: "off" });
    const chosen = () => boxes.filter(({ checked }) => checked).map(({ value }) => value);
    const button = (text: string, change: () => ModeChangeJson) =>
      h("button", { type: "button", click: () => void this.apply(change()) }, text);
    return h(
      "details",
      { open: isOpen },
      h("summary", {}, title),
      h(
        "ul",
        { class: "mode-notes" },
        ...notes.map(({ note, traces }, i) =>
          h("li", {}, boxes[i] ?? "", h("label", { for: `${id}-${i}` }, untrustedInline(note), ` (${traces})`)),
        ),
      ),
      labelled("Name of the failure mode, such as wrong_year", name),
      h(
        "div",
        { class: "label-buttons" },
        ...actions.map(([text, change]) => button(text, () => change(name.value.trim(), chosen()))),
        ...withoutName.map(([text, change]) => button(text, () => change(chosen()))),
      ),
    );
  }

  private apply(change: ModeChangeJson, done = () => {}): Promise<void> {
    return this.change(async () => {
      const { mode, traces, taxonomy } = await post<ChangedModesJson>("/api/evals/modes", change);
      done();
      this.show(taxonomy);
      this.status.say(`Saved: ${mode}, ${traces} ${traces === 1 ? "trace" : "traces"}.`);
    });
  }
}

const NEXT = "art-e evals suggest --modes";

function modeTable(modes: TaxonomyJson["modes"]): HTMLElement {
  const largest = Math.max(...modes.map(({ rate }) => rate.value ?? 0));
  return table(
    "Failure modes",
    ["Failure mode", "Traces", "Rate (95%)", "", "Fix"],
    modes.map(({ name, traces, rate, fix }) => [
      name,
      traces,
      `${scoreText(rate.value)} (${intervalText(rate)})`,
      h("meter", {
        class: "mode-rate",
        min: 0,
        max: largest || 1,
        value: rate.value ?? 0,
        "aria-label": `Rate of ${name}`,
      }),
      fix,
    ]),
  );
}

type ModeChangeJson = Readonly<Record<string, string | readonly string[]>>;

interface NotesForm {
  readonly title: string;
  readonly notes: readonly NoteCountJson[];
  /** Prefix of the ids of the fields. */
  readonly id: string;
  readonly isOpen: boolean;
  /** Changes that need a name. */
  readonly actions: readonly (readonly [text: string, change: (name: string, notes: string[]) => ModeChangeJson])[];
  readonly withoutName?: readonly (readonly [text: string, change: (notes: string[]) => ModeChangeJson])[];
}

interface ChangedModesJson {
  readonly mode: string;
  readonly traces: number;
  readonly taxonomy: TaxonomyJson;
}
