import { UserError } from "../../domain/errors.js";
import type { EvalDefinition } from "../../domain/evals/eval-definition.js";
import { runPythonEval } from "../../evalgen/python/run-python-eval.js";
import type { EvalBackends } from "../../evalgen/run-evals.js";
import { chooseSandbox } from "../../sandbox/choose-sandbox.js";

/** What runs evals on this machine. A sandbox that does not start is an error of each outcome. */
export function openEvalBackends(): EvalBackends {
  return {
    async python(definition, traces, signal) {
      const unusable = (why: string) =>
        traces.map(() => ({ score: null, reason: "", error: `Python cannot be run: ${why}`, ms: 0, costUsd: 0 }));
      const choice = await chooseSandbox();
      if (!choice.ok) return unusable(choice.why);
      try {
        return await runPythonEval(definition, traces, choice.sandbox, signal);
      } catch (error) {
        signal.throwIfAborted();
        return unusable((error as Error).message);
      }
    },
  };
}

/** Throws where this machine cannot run one of the evals. */
export async function requireRunnable(definitions: readonly EvalDefinition[]): Promise<void> {
  const python = definitions.find(({ kind }) => kind === "python");
  if (python === undefined) return;
  const choice = await chooseSandbox();
  if (choice.ok) return;
  throw new UserError(
    "sandbox_missing",
    `The eval ${python.name} is written in Python, which needs a sandbox: ${choice.why}.`,
    choice.hint,
  );
}
