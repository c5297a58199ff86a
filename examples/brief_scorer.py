"""A scorer: `art-e evals add examples/brief_scorer.py`, then `art-e evals run brief_scorer@1`."""


def eval_function(task, task_metadata, trace, ctx):
    """The answer has at most 14 words."""
    words = len((trace["answer"] or "").split())
    return (1.0 if words <= 14 else 0.0), f"{words} words"
