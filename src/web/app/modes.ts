import type { NoteCountJson, TaxonomyJson } from "../../server/response-shapes.js";
import { h, intervalText, replaceChildren, scoreText, untrustedInline } from "../dom.js";
import { get, post } from "./api.js";
import { changeLock } from "./label.js";
import { labelled, statusLine, table } from "./lists.js";

/** Groups coding notes into failure modes. */
export async function modesView(page: HTMLElement): Promise<void> {
  const view = new Modes();
  view.show(await get<TaxonomyJson>("/api/evals/modes"));
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
      ),
      names,
      modes.length === 0 ? "" : modeTable(modes),
      ...modes.map((mode) => this.modeForm(mode)),
      ungrouped.length === 0 ? "" : this.ungroupedForm(ungrouped),
      coded > 0 && ungrouped.length === 0
        ? h("p", { class: "notice" }, "Every coded trace has a label for every mode. Next: ", h("code", {}, NEXT))
        : "",
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

  private apply(change: ModeChangeJson): Promise<void> {
    return this.change(async () => {
      const { mode, traces, taxonomy } = await post<ChangedModesJson>("/api/evals/modes", change);
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
