"""ART-E for verifiers: `load_environment()` over the episodes of `art-e env serve`.

Set ART_E_ENV_URL to the server's URL (default: http://127.0.0.1:8000) and ART_E_TOKEN to its token (default: none).
Written by `art-e env client --for verifiers`. Requires Python 3.11 and no packages except those of verifiers.
"""

import asyncio
from typing import Any

import verifiers as vf
from environment_client import EnvironmentClient, EnvironmentFailure, ToolFailure, task_rows


def load_environment(
    split: "str | None" = None,
    eval_split: "str | None" = "test",
    num_train: "int | None" = None,
    num_eval: "int | None" = None,
    max_turns: int = 30,
) -> "vf.Environment":
    """Loads the questions of two splits, by default `train` (if available) and `test`, from the running server."""
    client = EnvironmentClient()
    try:
        tools = client.tools()
    finally:
        client.close()
    return MailEnv(
        dataset=lambda: _dataset(split, num_train),
        eval_dataset=lambda: _dataset(eval_split, num_eval),
        rubric=vf.Rubric(funcs=[mail_reward]),
        tool_defs=[
            {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}
            for tool in tools
        ],
        max_turns=max_turns,
    )


async def mail_reward(state: "vf.State") -> float:
    """Returns the server's reward for the episode."""
    return state["mail_reward"]


class MailEnv(vf.MultiTurnEnv):
    """An episode is a question about a mailbox. It ends with return_final_answer or a reply in plain text."""

    async def setup_state(self, state: "vf.State", **_: Any) -> "vf.State":
        client = EnvironmentClient()
        state["mail_client"] = client
        try:
            task = await asyncio.to_thread(client.reset, **state["info"])
        except EnvironmentFailure as failure:
            raise vf.InfraError(str(failure)) from failure
        state["prompt"] = [
            {"role": "system", "content": task["instructions"]},
            {"role": "user", "content": task["question"]},
        ]
        return state

    async def env_response(self, messages: "vf.Messages", state: "vf.State", **_: Any) -> "vf.Messages":
        client = state["mail_client"]
        results = []
        for call in messages[-1].tool_calls:
            try:
                content = await asyncio.to_thread(client.call, call.name, call.arguments)
            except ToolFailure as failure:
                content = f"Error: {failure}"
            except EnvironmentFailure as failure:
                raise vf.InfraError(str(failure)) from failure
            results.append({"role": "tool", "tool_call_id": call.id, "content": content})
        if client.done:
            state["final_env_response"] = results
        return results

    @vf.stop
    async def answered_in_text(self, state: "vf.State") -> bool:
        return bool(state["trajectory"]) and not getattr(_last_reply(state), "tool_calls", None)

    @vf.cleanup
    async def end_episode(self, state: "vf.State") -> None:
        client = state.get("mail_client")
        if client is None:
            return
        if state["trajectory"] and not getattr(_last_reply(state), "tool_calls", None):
            await asyncio.to_thread(client.answer_in_text, _last_reply(state).content)
        state["mail_reward"] = client.reward or 0.0
        await asyncio.to_thread(client.close)


def _last_reply(state: "vf.State") -> Any:
    return state["trajectory"][-1]["completion"][-1]


def _dataset(split: "str | None", limit: "int | None") -> Any:
    from datasets import Dataset

    # The episode's question replaces this prompt.
    prompt = [{"role": "user", "content": "A question to a mailbox"}]
    return Dataset.from_list([{"prompt": prompt, "info": row} for row in task_rows(split, limit)])
