"""ART-E for ART: a rollout over the episodes of `art-e env serve`.

    art-e env serve -s train
    rows = mail_rows()
    groups = await art.gather_trajectory_groups(
        art.TrajectoryGroup(rollout(model, row) for _ in range(8)) for row in rows[:12]
    )
    await model.train(groups)

Set ART_E_ENV_URL to the server's URL (default: http://127.0.0.1:8000) and ART_E_TOKEN to its token (default: none).
Written by `art-e env client --for art`. Requires Python 3.10 and no packages except those of ART.
"""

import asyncio
from typing import Any

import art
from environment_client import EnvironmentClient, EnvironmentFailure, ToolFailure, task_rows

MAX_TURNS = 30


def mail_rows(split: "str | None" = None, limit: "int | None" = None) -> list[dict[str, Any]]:
    """Returns the tasks, one row per task for `rollout`."""
    return task_rows(split, limit)


async def rollout(model: "art.Model", row: dict[str, Any]) -> "art.Trajectory":
    """Plays one episode, with the server's reward and scores. Raises if the server or the model fails."""
    client = EnvironmentClient()
    try:
        task = await asyncio.to_thread(client.reset, **row)
        tools = [_openai_tool(tool) for tool in await asyncio.to_thread(client.tools)]
        trajectory = art.Trajectory(
            messages_and_choices=[
                {"role": "system", "content": task["instructions"]},
                {"role": "user", "content": task["question"]},
            ],
            tools=tools,
            reward=0.0,
            metadata={"split": row.get("split"), "index": row.get("index")},
        )
        turns = 0
        while not client.done and turns < MAX_TURNS:
            turns += 1
            completion = await model.openai_client().chat.completions.create(
                model=model.get_inference_name(), messages=trajectory.messages(), tools=tools
            )
            trajectory.messages_and_choices.append(completion.choices[0])
            await _act(client, completion, trajectory)
        if client.reward is None:
            raise EnvironmentFailure("the episode has no reward")
        trajectory.reward = client.reward
        trajectory.metrics.update(client.components, turns=turns)
        return trajectory.finish()
    finally:
        await asyncio.to_thread(client.close)


async def _act(client: EnvironmentClient, completion: Any, trajectory: "art.Trajectory") -> None:
    message, usage = completion.choices[0].message, completion.usage
    if not message.tool_calls:
        await asyncio.to_thread(client.answer_in_text, message.content)
        return
    reply: dict[str, Any] = {"content": message.content or ""}
    if usage is not None:
        reply["usage"] = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
    for call in message.tool_calls:
        try:
            content = await asyncio.to_thread(client.call, call.function.name, call.function.arguments, reply)
        except ToolFailure as failure:
            content = f"Error: {failure}"
        reply = {}
        trajectory.messages_and_choices.append({"role": "tool", "tool_call_id": call.id, "content": content})


def _openai_tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}
    return {"type": "function", "function": function}
