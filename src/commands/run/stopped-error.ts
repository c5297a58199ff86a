import { LIMIT_FLAGS } from "../../app/run/budget.js";
import type { SessionEnd, Stopped } from "../../app/run/run-tasks.js";
import { Interrupted } from "../../app/use-case-context.js";
import { EXIT, UserError } from "../../domain/errors.js";
import { API_KEY_VARIABLES, isProvider } from "../../models/provider-names.js";

/** The error of a run that ended before its last task: why, and how to resume it. */
export function stoppedError({ totals, asked }: SessionEnd, stopped: Stopped): Error {
  const { runId, totalTasks, model } = totals;
  const saved = `${totalTasks} of ${asked} tasks are saved.`;
  const resume = `art-e run --resume ${runId}`;
  if (stopped.by === "user") return new Interrupted(`run ${runId} stopped: ${saved} Go on with: ${resume}`);
  const { why } = stopped;
  const hint = `${saved} ${hintFor(stopped, { resume, model, hasAnswers: totalTasks > 0 })}`;
  return new UserError("run_stopped", `Run ${runId} stopped: ${why}${why.endsWith(".") ? "" : "."}`, hint, EXIT.failed);
}

function hintFor(
  stopped: Exclude<Stopped, { by: "user" }>,
  { resume, model, hasAnswers }: { resume: string; model: string; hasAnswers: boolean },
): string {
  switch (stopped.by) {
    case "limit":
      if (stopped.flag === "--max-failures") return `Go on with: ${resume}`;
      return `Go on with a higher limit: ${resume} ${stopped.flag} ${LIMIT_FLAGS[stopped.flag]}`;
    case "key":
      return `Check ${keyOf(model)} and the account behind it; when it is accepted: ${resume}`;
    case "model":
      return hasAnswers
        ? `Go on with a model that the server has: ${resume} --force --model-id PROVIDER/NAME`
        : "Begin again with a model that the server has (--model-id PROVIDER/NAME), and check --base-url where one is given.";
    case "server":
      return `See that it runs and can be reached; then go on with: ${resume}`;
  }
}

function keyOf(model: string): string {
  const [provider = ""] = model.split("/");
  const variables = isProvider(provider) ? API_KEY_VARIABLES[provider] : [];
  return variables.length === 0 ? "the key" : `the key in ${variables.join(" or ")}`;
}
