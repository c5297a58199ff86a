"""The features that rules can bound, as art-e measures them. Each takes a trace and returns (value, detail).

A trace is a line of `art-e export-traces`, or the `trace` argument of an eval function with the question as
`user_message`. A value of None means that the feature does not apply. The patterns, word lists and limits in capital
letters are added from the TypeScript features.
"""
import json
import re

# Like JavaScript: word characters are ASCII, but white space is not only ASCII.
SPACES = "\\s\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def regex(source, flags=0):
    """Compiles a pattern. A ~ matches white space, including as [~...] inside brackets."""
    source = source.replace("[~", "[" + SPACES).replace("~", "[" + SPACES + "]")
    return re.compile(source, re.ASCII | flags)


def strip(text):
    return regex("^~+|~+\\Z").sub("", text)


def collapse(text):
    return strip(regex("~+").sub(" ", text))


def list_of(items):
    shown = [regex("~+").sub(" ", item)[:100] for item in items[:LISTED]]
    more = len(items) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def share_of(items, is_fine):
    if not items:
        return None, ""
    odd = [item for item in items if not is_fine(item)]
    return (1 if not odd else (len(items) - len(odd)) / len(items)), list_of(odd)


def unique(items):
    return list(dict.fromkeys(items))


# Parts of a trace.


def question_of(trace):
    if "user_message" in trace:
        return trace["user_message"]
    task = trace.get("task") or {}
    return trace.get("question") or task.get("question") or task.get("instruction") or ""


def answer_of(trace):
    return trace.get("answer") or ""


def sources_of(trace):
    return trace.get("sources") or []


def calls_of(trace):
    return [{**call, "result": parsed(call.get("result"))} for call in trace.get("toolCalls") or []]


def results_of(trace):
    """Returns all tool calls of the conversation, because a follow-up can rely on the results of an earlier chat."""
    earlier = (trace.get("messages") or [])[1 : 1 + (trace.get("historyLength") or 0)]
    results = {message.get("toolCallId"): message for message in earlier if message.get("role") == "tool"}
    calls = []
    for message in earlier:
        for call in (message.get("toolCalls") or []) if message.get("role") == "assistant" else []:
            told = results.get(call.get("id"))
            if told is not None:
                calls.append({**call, "result": None if told.get("isError") else parsed(told.get("content"))})
    return [*calls, *calls_of(trace)]


def parsed(result):
    """Parses results that are JSON strings, as in other programs' traces, so that the emails in them are found."""
    if not isinstance(result, str) or not regex(r"^~*[\[{]").search(result):
        return result
    try:
        return json.loads(result)
    except ValueError:
        return result


def inbox_of(trace):
    return trace.get("inbox") or (trace.get("task") or {}).get("inbox_address")


def query_date_of(trace):
    return trace.get("query_date") or trace.get("queryDate") or (trace.get("task") or {}).get("query_date")


def is_suite(trace):
    return bool(trace.get("is_suite")) or "grade" in trace


def is_mail(value):
    return isinstance(value, dict) and isinstance(value.get("message_id"), str)


def listed_mails(trace):
    return mails_listed_by(results_of(trace))


def mails_listed_by(calls):
    mails = []
    for call in calls:
        result = call.get("result")
        found = result.get("emails") if isinstance(result, dict) else result
        mails.extend(mail for mail in found if is_mail(mail)) if isinstance(found, list) else None
    return mails


def opened_mails(trace):
    return [call["result"] for call in results_of(trace) if is_mail(call.get("result")) and "body" in call["result"]]


def ids_of(mails):
    return unique(mail["message_id"] for mail in mails)


# "I don't know" in its many forms.


def is_dont_know(answer):
    plain = re.sub("[‘’ʼ]", "'", answer.lower())
    plain = collapse(re.sub("[*_`\"“”]", "", plain))
    if plain == "" or len(plain) > LONGEST:
        return False
    statement = regex(LEAD).sub("", plain, count=1)
    if regex(GOES_ON).search(statement):
        return False
    sentence = re.split(r"(?<=[.!?])\s", statement, maxsplit=1)[0].rstrip(".!?")
    return any(regex(form).search(sentence) for form in ABSTAINS)


def abstained(trace):
    return trace.get("ending") == "dont_know" or is_dont_know(answer_of(trace))


# Dates and times of day. Numeric dates are month first, unless only day first is valid.


def valid_day(year, month, day):
    return (year, month, day) if 1 <= month <= 12 and (day is None or 1 <= day <= 31) else None


def year_of(digits):
    if digits is None:
        return None
    year = int(digits.replace("'", ""))
    return year if year >= 100 else 2000 + year if year < 50 else 1900 + year


def month_of(name):
    return MONTHS.index(name[:3]) + 1


def month_first(a, b, year):
    return valid_day(year, int(a), int(b)) or valid_day(year, int(b), int(a))


def time_of_day(hour, minute, is_time=True):
    return frozenset([hour * 60 + minute]) if is_time and hour < 24 and minute < 60 else None


def am_or_pm(hour, minute):
    if hour > 23 or minute > 59:
        return None
    if hour == 0 or hour > 12:
        return frozenset([hour * 60 + minute])
    return frozenset([(hour % 12) * 60 + minute, (hour % 12 + 12) * 60 + minute])


# How to read the groups of each pattern.
DATE_READERS = [
    lambda y, m, d: valid_day(year_of(y), int(m), int(d)),
    lambda d, name, y: valid_day(year_of(y), month_of(name), int(d)),
    lambda name, d, y: valid_day(year_of(y), month_of(name), int(d)),
    lambda name, y: valid_day(year_of(y), month_of(name), None),
    lambda a, _, b, y: month_first(a, b, year_of(y)),
    lambda m, d: valid_day(None, int(m), int(d)),
]
TIME_READERS = [
    lambda h, m, half: am_or_pm(int(h), int(m or 0)),
    lambda h, m, half: time_of_day(int(h) % 12 + (12 if half == "p" else 0), int(m or 0), 0 < int(h) <= 12),
    lambda: time_of_day(12, 0),
    lambda: time_of_day(0, 0),
    lambda h, m: am_or_pm(int(h), int(m)),
    lambda h, m: time_of_day(int(h), int(m)),
    lambda h, m: time_of_day(int(h), int(m)),
]


def extract(text, patterns, readers):
    """Returns the values of all patterns, and the text with the matches masked by x."""
    found = []
    for source, read in zip(patterns, readers):

        def mask(match):
            value = read(*match.groups())
            if value is None:
                return match.group()
            found.append(value)
            return "x" * len(match.group())

        text = regex(source).sub(mask, text)
    return found, text


def dates_and_times(text):
    days, rest = extract(text.lower(), DATE_PATTERNS, DATE_READERS)
    times, rest = extract(rest, TIME_PATTERNS, TIME_READERS)
    return days, times, rest


def matches_day(wanted, found):
    if wanted[1] != found[1] or (wanted[2] is not None and wanted[2] != found[2]):
        return False
    return wanted[0] is None or found[0] is None or wanted[0] == found[0]


# Numbers, in digits or spelled out.


def round_off(value):
    """Rounds to twelve digits to remove binary rounding errors."""
    return float(f"{value:.12g}")


def value_of_words(text):
    total = part = 0
    for word in re.findall("[a-z]+", text):
        scale = SCALES.get(word)
        if word in WORD_VALUES:
            part += WORD_VALUES[word]
        elif scale in (100, 12):
            part = (part or 1) * scale
        elif scale is not None and len(word) > 3:
            total += (part or 1) * scale
            part = 0
    return total + part


def parse_numbers(text):
    """Returns the set of possible values for each number in a text. For example, 5% can be 5 or 0.05."""
    found = []

    def add(values):
        found.append({round_off(value) for value in values})
        return " "

    def read_digits(match):
        minus, digits, decimals, scale, letter, percent = match.groups()
        number = match.group()
        start, end = match.span()
        before = match.string[max(0, start - 5):start] + number[:re.search("[0-9]", number).start()]
        is_sum = regex(BEFORE_SUM).search(before) or regex(AFTER_SUM).search(match.string[end:end + 7])
        is_group = is_sum and re.fullmatch("[.][0-9]{3}", decimals or "")
        whole = re.sub("[^0-9]", "", (digits or "0") + (decimals if is_group else ""))
        fraction = "" if is_group else (decimals or "").replace(",", ".")
        plain = float(("-" if minus else "") + whole + fraction)
        scaled = plain * SCALES.get(scale or letter or "", 1)
        values = [scaled, plain] if letter in AMBIGUOUS else [scaled]
        return add(values if percent is None else [*values, scaled / 100])

    def read_words(match):
        value = value_of_words(match.group())
        return add([value] if match.group(1) is None else [value, value / 100])

    text = regex(PHONE).sub(lambda match: add([float("".join(match.groups()))]), text.lower())
    text = regex(DIGITS).sub(read_digits, text)
    regex(SPELLED).sub(read_words, text)
    return found


def values_of(text):
    return [value for values in parse_numbers(text) for value in values]


# Numbers of the answer.


def parse_values(text):
    days, times, rest = dates_and_times(text)
    values = set(values_of(rest))
    values.update(part for day in days for part in day if part is not None)
    values.update(part for time in times for minutes in time for part in divmod(minutes, 60))
    return days, times, rest, values


def has_time(parsed, wanted):
    _, times, _, values = parsed
    return any(minutes // 60 * 100 + minutes % 60 in values or any(minutes in time for time in times)
               for minutes in wanted)


def format_time(time):
    minutes = min(time)
    return f"{minutes // 60}:{minutes % 60:02d}"


def numbers_found_in(trace, texts):
    answer = answer_of(trace)[:MAX_CLAIM_CHARS]
    scaled = regex(SCALED, re.IGNORECASE)
    claims = [] if abstained(trace) else [match.group() for match in scaled.finditer(answer)]
    if not claims:
        return None, ""
    searched = [text[:MAX_CLAIM_CHARS] for text in [question_of(trace), *texts]]
    literal = {match.group() for text in searched for match in regex(WRITTEN).finditer(text)}
    if all(claim in literal for claim in claims):
        return 1, ""
    found = [parse_values(text) for text in searched]
    days, times, rest, _ = parse_values(answer)
    values = {value for parsed in found for value in parsed[3]}
    named = [("-".join(str(part) for part in day if part is not None),
              any(matches_day(day, other) for parsed in found for other in parsed[0])) for day in days]
    named += [(format_time(time), any(has_time(parsed, time) for parsed in found)) for time in times]
    named += [(text, text in literal or any(value in values for value in values_of(text)))
              for text in (match.group() for match in scaled.finditer(rest))]
    odd = {text for text, is_found in named if not is_found}
    return share_of(unique(text for text, _ in named), lambda text: text not in odd)


def numbers_in_mail(trace):
    parts = ("subject", "sender", "date", "body")
    texts = ["\n".join(mail[part] for part in parts if isinstance(mail.get(part), str)) for mail in opened_mails(trace)]
    return numbers_found_in(trace, texts)


def numbers_in_results(trace):
    return numbers_found_in(trace, [result_text(call) for call in results_of(trace)])


def result_text(call):
    texts = []

    def collect(value):
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            texts.append(f"{value:.0f}" if value == int(value) and abs(value) < 1e21 else repr(value))
        elif isinstance(value, (list, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                collect(item)

    collect(call.get("result"))
    return "\n".join(texts)


def compact_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# Sources.


def sources_read(trace):
    read = set(ids_of(opened_mails(trace)))
    return share_of(sources_of(trace), lambda source: source in read)


def sources_returned(trace):
    returned = set(ids_of([*opened_mails(trace), *listed_mails(trace)]))
    return share_of(sources_of(trace), lambda source: source in returned)


def sources(trace):
    says_nothing = is_suite(trace) or abstained(trace) or strip(answer_of(trace)) == ""
    return (None if says_nothing else len(sources_of(trace))), ""


def dated(mail):
    subject, date = mail.get("subject"), mail.get("date")
    if not isinstance(subject, str) or not isinstance(date, str):
        return None
    plain = strip(regex(r"^(~*(re|fw|fwd)~*:)+").sub("", subject.lower()))
    return None if plain == "" else (mail["message_id"], plain, date)


def newer_in_thread(trace):
    mails = [one for one in map(dated, [*opened_mails(trace), *listed_mails(trace)]) if one is not None]
    cited = [one for one in mails if one[0] in sources_of(trace)]
    if not cited:
        return None, ""
    newest = max(date for _, _, date in cited)
    subjects = {subject for _, subject, _ in cited}
    newer = unique(mail for mail, subject, date in mails if subject in subjects and date > newest)
    return len(newer), list_of(newer)


def gave_up_unread(trace):
    if is_suite(trace):
        return None, ""
    calls = calls_of(trace)
    listed = ids_of(mails_listed_by(calls))
    read = ids_of(opened_mails(trace))
    has_opened = any(is_mail(call.get("result")) and "body" in call["result"] for call in calls) or any(
        message_id in read for message_id in listed)
    return (1, list_of(listed)) if abstained(trace) and not has_opened and listed else (0, "")


def mails_after_cutoff(trace):
    day, cited = query_date_of(trace), sources_of(trace)
    used = [*opened_mails(trace), *(mail for mail in listed_mails(trace) if mail["message_id"] in cited)]
    dates = [(mail["message_id"], mail["date"][:10]) for mail in used
             if isinstance(mail.get("date"), str) and regex(ISO_DAY).search(mail["date"])]
    if not day or not dates:
        return None, ""
    late = unique(mail for mail, date in dates if date > day)
    return len(late), list_of(late)


def other_mailbox_calls(trace):
    inbox = inbox_of(trace)
    if not inbox:
        return None, ""
    calls = [call["arguments"] for call in calls_of(trace) if isinstance(call.get("arguments"), dict)]
    named = [strip(value) for given in calls for key, value in given.items()
             if regex(MAILBOX_ARGUMENT, re.IGNORECASE).search(key) and isinstance(value, str)]
    others = [name for name in named if name != "" and name.lower() != inbox.lower()]
    return len(others), list_of(others)


def addresses_of(text):
    return [address.lower() for address in regex(ADDRESS).findall(text)]


def addresses_in_results(trace):
    claimed = unique(addresses_of(answer_of(trace)[:MAX_CLAIM_CHARS]))
    texts = [question_of(trace), inbox_of(trace) or "", *(result_text(call) for call in results_of(trace))]
    known = {address for text in texts for address in addresses_of(text)} if claimed else set()
    return share_of(claimed, lambda address: address in known)


# The answer.


def asks(trace, form):
    answers = not is_suite(trace) and not abstained(trace) and strip(answer_of(trace)) != ""
    return answers and regex(form, re.IGNORECASE).search(strip(question_of(trace))) is not None


def answer_complete(trace):
    turns = trace.get("turns") or []
    return (None if not turns else 0 if turns[-1].get("finishReason") == "length" else 1), ""


def ended(trace):
    ending = trace.get("ending") or ""
    return (1 if ending in ("answered", "dont_know") else 0), ending


def date_given(trace):
    if not asks(trace, ASKS_DATE):
        return None, ""
    answer = answer_of(trace)[:MAX_CHARS]
    days, times, _ = dates_and_times(answer)
    other = regex(RELATIVE_DAY, re.IGNORECASE).search(answer) or regex(r"\b(19|20)\d\d\b").search(answer)
    return (1 if days or times or other else 0), ""


def number_given(trace):
    if not asks(trace, ASKS_NUMBER):
        return None, ""
    answer = answer_of(trace)
    return (1 if regex(r"\d").search(answer) or parse_numbers(answer[:MAX_CHARS]) else 0), ""


def answer_words(trace):
    answer = strip(answer_of(trace))
    says_nothing = is_suite(trace) or abstained(trace) or answer == ""
    return (None if says_nothing else len(regex("~+").split(answer))), ""


# Effort.


def repeated_calls(trace):
    calls = [(call["name"], compact_json(call.get("arguments"))) for call in results_of(trace)]
    first = len(calls) - len(calls_of(trace))
    repeated = [call for i, call in enumerate(calls) if i >= first and call in calls[:i]]
    return len(repeated), list_of([f"{name}({arguments})" for name, arguments in repeated])


def unparsable_calls(trace):
    odd = [call["name"] for call in calls_of(trace) if call.get("errorKind") == "unparsable_call"]
    return len(odd), list_of(odd)


def failed_calls(trace):
    failed = [call for call in calls_of(trace) if call.get("error") is not None]
    return len(failed), list_of([f"{call['name']}: {call['error']}" for call in failed])


def turns(trace):
    return len(trace.get("turns") or []), ""


def cost_usd(trace):
    costs = [turn.get("costUsd") for turn in trace.get("turns") or []]
    return (None if not costs or None in costs else sum(costs)), ""


def seconds(trace):
    return (trace.get("durationMs") or 0) / 1_000, ""


# Suite tasks.


def command_of(call):
    arguments = call.get("arguments")
    arguments = arguments if isinstance(arguments, dict) else {}
    command = arguments.get("command")
    command = command if isinstance(command, str) else arguments.get("code")
    return command if isinstance(command, str) else ""


def has_failed(call):
    result = call.get("result") if isinstance(call.get("result"), dict) else {}
    code = result.get("exit_code")
    return result.get("timed_out") is True or (type(code) in (int, float) and code != 0)


def files_written(trace):
    if not is_suite(trace):
        return None, ""
    return sum(call["name"] in WRITING_TOOLS and call.get("error") is None for call in calls_of(trace)), ""


def commands_failed(trace):
    if not is_suite(trace):
        return None, ""
    failed = [command_of(call) for call in calls_of(trace) if has_failed(call)]
    return len(failed), list_of(failed)


def tests_run(trace):
    if not is_suite(trace):
        return None, ""
    return sum(regex(RUNS_TESTS).search(command_of(call)) is not None for call in calls_of(trace)), ""


# Regression cases.


def words_of(text):
    return set(re.findall(r"[^\W_](?:[^\W_]|['-])*", text.lower()))


def contains_term(text, term):
    wanted_days, wanted_times, wanted_rest = dates_and_times(term)
    days, times, rest = dates_and_times(text)
    if wanted_days or wanted_times:
        return (all(any(matches_day(day, other) for other in days) for day in wanted_days)
                and all(any(time & other for other in times) for time in wanted_times))
    numbers = parse_numbers(wanted_rest)
    if numbers:
        values = set(values_of(rest))
        return all(number & values for number in numbers)
    return term.lower() in words_of(text)


# Assertions about an answer.


def contains_text(text, wanted):
    return collapse(wanted).lower() in regex("~+").sub(" ", text).lower()


def is_json(text, keys):
    try:
        value = json.loads(text, parse_constant=lambda name: json.loads("none"))
    except ValueError:
        return False
    return all(isinstance(value, dict) and key in value for key in keys)
