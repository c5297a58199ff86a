// The buttons that steer a running run.
import type { ControlChanges, ControlCommand, ControlledRun } from "../../runs/control-protocol.js";
import type { RunProgress } from "../../traces/progress.js";
import { h, replaceChildren } from "../dom.js";
import { get, post } from "./api.js";
import { statusLine } from "./lists.js";
import { editForm, folded } from "./registry.js";
import type { RunPanel } from "./run-task-lists.js";

/** Milliseconds between requests for the state, which another program can change. */
const REFRESH_MS = 2_000;

type Command = ControlCommand["command"];

interface RunControls extends RunPanel {
  /** State of the run, or null if this machine does not execute it. */
  readonly controlled: ControlledRun | null;
}

/**
 * Steers a run that is running on the server's machine: the buttons of `art-e ctl`. Hidden for other runs. Calls
 * `onState` with each new state.
 */
export function runControls(id: string, signal: AbortSignal, onState: () => void): RunControls {
  let controlled: ControlledRun | null = null;
  const path = `/api/runs/${encodeURIComponent(id)}/control`;
  const status = statusLine();
  const reason = h("input", { placeholder: "Reason (recorded)", "aria-label": "Reason", maxlength: 1_000 });
  const send = async (command: object) => {
    const body = { ...command, reason: reason.value.trim() || null };
    const { run, message } = await post<{ run: ControlledRun; message: string }>(path, body);
    showState(run);
    return `${message[0]?.toUpperCase()}${message.slice(1)}.`;
  };
  const button = (label: string, command: { readonly command: Command; readonly now?: boolean }) => {
    const click = () => send(command).then(status.say, (error: Error) => status.say(error.message, true));
    return h("button", { click }, label);
  };
  const pause = button("Pause", { command: "pause" });
  const resume = button("Resume", { command: "resume" });
  const requeue = button("Run failed tasks again", { command: "requeue" });
  const cancel = button("Stop after running tasks", { command: "cancel", now: false });
  const stopNow = askFirst(
    "Stop now",
    "Running tasks end without a result, and a resume runs them again.",
    button("Stop running tasks", { command: "cancel", now: true }),
  );
  const limits = editForm(LIMITS, "Set", (values) => send({ command: "set", changes: changesOf(values) }));
  const changes = h("ul.hint");
  const element = h(
    "section",
    { hidden: true, "aria-label": "Steer the run" },
    h("p.run-actions", pause, resume, requeue, cancel, stopNow, reason),
    status.element,
    folded("Limits", limits),
    changes,
  );
  const showState = (run: ControlledRun) => {
    controlled = run;
    onState();
    element.hidden = false;
    pause.hidden = run.state !== "running";
    resume.hidden = run.state !== "paused";
    requeue.hidden = run.failedTasks === 0;
    cancel.hidden = run.state === "canceled";
    replaceChildren(changes, ...run.changes.map((change) => h("li", change)));
  };
  const hide = () => {
    controlled = null;
    element.hidden = true;
  };
  let nextRefresh = 0;
  const refresh = () => {
    if (Date.now() < nextRefresh || signal.aborted) return;
    nextRefresh = Date.now() + REFRESH_MS;
    get<{ run: ControlledRun | null }>(path).then(
      ({ run }) => (run === null ? hide() : showState(run)),
      () => hide(),
    );
  };
  return {
    element,
    get controlled() {
      return controlled;
    },
    show({ status: now }: RunProgress, isOpen) {
      if (now === "running" && isOpen) refresh();
      else hide();
    },
  };
}

/** A button that shows what would happen and a second button, which does it. */
function askFirst(label: string, question: string, really: HTMLButtonElement): HTMLElement {
  const ask = h("button", { "aria-expanded": "false" }, label);
  const asked = h("span", { hidden: true }, question, " ", really, " ");
  const show = (isAsked: boolean) => {
    asked.hidden = !isAsked;
    ask.hidden = isAsked;
    ask.setAttribute("aria-expanded", String(isAsked));
    (isAsked ? really : ask).focus();
  };
  const keep = h("button.quiet", { click: () => show(false) }, "Keep running");
  ask.addEventListener("click", () => show(true));
  really.addEventListener("click", () => show(false));
  asked.append(keep);
  return h("span", ask, asked);
}

/** In the units of the flags of `art-e ctl set`. */
const LIMITS = [
  { name: "concurrency", label: "Concurrent tasks (number or auto)", kind: "text", value: "" },
  { name: "rpm", label: "Requests per minute", kind: "number", value: "" },
  { name: "tpm", label: "Tokens per minute", kind: "number", value: "" },
  { name: "taskTimeoutMs", label: "Timeout of a task, in seconds", kind: "number", value: "" },
  { name: "maxCostUsd", label: "Cost budget, in US dollars", kind: "number", value: "" },
  { name: "maxTokens", label: "Token budget", kind: "number", value: "" },
  { name: "maxTimeMs", label: "Time budget, in minutes", kind: "number", value: "" },
] as const;

const FACTORS: Readonly<Record<string, number>> = { taskTimeoutMs: 1_000, maxTimeMs: 60_000 };

/** Converts a form's values to changes. Throws if no limit is entered. */
function changesOf(values: Readonly<Record<string, unknown>>): ControlChanges {
  const entered = Object.entries(values).filter(([, value]) => value !== null && value !== "");
  if (entered.length === 0) throw new Error("Enter a limit.");
  return Object.fromEntries(
    entered.map(([name, value]) => [name, value === "auto" ? value : Number(value) * (FACTORS[name] ?? 1)]),
  );
}
