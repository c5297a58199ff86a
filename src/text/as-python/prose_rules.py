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
    """Returns the value of `one hundred and twenty-five thousand`, or None if it is not finite."""
    total = part = 0.0
    for word in re.findall("[a-z]+", text):
        scale = SCALES.get(word)
        if word in WORD_VALUES:
            part += WORD_VALUES[word]
        elif scale in (100, 12):
            part = (part or 1) * scale
        elif scale is not None and len(word) > 3:
            total += (part or 1) * scale
            part = 0.0
    return total + part if math.isfinite(total + part) else None


def parse_numbers(text):
    """Returns the possible values of each number in a text. For example, 5% can be 5 or 0.05."""
    found = []

    def add(values, is_pronoun=False):
        found.append({"values": {round_off(value) for value in values}, "is_pronoun": is_pronoun})
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
        if value is None:
            return match.group()
        return add([value] if match.group(1) is None else [value, value / 100], strip(match.group()) == "one")

    text = regex(PHONE).sub(lambda match: add([float("".join(match.groups()))]), text.lower())
    text = regex(DIGITS).sub(read_digits, text)
    regex(SPELLED).sub(read_words, text)
    return found


# "I don't know" in its many forms.


def is_dont_know(answer):
    plain = collapse(re.sub('[*_`"\u201c\u201d]', "", re.sub("[\u2018\u2019\u02bc]", "'", answer.lower())))
    if plain == "" or len(plain) > LONGEST:
        return False
    statement = regex(LEAD).sub("", plain)
    if regex(GOES_ON).search(statement):
        return False
    first = regex("(?<=[.!?])~").split(statement)[0].rstrip(".!?")
    return any(regex(form).search(first) for form in ABSTAINS)
