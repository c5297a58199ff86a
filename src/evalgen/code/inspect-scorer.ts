import type { EvalDefinition } from "../../domain/evals/eval-definition.js";
import { pythonModule } from "./python-program.js";

/** Inspect's state has what a trace holds in other words. */
const TRACE_OF = `

def trace_of(state):
    """The state of a sample as the trace that eval_function reads."""
    import json

    results = {message.tool_call_id: message for message in state.messages if message.role == "tool"}
    calls, turns, answer, sources = [], [], state.output.completion, []
    for message in state.messages:
        if message.role != "assistant":
            continue
        asked = message.tool_calls or []
        turns.append({"finishReason": "tool_calls" if asked else "stop", "costUsd": None})
        for call in asked:
            tool = results.get(call.id)
            error = tool.error.message if tool is not None and tool.error is not None else None
            text = tool.text if tool is not None else ""
            try:
                result = json.loads(text)
            except ValueError:
                result = text
            calls.append({
                "name": call.function, "arguments": call.arguments, "result": None if error else result, "error": error,
                "errorKind": "unparsable_call" if call.parse_error else None, "turn": len(turns) - 1,
            })
            if call.function == "return_final_answer":
                answer = call.arguments.get("answer", answer)
                sources = call.arguments.get("sources", sources)
    if turns and state.output.stop_reason == "max_tokens":
        turns[-1]["finishReason"] = "length"
    ending = "answered" if answer else "out_of_turns"
    return {
        "answer": answer, "sources": sources, "ending": ending, "toolCalls": calls, "turns": turns, "messages": [],
        "durationMs": 0,
    }
`;

/** An eval as the source of an Inspect scorer, in a file that needs inspect_ai and nothing else. */
export function inspectSource(definition: EvalDefinition): string {
  return `${pythonModule(definition).trimEnd()}
${TRACE_OF}

from inspect_ai.scorer import Score, accuracy, scorer, stderr  # noqa: E402


@scorer(metrics=[accuracy(), stderr()])
def ${definition.name}():
    async def score(state, target):
        given = {"user_message": state.input_text, "task_id": state.sample_id}
        gold = {"expected_output": target.text}
        ${definition.kind === "rubric" ? CALL_RUBRIC : "value, feedback = eval_function(given, gold, trace_of(state), None)"}
        # NaN leaves a sample that the eval does not apply to out of the metrics.
        return Score(value=float("nan") if value is None else value, answer=state.output.completion, explanation=feedback)

    return score
`;
}

/** Inspect's models are asynchronous: the prompt is taken from the function, then asked, then its reply is read. */
const CALL_RUBRIC = `from types import SimpleNamespace

        from inspect_ai.model import get_model

        asked = []

        def keep(prompt, *_):
            asked.append(prompt)
            return "PASS"

        trace = trace_of(state)
        eval_function(given, gold, trace, SimpleNamespace(call_llm=keep))
        reply = await get_model().generate(asked[0])
        value, feedback = eval_function(given, gold, trace, SimpleNamespace(call_llm=lambda *_: reply.completion))`;
