"""Reads the paths of emails from standard input, one per line, and prints what Python's `email` (policy.default) makes of each as JSON."""

import json
import sys
from datetime import timezone
from email import message_from_bytes, policy
from email.utils import parsedate_to_datetime


def attempt(read, fallback):
    """Python raises on some damaged emails."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001: any error of the library is a result here.
        errors.append(f"{type(error).__name__}: {error}")
        return fallback


def addresses(mail, name):
    return [a.addr_spec for field in mail.get_all(name, []) for a in getattr(field, "addresses", ())]


def date(mail):
    field = mail.get("date")
    if field is None:
        return None
    when = parsedate_to_datetime(str(field))
    if when.tzinfo is not None:
        when = when.astimezone(timezone.utc)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def body(mail):
    part = mail.get_body(("plain", "html"))
    if part is None:
        return None
    content = part.get_content()
    return {"type": part.get_content_type(), "text": content if isinstance(content, str) else ""}


def attachments(mail):
    return [name for part in mail.walk() if (name := part.get_filename()) is not None]


def parsed(path):
    mail = message_from_bytes(open(path, "rb").read(), policy=policy.default)
    return {
        "messageId": attempt(lambda: str(mail.get("message-id", "")), ""),
        "subject": attempt(lambda: str(mail.get("subject", "")), ""),
        "from": attempt(lambda: addresses(mail, "from"), []),
        "to": attempt(lambda: addresses(mail, "to"), []),
        "cc": attempt(lambda: addresses(mail, "cc"), []),
        "date": attempt(lambda: date(mail), None),
        "body": attempt(lambda: body(mail), None),
        "attachments": attempt(lambda: attachments(mail), []),
        "defects": sorted({type(defect).__name__ for part in attempt(lambda: list(mail.walk()), []) for defect in part.defects}),
    }


for line in sys.stdin:
    errors = []
    result = attempt(lambda: parsed(line.rstrip("\n")), None)
    print(json.dumps({"mail": result, "errors": errors}), flush=True)
