"""A stand-in for OpenPipe's ART: a trajectory, and a model with an OpenAI client, which is first_hit or answers in
plain text. Its completions are like those of the openai package."""

import asyncio
import json
from types import SimpleNamespace as Namespace

from first_hit import read_result, tool_call


class Trajectory:
    def __init__(self, messages_and_choices, reward, tools=None, metrics=None, metadata=None):
        assert all(value is None or isinstance(value, (int, float, str, bool)) for value in (metadata or {}).values())
        self.messages_and_choices, self.reward, self.tools = messages_and_choices, reward, tools
        self.metrics, self.metadata = dict(metrics or {}), dict(metadata or {})

    def messages(self):
        return [self.as_message(item) for item in self.messages_and_choices]

    @staticmethod
    def as_message(item):
        if isinstance(item, dict):
            return item
        calls = item.message.tool_calls
        return {"role": "assistant", "content": item.message.content, **({"tool_calls": calls} if calls else {})}

    def finish(self):
        assert all(isinstance(value, (int, float, bool)) for value in self.metrics.values())
        return self


class Model:
    def __init__(self, talks):
        self.talks = talks

    def get_inference_name(self):
        return "scripted"

    def openai_client(self):
        return Namespace(chat=Namespace(completions=Namespace(create=self.create)))

    async def create(self, model, messages, tools):
        names = [tool["function"]["name"] for tool in tools if tool["type"] == "function"]
        usage = Namespace(prompt_tokens=100, completion_tokens=10)
        if self.talks:
            message = Namespace(content="I don't know", tool_calls=None)
        else:
            results = [read_result(m["content"]) for m in messages if m["role"] == "tool"]
            name, arguments = tool_call(messages[1]["content"], messages[0]["content"], results)
            assert name in names
            function = Namespace(name=name, arguments=json.dumps(arguments))
            message = Namespace(content=None, tool_calls=[Namespace(id=f"call_{len(messages)}", function=function)])
        return Namespace(choices=[Namespace(message=message)], usage=usage, model=model)


async def main():
    from art_e_rollout import mail_rows, rollout

    for talks in (False, True):
        rows = mail_rows("test", 20)
        for row, trajectory in zip(rows, await asyncio.gather(*(rollout(Model(talks), row) for row in rows))):
            line = {"index": row["index"], "reward": trajectory.reward, "system": trajectory.messages()[0]["content"]}
            print(json.dumps({"model": "plain_text" if talks else "first_hit", **line}))


if __name__ == "__main__":
    import sys

    # The rollout imports `art`, which is this program.
    sys.modules["art"] = sys.modules["__main__"]
    asyncio.run(main())
