import { type AgentRun, newTranscript, runAgent } from "../../../agents/loop/agent-loop.js";
import { listTools } from "../../../agents/loop/list-tools.js";
import type { AgentBackend, AgentTask } from "../../../domain/agents/agent-backend.js";
import { renderPrompt } from "../../../domain/agents/prompt.js";
import type { AnswerContext } from "./answer-context.js";

/** The agent loop as a backend. */
export function agentLoopBackend(shared: AnswerContext): AgentBackend {
  return {
    answer(task, transcript) {
      const run = agentRun(shared, task);
      transcript.messages.push(...newTranscript(run).messages);
      return runAgent(run, transcript);
    },
  };
}

function agentRun(
  { agent, model, tools, maxTaskCostUsd }: AnswerContext,
  { id, epoch, instruction, variables, context, onActivity }: AgentTask,
): AgentRun {
  return {
    model,
    tools,
    system: renderPrompt(agent.prompt, {
      ...variables,
      max_turns: agent.settings.maxTurns,
      // Computed only where the prompt uses them.
      get tools() {
        return listTools(tools);
      },
    }),
    question: instruction,
    task: { id, epoch },
    settings: agent.settings,
    context,
    maxCostUsd: maxTaskCostUsd,
    onActivity,
  };
}
