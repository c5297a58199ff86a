# Runs an eval over a batch of traces inside the sandbox. Reads eval.py and arguments.jsonl, and writes outcomes.jsonl:
# one line when the code has been loaded, and for each trace one line at the start and one with the outcome.
import json
import math
import os
import signal
import sys
import time
import types


class TimeLimit(BaseException):
    pass


class EvalContext:
    """The `ctx` argument of eval functions. The sandbox blocks the network, so it cannot call a model."""

    def __init__(self):
        self._cache = {}

    def call_llm(self, *args, **options):
        raise RuntimeError("Python evals cannot call a model. Use a rubric.")

    def get_cost_so_far(self):
        return 0.0

    def get_remaining_budget(self):
        return 0.0

    def has_cache(self, key):
        return key in self._cache

    def get_cache(self, key):
        return self._cache.get(key)

    def set_cache(self, key, value):
        self._cache[key] = value


def describe(error):
    trace = error.__traceback__
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "eval.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    line = error.lineno if isinstance(error, SyntaxError) else line
    try:
        message = str(error)
    except BaseException:
        message = "?"
    text = f": {message[:300]}" if message else ""
    place = "" if line is None else f" (line {line})"
    return f"{type(error).__name__}{text}{place}"


def read_result(result):
    """Returns the score (None if the eval does not apply) and the reason. Raises ValueError for anything else."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ValueError(f"it returned {type(result).__name__}, expected (score, reason)")
    score, reason = result
    if score is None:
        return None, str(reason)[:500]
    if not isinstance(score, (int, float)):
        raise ValueError(f"the score is a {type(score).__name__}, expected a number")
    score = float(score)
    if not math.isfinite(score) or not 0.0 <= score <= 1.0:
        raise ValueError(f"the score is {score}, expected 0 to 1")
    return score, str(reason)[:500]


def run(seconds):
    write, dumps, clock, timer = os.write, json.dumps, time.perf_counter, signal.setitimer
    out = os.open("outcomes.jsonl", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def record(**line):
        write(out, (dumps(line) + "\n").encode())

    def stop(signum, frame):
        raise TimeLimit()

    # Discards the eval's output, so that it cannot fill a disk.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    # Counts processor time, so that a busy machine does not change a verdict. The sandbox ends a process that sleeps.
    signal.signal(signal.SIGPROF, stop)
    module = types.ModuleType("eval")
    try:
        with open("eval.py", encoding="utf-8") as file:
            exec(compile(file.read(), "eval.py", "exec", dont_inherit=True), module.__dict__)
        function = module.__dict__["eval_function"]
        if not callable(function):
            raise TypeError("eval_function is not a function")
    except KeyError:
        record(fatal="eval_function(task, task_metadata, trace, ctx) is missing")
        return
    except BaseException as error:
        record(fatal=describe(error))
        return
    record(loaded=True)
    with open("arguments.jsonl", encoding="utf-8") as lines:
        for index, line in enumerate(lines):
            given = json.loads(line)
            record(trace=index)
            start = clock()
            try:
                timer(signal.ITIMER_PROF, seconds)
                result = function(given["task"], given["task_metadata"], given["trace"], EvalContext())
                score, reason = read_result(result)
                timer(signal.ITIMER_PROF, 0)
                outcome = {"score": score, "reason": reason, "error": None}
            except TimeLimit:
                error = f"it took more than {seconds:g} s"
                record(trace=index, ms=(clock() - start) * 1000, score=None, reason="", error=error, slow=True)
                # The caller decides whether to run the remaining traces.
                return
            except BaseException as error:
                timer(signal.ITIMER_PROF, 0)
                outcome = {"score": None, "reason": "", "error": describe(error)}
            record(trace=index, ms=(clock() - start) * 1000, **outcome)


run(SECONDS)
