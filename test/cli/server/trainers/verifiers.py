"""A stand-in for verifiers that checks an environment against the contract of MultiTurnEnv (August 2026): its parts, the
order of its method calls, and its messages and states. Its model is first_hit, or answers in plain text."""

import asyncio
import copy
import inspect
import json
from types import SimpleNamespace as Message

from first_hit import read_result, tool_call

State = dict
Messages = list


class Error(Exception):
    pass


class InfraError(Error):
    pass


def stop(method):
    method.kind = "stop"
    return method


def cleanup(method):
    method.kind = "cleanup"
    return method


class Rubric:
    def __init__(self, funcs, weights=None):
        self.funcs, self.weights = funcs, weights or [1.0] * len(funcs)
        assert all(inspect.iscoroutinefunction(func) for func in funcs)

    async def score(self, state):
        known = {"state": state, "info": state["info"], "prompt": state["prompt"], "completion": state["completion"]}
        scores = {}
        for func in self.funcs:
            scores[func.__name__] = await func(**{name: known[name] for name in inspect.signature(func).parameters})
        state["metrics"] = scores
        state["reward"] = sum(score * weight for score, weight in zip(scores.values(), self.weights))


class Environment:
    pass


class MultiTurnEnv(Environment):
    def __init__(self, dataset, rubric, tool_defs, max_turns=-1, eval_dataset=None):
        self.builders, self.rubric, self.max_turns = {"train": dataset, "eval": eval_dataset}, rubric, max_turns
        self.tool_defs = tool_defs
        for tool in tool_defs:
            assert set(tool) == {"name", "description", "parameters"} and tool["parameters"]["type"] == "object"
        members = [member for _, member in inspect.getmembers(self, inspect.ismethod)]
        self.stops = [member for member in members if getattr(member, "kind", "") == "stop"]
        self.cleanups = [member for member in members if getattr(member, "kind", "") == "cleanup"]

    def get_dataset(self, which="train"):
        return self.builders[which]()

    async def rollout(self, row, model):
        info = row["info"]
        state = State(info=json.loads(info) if isinstance(info, str) else copy.deepcopy(info))
        state.update(prompt=[message(m) for m in row["prompt"]], trajectory=[], final_env_response=None, error=None)
        try:
            state = await self.setup_state(state) or state
        except Error as error:
            state["error"] = error
        while state["error"] is None and state["final_env_response"] is None:
            if any([await condition(state) for condition in self.stops]) or len(state["trajectory"]) == self.max_turns:
                break
            try:
                prompt = state["prompt"]
                if state["trajectory"]:
                    last = state["trajectory"][-1]
                    prompt = last["prompt"] + last["completion"]
                    prompt = prompt + [message(m) for m in await self.env_response(prompt, state)]
                if state["final_env_response"] is None:
                    prompt = [message(m) for m in prompt]
                    state["trajectory"].append({"prompt": prompt, "completion": [await model(prompt, self.tool_defs)]})
            except Error as error:
                state["error"] = error
        state["completion"] = [reply for step in state["trajectory"] for reply in step["completion"]]
        for handler in self.cleanups:
            await handler(state)
        await self.rubric.score(state)
        return state


def message(raw):
    """A message of verifiers has attributes, even if an environment returns a plain dict."""
    if isinstance(raw, Message):
        return raw
    assert raw["role"] in ("system", "user", "tool") and isinstance(raw["content"], str)
    return Message(**raw)


async def first_hit(prompt, tools):
    names = [tool["name"] for tool in tools]
    instructions, question = prompt[0].content, prompt[1].content
    results = [read_result(m.content) for m in prompt if m.role == "tool"]
    name, arguments = tool_call(question, instructions, results)
    assert name in names
    call = Message(id=f"call_{len(prompt)}", name=name, arguments=json.dumps(arguments))
    return Message(role="assistant", content="", tool_calls=[call])


async def plain_text(prompt, tools):
    return Message(role="assistant", content="I don't know", tool_calls=None)


async def main():
    from art_e_mail import load_environment

    environment = load_environment(split="test", eval_split="test", num_train=20, num_eval=2)
    assert len(environment.get_dataset("eval")) == 2
    rows = environment.get_dataset()
    for model in (first_hit, plain_text):
        states = await asyncio.gather(*(environment.rollout(rows[i], model) for i in range(len(rows))))
        for state in states:
            assert state["error"] is None, state["error"]
            line = {"model": model.__name__, "index": state["info"]["index"], "reward": state["reward"]}
            print(json.dumps({**line, "system": state["prompt"][0]["content"]}))


if __name__ == "__main__":
    import sys

    # The environment imports `verifiers`, which is this program.
    sys.modules["verifiers"] = sys.modules["__main__"]
    asyncio.run(main())
