"""Scores the agent's answer against expected.json, offline: grade.py EXPECTED LOGS

Writes LOGS/reward.json, LOGS/reward.txt (the same reward) and LOGS/details.json. The scores are those of art-e with
the same names: exact_match, semantic_score, number_match, date_match, sources_correct, sources_precision. The functions
that read dates, numbers and abstentions are added after the imports.
"""

import json
import math
import os
import re
import stat
import sys

# The first existing file counts. With some harnesses the agent writes to /workdir.
ANSWER_FILES = [
    "/app/answer.json",
    "/app/answer.txt",
    "/workdir/answer.json",
    "/workdir/answer.txt",
    "/logs/artifacts/answer.json",
    "/logs/artifacts/app/answer.json",
]
MAX_BYTES = 1_000_000
MAX_CHARS = 20_000
MAX_SOURCES = 1_000


def main():
    expected_path, logs = sys.argv[1:3]
    with open(expected_path, encoding="utf-8") as file:
        expected = json.load(file)
    path, answer, sources = read_answer(ANSWER_FILES)
    rewards = score(answer, sources, expected)
    details = {"answer_file": path, "answer": answer, "sources": sources, "scores": rewards}
    write(os.path.join(logs, "details.json"), json.dumps(details, indent=2))
    write(os.path.join(logs, "reward.txt"), f"{json.dumps(rewards['reward'])}\n")
    write(os.path.join(logs, "reward.json"), f"{json.dumps(rewards)}\n")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


# The answer: {"answer": TEXT, "sources": [MESSAGE_ID, ...]}, or plain text, whose last line can be "Sources: ...".


def read_answer(paths):
    for path in paths:
        text = read_file(path)
        if text is not None and text.strip() != "":
            return (path, *parse_answer(text))
    return None, None, []


def read_file(path):
    """Returns None if the file does not exist or is a link, because a link could lead to the gold answer."""
    try:
        if os.path.realpath(path) != path:
            return None
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            return file.read(MAX_BYTES).decode("utf-8", errors="replace").removeprefix("\ufeff")
    except OSError:
        return None


def parse_answer(text):
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return parse_plain(text)
    if not isinstance(parsed, dict):
        return (parsed, []) if isinstance(parsed, str) else parse_plain(text)
    answer = parsed.get("answer")
    sources = parsed.get("sources", [])
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        answer = json.dumps(answer)
    if isinstance(sources, str):
        sources = [sources]
    if not isinstance(sources, list):
        sources = []
    return (answer if isinstance(answer, str) else None, [each for each in sources if isinstance(each, str)][:MAX_SOURCES])


def parse_plain(text):
    answer, marker, listed = text.rpartition("\nSources:")
    if marker == "":
        return text.strip(), []
    return answer.strip(), re.split(r"[\s,;]+", listed.strip())[:MAX_SOURCES] if listed.strip() else []


# Scores


def score(answer, sources, expected):
    """Scores 0.8 for the answer and 0.2 for its sources. An exact answer gets the full 0.8, and abstaining is only
    right if the question cannot be answered."""
    gold = expected["answer"]
    scores = {}
    text = "" if answer is None else answer
    values, wanted = parse_values(text), parse_values(gold)
    scores["exact_match"] = float(answer is not None and normalize(text) == normalize(gold))
    scores["semantic_score"] = similarity(text, gold)
    numbers = [number for number in wanted["numbers"] if not number["is_pronoun"]]
    if numbers:
        scores["number_match"] = float(all(contains_number(number, values) for number in numbers))
    if wanted["days"] or wanted["times"]:
        days = all(any(matches_day(day, found) for found in values["days"]) for day in wanted["days"])
        scores["date_match"] = float(days and all(contains_time(time, values) for time in wanted["times"]))
    gold_mails = {bare(each) for each in expected["message_ids"]}
    cited = {bare(each) for each in sources}
    if gold_mails:
        scores["sources_correct"] = float(bool(cited & gold_mails))
        scores["sources_precision"] = len(cited & gold_mails) / len(cited) if cited else 0.0
    return {"reward": reward(answer, scores, expected["unanswerable"]), **scores}


def reward(answer, scores, unanswerable):
    if answer is None or answer.strip() == "":
        return 0.0
    if scores["exact_match"] == 0 and is_dont_know(answer) != unanswerable:
        return 0.0
    parts = [scores[name] for name in ("semantic_score", "number_match", "date_match") if name in scores]
    right = 1.0 if scores["exact_match"] == 1 or unanswerable else sum(parts) / len(parts)
    if "sources_precision" not in scores:
        return right
    return round(0.8 * right + 0.2 * scores["sources_precision"], 6)


def bare(message_id):
    return message_id.strip().removeprefix("<").removesuffix(">")


def normalize(text):
    return collapse(text.lower())


def similarity(answer, gold):
    """Returns the Jaccard similarity of the word sets, or 0 if both are empty."""
    a, b = word_set(answer), word_set(gold)
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def word_set(text):
    return set(re.findall(r"[a-z0-9_]+", text.lower()))


# Numbers, dates and times in prose. One number has all its possible values: 5% is 5 or 0.05.


def parse_values(text):
    days, times, rest = dates_and_times(text[:MAX_CHARS])
    return {"days": days, "times": times, "numbers": parse_numbers(rest)}


def contains_number(number, answer):
    wanted = number["values"]
    return (
        any(wanted & found["values"] for found in answer["numbers"])
        or any(minutes_after_midnight(value) in time for value in wanted for time in answer["times"])
        or any(year in wanted or day in wanted for year, _, day in answer["days"])
    )


def contains_time(time, answer):
    return any(time & found for found in answer["times"]) or any(
        minutes_after_midnight(value) in time for number in answer["numbers"] for value in number["values"]
    )


def minutes_after_midnight(value):
    """Reads 1430 as a 24-hour time. Returns -1 if it is not one."""
    if not math.isfinite(value) or value != math.floor(value) or value < 100:
        return -1
    hour, minute = divmod(value, 100)
    return hour * 60 + minute if minute < 60 else -1


if __name__ == "__main__":
    main()
