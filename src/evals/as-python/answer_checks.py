"""What exported cases and assertions check in an answer: whether it contains a term, a text, or JSON.

Dates and numbers are read by the prose rules, which are added after the imports.
"""
import json
import math
import re


def values_of(text):
    return [value for number in parse_numbers(text) for value in number["values"]]


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
        return all(number["values"] & values for number in numbers)
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
