import type { JsonObject } from "../../../src/platform/json.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";

/**
 * A model over HTTP that plays a scripted agent: it makes one tool call per turn, depending on the task's instruction.
 */

export interface ScriptedCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

export const shell = (command: string): ScriptedCall => ({ name: "run_shell", arguments: { command } });
export const python = (code: string): ScriptedCall => ({ name: "execute_python", arguments: { code } });

const DONE: ScriptedCall = { name: "return_final_answer", arguments: { answer: "Done.", sources: [] } };

/** `callsFor` returns the calls for a task with this instruction, before the final answer. */
export function startScriptedAgent(callsFor: (instruction: string) => readonly ScriptedCall[]): Promise<FakeProvider> {
  return startFakeProvider(({ turn, question }) => ({ toolCalls: [callsFor(question)[turn] ?? DONE] }));
}

export function providerVariables(provider: FakeProvider): Record<string, string> {
  return { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url };
}
