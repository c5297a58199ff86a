"""Scores the agent's answer against expected.json, offline: grade.py EXPECTED LOGS

Writes LOGS/reward.json, LOGS/reward.txt (the same reward) and LOGS/details.json. The scores are those of art-e with
the same names: exact_match, semantic_score, number_match, date_match, sources_correct, sources_precision.
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

# White space of JavaScript's \s, because these scores are defined with it.
S = "[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"


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
    return re.sub(f"{S}+", " ", text.lower()).strip(" ")


def similarity(answer, gold):
    """Returns the Jaccard similarity of the word sets, or 0 if both are empty."""
    a, b = word_set(answer), word_set(gold)
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def word_set(text):
    return set(re.findall(r"[a-z0-9_]+", text.lower()))


# Numbers, dates and times in prose. One number has all its possible values: 5% is 5 or 0.05.


def parse_values(text):
    days, times, rest = parse_dates_and_times(text[:MAX_CHARS])
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


def matches_day(wanted, found):
    if wanted[1] != found[1] or (wanted[2] is not None and wanted[2] != found[2]):
        return False
    return wanted[0] is None or found[0] is None or wanted[0] == found[0]


SCALES = {
    **{"hundred": 100, "dozen": 12, "k": 1e3, "thousand": 1e3, "m": 1e6, "mm": 1e6, "mil": 1e6, "million": 1e6},
    **{"b": 1e9, "bn": 1e9, "billion": 1e9, "trillion": 1e12},
}
# Scale letters that are also units (meter, millimeter, byte).
AMBIGUOUS = {"m", "mm", "b"}

PHONE = re.compile(r"(?<![\d-])(?:\+?1[-. ])?\(?(\d{3})\)?[-. ]{1,2}(\d{3})[-. ](\d{4})(?!\d)", re.ASCII)
DIGITS = re.compile(
    rf"(?<!\w)(?<!\d\.)([-−](?=[$€£]?[\d.]))?[$€£]?{S}?(?=\.?\d)(\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d+)?(\.\d+)?"
    rf"(?:(?:{S}|-)?(hundred|dozen|thousand|million|mil|billion|bn|trillion)s?\b|(mm|k|m|b)\b)?"
    rf"({S}?%|{S}?(?:percent|per cent|pct)\b)?",
    re.ASCII,
)
ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
WORD_VALUES = {
    **{word: value for value, word in enumerate(ONES)},
    **{word: (i + 2) * 10 for i, word in enumerate(TENS)},
}
WORD = "|".join([*WORD_VALUES, "hundred", "thousand", "million", "billion"])
SPELLED = re.compile(
    rf"(?<![\w-])(?:an? )?(?:{WORD}|dozen)(?:(?:{S}|-|,? and )(?:{WORD}|dozen))*(?![\w])"
    rf"({S}?%|{S}(?:percent|per cent|pct)\b)?",
    re.ASCII,
)


def parse_numbers(text):
    found = []

    def add(values, is_pronoun=False):
        rounded = {value if math.isinf(value) else float(f"{value:.12g}") for value in values}
        found.append({"values": rounded, "is_pronoun": is_pronoun})
        return " "

    def phone(match):
        return add([float("".join(match.groups()))])

    def digits(match):
        minus, whole, decimals, scale, letter, percent = match.groups()
        number = float(f"{'-' if minus else ''}{(whole or '0').replace(',', '')}{decimals or ''}")
        scaled = number * SCALES.get(scale or letter or "", 1)
        values = [scaled, number] if letter in AMBIGUOUS else [scaled]
        return add(values if percent is None else [*values, scaled / 100])

    def spelled(match):
        value = value_of_words(match.group(0))
        if value is None:
            return match.group(0)
        percent = match.group(1)
        return add([value] if percent is None else [value, value / 100], match.group(0).strip() == "one")

    SPELLED.sub(spelled, DIGITS.sub(digits, PHONE.sub(phone, text.lower())))
    return found


def value_of_words(text):
    """Returns the value of `one hundred and twenty-five thousand`, or None if it is not finite."""
    total = part = 0.0
    for word in re.findall(r"[a-z]+", text):
        scale = SCALES.get(word)
        if word in WORD_VALUES:
            part += WORD_VALUES[word]
        elif scale in (100, 12):
            part = (part or 1) * scale
        elif scale is not None and len(word) > 3:
            total += (part or 1) * scale
            part = 0.0
    return total + part if math.isfinite(total + part) else None


NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
DAY = r"(\d{1,2})(?:st|nd|rd|th)?(?![\d:]|[a-z]|,\d{3}(?!\d)|\.\d)"
YEAR = r"(\d{4}|'\d{2})(?!\d)"
HOUR_MINUTE = r"(\d{1,2})(?:[:.](\d{2}))?"
AM_PM = r"([ap])\.?m\b\.?"


# A day is (year or None, month, day or None). A time is the set of its readings in minutes after midnight.


def valid_day(year, month, day):
    return (year, month, day) if 1 <= month <= 12 and (day is None or 1 <= day <= 31) else None


def month_first(a, b, year):
    return valid_day(year, int(a), int(b)) or valid_day(year, int(b), int(a))


def month_of(name):
    return NAMES.index(name[:3]) + 1


def year_of(digits):
    """Reads two digits as a year from 1950 to 2049."""
    if digits is None:
        return None
    year = int(digits.replace("'", ""))
    return year if year >= 100 else 2000 + year if year < 50 else 1900 + year


def time_of_day(hour, minute, is_time=True):
    return {hour * 60 + minute} if is_time and hour < 24 and minute < 60 else None


def am_or_pm(hour, minute):
    if hour > 23 or minute > 59:
        return None
    if hour == 0 or hour > 12:
        return {hour * 60 + minute}
    return {(hour % 12) * 60 + minute, (hour % 12 + 12) * 60 + minute}


def half_day(hour, minute, half):
    hour = int(hour)
    return time_of_day(hour % 12 + (12 if half == "p" else 0), int(minute or 0), 0 < hour <= 12)


# Tried in this order. Each pattern's matches are masked before the next is tried.
DATE_PATTERNS = [
    (r"(?<![\d/-])(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?![\d/-])", lambda y, m, d: valid_day(year_of(y), int(m), int(d))),
    (
        rf"(?<![\w:/.,-]){DAY}{S}+(?:of{S}+)?{MONTH}(?![a-z])(?:,?{S}+{YEAR})?",
        lambda d, name, y: valid_day(year_of(y), month_of(name), int(d)),
    ),
    (
        rf"(?<![a-z]){MONTH}{S}+(?:the{S}+)?{DAY}(?:,?{S}+(?:of{S}+)?{YEAR})?",
        lambda name, d, y: valid_day(year_of(y), month_of(name), int(d)),
    ),
    (rf"(?<![a-z]){MONTH}(?:,|{S}+of)?{S}+{YEAR}", lambda name, y: valid_day(year_of(y), month_of(name), None)),
    (
        r"(?<![\d/.-])(\d{1,2})([/-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])",
        lambda a, _, b, y: month_first(a, b, year_of(y)),
    ),
    (r"(?<![\d/.-])(\d{1,2})\/(\d{1,2})(?![\d/]|\.\d)", lambda m, d: valid_day(None, int(m), int(d))),
]
TIME_PATTERNS = [
    # The start of a range that has am or pm only at its end.
    (
        rf"(?<![\w:.$]){HOUR_MINUTE}(?={S}*(?:-|–|to|until){S}*\d{{1,2}}(?:[:.]\d{{2}})?{S}*{AM_PM})",
        lambda h, m, _: am_or_pm(int(h), int(m or 0)),
    ),
    (rf"(?<![\w:.$]){HOUR_MINUTE}(?::\d{{2}})?{S}*{AM_PM}", half_day),
    (rf"(?:\b12(?::00)?{S}*)?\b(?:noon|midday)\b", lambda: time_of_day(12, 0)),
    (rf"(?:\b12(?::00)?{S}*)?\bmidnight\b", lambda: time_of_day(0, 0)),
    (r"(?<![\w:.])(\d{1,2}):(\d{2})(?::\d{2})?(?![\d:])", lambda h, m: am_or_pm(int(h), int(m))),
    (
        rf"(?<![\w:.,$/-])([01]\d|2[0-3])([0-5]\d)(?={S}*(?:hours|hrs|h)\b)",
        lambda h, m: time_of_day(int(h), int(m)),
    ),
    (r"(?<![\w:.,$/-])(0\d)([0-5]\d)(?![\w/-]|[.,]\d)", lambda h, m: time_of_day(int(h), int(m))),
]


def parse_dates_and_times(text):
    """Returns dates and times of day. Numeric dates are month first, unless only day first is valid."""
    days, times, rest = [], [], text.lower()
    for patterns, found in ((DATE_PATTERNS, days), (TIME_PATTERNS, times)):
        for pattern, read in patterns:

            def mask(match, read=read, found=found):
                value = read(*match.groups())
                if value is None:
                    return match.group(0)
                found.append(value)
                # Mask with a letter: after a space, the hyphen of a range would be read as a minus.
                return "x" * len(match.group(0))

            rest = re.sub(pattern, mask, rest, flags=re.ASCII)
    return days, times, rest


# Matches "I don't know" in its many forms. In doubt the text counts as an answer: if it continues after the abstention,
# or describes what one email does not mention.

LONGEST = 600
GOES_ON = re.compile(
    r"\b(but|however|though|although|nevertheless|nonetheless|that said|instead|except|likely|probably|perhaps|possibly"
    r"|best guess|closest|i (believe|think|assume|guess)|appears? (to be|that)|seems? (to be|that)"
    r"|so (i|we|he|she|they))\b",
    re.ASCII,
)
LEAD = re.compile(
    r"^((i am |i'm )?sorry|apologies|i apologi[sz]e|unfortunately|after (an? )?(thorough |extensive )?search[^,]*"
    r"|having searched[^,]*|based on [^,]*|from (the|your|these) [^,]*|despite [^,]*)[,.:;]?( but)? "
)
MAIL = "(mailbox|inbox|e-?mails|mails|messages)"
FOUND_IN = rf"(in|within|among|from|by) (the|your|this|my|any of the|any|these) (available |provided |searched )?{MAIL}"
FACT = "(information|answer|record|mention|reference|details?|evidence|results?|data)"
COULD_NOT = (
    "(could not|couldn't|cannot|can't|can not|did not|didn't|do not|don't|have not|haven't|(am|was|were|been) unable to"
    "|(am|was|were) not able to|wasn't able to|(have not|haven't) been able to)"
)
SEARCHED = (
    rf"(available |provided |searched |retrieved )?({MAIL}|search results|available information"
    rf"|information (available|provided))( (in|of|from|to|that) [^,]*)?"
)
TELLS = "(mentions?|contains?|says?|specif(y|ies)|states?)"
ABSTAINS = [
    re.compile(form, re.ASCII)
    for form in (
        r"(i|we) (do not|don't|can not|cannot|can't) (actually |really |currently )?(know|say|tell)( (the answer"
        r"|for (sure|certain)|this|that|who|whom|whose|what|when|where|which|why|how|if|whether|based|from|because|as"
        r"|since|yet|sorry)\b.*)?",
        r"(i|we) (do not|don't) know (the|her|his|their|your|its|any) [^,;]*",
        r"(i|we) (do not|don't) have (any |enough |sufficient |the |that |this )*(information|answer|details|data|record"
        r"|e-?mails?)\b.*",
        rf"(i|we) {COULD_NOT} (find|locate|see|identify|uncover) .*\b({FACT}|mentions?|records|references|anything"
        r"|answers|e-?mails?|mails?|messages?|mailbox|inbox)\b.*",
        rf"(i|we) {COULD_NOT} (find|locate|see) (it|this|that|an answer|one)",
        rf"(i|we) {COULD_NOT} (determine|answer|work out|establish)\b.*",
        rf"(there (is|are|was|were) )?no (relevant |specific |further |matching |such |clear )*{FACT}s?\b.*\b({MAIL}"
        r"|search(es)?|found|available|given)\b.*",
        r"(there (is|are|was|were) )?no (relevant |specific |matching |such )*(e-?mails?|mails?|messages?) .*\b(about"
        r"|regarding|mention\w*|contain\w*|match\w*|found|(in|within) (the|your|this) (mailbox|inbox))\b.*",
        r"there (is|are|was|were) (nothing|no (e-?mails?|mails?|messages?))\b.*\b(mailbox|inbox|e-?mails|mails"
        r"|messages)\b.*",
        rf"(the|your|this|my|available|these) {SEARCHED} (does not|do not|doesn't|don't|did not|didn't|never {TELLS})"
        r"\b.*",
        rf"none of (the|your|my|these) {SEARCHED} {TELLS}\b.*",
        r".{0,80} (is|was|are|were) (not|never) (\w+ )?(mentioned|specified|stated|given|found|available|provided"
        rf"|contained|known|recorded|included) (anywhere )?{FOUND_IN}.*",
        r"(it|that|this|the answer|the information|this information|the question|this question) (is|was|could|can) ?(not"
        rf"|n't|never) (be )?(known|available|found|determined|answered|in (the|your|this) {MAIL})\b.*",
        r"(it|that|this|the answer|this information|the information|this question) (cannot|can't) be (known|found"
        r"|determined|answered)\b.*",
        r"(is |was )?(unknown|not (known|found|available|specified|mentioned|stated|provided)|unanswerable"
        rf"|cannot (be )?determined?|cannot answer)( {FOUND_IN})?",
        r"(n/a|no answer( (was )?found)?|(the )?(answer|information|details) (is |was |are )?(unknown|not (known|found"
        r"|available|provided))|(there is )?(insufficient|not enough) (information|data|evidence)\b.*)",
    )
]


def is_dont_know(answer):
    plain = re.sub("[‘’ʼ]", "'", answer.lower())
    plain = re.sub(f"{S}+", " ", re.sub('[*_`"“”]', "", plain)).strip(" ")
    if plain == "" or len(plain) > LONGEST:
        return False
    statement = LEAD.sub("", plain)
    if GOES_ON.search(statement):
        return False
    first = re.split(f"(?<=[.!?]){S}", statement)[0].rstrip(".!?")
    return any(form.fullmatch(first) for form in ABSTAINS)


if __name__ == "__main__":
    main()
