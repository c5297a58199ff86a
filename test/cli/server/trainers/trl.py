"""A stand-in for TRL that checks an environment against GRPOTrainer's requirements (TRL 1.10, transformers 5): its
creation, which methods are tools and their descriptions, the arguments of `reset`, and the source of rewards. Its model
is first_hit. Writes the rewards to standard output, one line per rollout."""

import inspect
import json
import re
import types
import typing

from first_hit import next_call, read_result

BASIC = {str: "string", int: "integer", float: "number", bool: "boolean"}


class GRPOConfig:
    def __init__(self, output_dir=None, max_steps=1, num_generations=2, per_device_train_batch_size=2, **others):
        assert per_device_train_batch_size % num_generations == 0 and num_generations >= 2
        self.max_steps, self.generations, self.batch = max_steps, num_generations, per_device_train_batch_size


class GRPOTrainer:
    def __init__(self, model, reward_funcs, args, train_dataset, environment_factory):
        self.reward_funcs = reward_funcs if isinstance(reward_funcs, list) else [reward_funcs]
        self.args, self.dataset, self.factory = args, train_dataset, environment_factory
        self.pool = [environment_factory()]
        self.tools = {tool["function"]["name"]: tool for tool in map(json_schema, tool_methods(self.pool[0]))}

    def train(self):
        groups = self.args.batch // self.args.generations
        for step in range(self.args.max_steps):
            rows = [self.dataset[(step * groups + i) % len(self.dataset)] for i in range(groups)]
            self.roll_out([row for row in rows for _ in range(self.args.generations)])

    def roll_out(self, inputs):
        while len(self.pool) < len(inputs):
            self.pool.append(self.factory())
        environments = self.pool[: len(inputs)]
        prompts, completions = [], []
        for environment, row in zip(environments, inputs):
            observation = environment.reset(**row)
            assert observation is None or isinstance(observation, str)
            last = row["prompt"][-1]
            prompts.append(row["prompt"][:-1] + [{**last, "content": last["content"] + (observation or "")}])
        for environment, prompt in zip(environments, prompts):
            completions.append(self.generate(environment, prompt[-1]["content"].split("\n")[0]))
        columns = {key: [row[key] for row in inputs] for key in inputs[0] if key != "prompt"}
        for function in self.reward_funcs:
            rewards = function(
                prompts=prompts,
                completions=completions,
                completion_ids=[[0]] * len(inputs),
                environments=environments,
                trainer_state=None,
                **columns,
            )
            for row, reward, completion in zip(inputs, rewards, completions):
                assert reward is None or isinstance(reward, float)
                print(json.dumps({"index": row["index"], "reward": reward, "messages": len(completion)}), flush=True)

    def generate(self, environment, question):
        tools = {method.__name__: method for method in tool_methods(environment)}
        names = {"search": "email_search", "read": "read", "answer": "return_final_answer"}
        completion, results = [], []
        while True:
            kind, arguments = next_call(question, results)
            function = {"name": names[kind], "arguments": arguments}
            completion.append({"role": "assistant", "tool_calls": [{"type": "function", "function": function}]})
            try:
                content = str(tools[names[kind]](**arguments))
            except Exception as error:
                content = str({"error": str(error)})
            completion.append({"role": "tool", "name": names[kind], "content": content})
            if kind == "answer":
                return [*completion, {"role": "assistant", "content": "Done."}]
            results.append(read_result(content))


def tool_methods(environment):
    members = inspect.getmembers(environment, predicate=inspect.ismethod)
    assert "reset" in dict(members)
    return [member for name, member in members if name not in ("reset", "get_reward") and not name.startswith("_")]


def json_schema(function):
    """Returns the schema of a function with a Google-style docstring and a type for each parameter. Raises an error if
    one is missing."""
    doc = inspect.getdoc(function)
    description, _, sections = doc.partition("Args:\n")
    arguments = re.split(r"\n\s*(?:Returns|Raises):", sections)[0]
    described = dict(re.findall(r"^\s+(\w+): (.+)$", arguments, re.MULTILINE))
    hints = typing.get_type_hints(function)
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        properties[name] = {**json_type(hints[name]), "description": described[name]}
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    assert description.strip() and set(described) == set(properties)
    parameters = {"type": "object", "properties": properties, "required": required}
    return {
        "type": "function",
        "function": {"name": function.__name__, "description": description.strip(), "parameters": parameters},
    }


def json_type(hint):
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (one,) = [arg for arg in args if arg is not type(None)]
        return {**json_type(one), "nullable": True}
    if origin is list:
        return {"type": "array", "items": json_type(args[0])}
    return {"type": BASIC[hint]}
