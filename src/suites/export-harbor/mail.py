#!/usr/bin/env python3
"""Search and read the mailbox of this task. Only needs Python's standard library.

  mail search WORDS... [--from TEXT] [--to TEXT] [--after YYYY-MM-DD] [--before YYYY-MM-DD] [--limit N] [--json]
  mail read MESSAGE_ID [--offset N] [--json]
  mail answer TEXT [--source MESSAGE_ID]...
"""

import argparse
import gzip
import json
import os
import re
import sqlite3
import sys
import tempfile

MAILBOX = "mailbox.jsonl.gz"
ANSWER_FILE = "/app/answer.json"
# Characters of an email body per page.
PAGE = 20_000
MAX_WORDS = 100

SCHEMA = """
CREATE TABLE mails (
  id INTEGER PRIMARY KEY, message_id TEXT UNIQUE, date TEXT, sender TEXT, recipients TEXT, subject TEXT, body TEXT, mail TEXT
);
CREATE VIRTUAL TABLE words USING fts5(
  subject, body, content = 'mails', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
"""


def mailbox_path():
    here = os.path.dirname(os.path.realpath(__file__))
    folders = ["/usr/local/share/mail", here, os.getcwd(), "/app", "/home/user/input"]
    for folder in folders:
        path = os.path.join(folder, MAILBOX)
        if os.path.isfile(path):
            return path
    sys.exit(f"mail: cannot find {MAILBOX} in {', '.join(folders)}")


def open_index():
    """Opens the index, which the first command builds once, next to the mailbox or in the temporary folder."""
    mailbox = mailbox_path()
    status = os.stat(mailbox)
    name = f"{MAILBOX}-{status.st_size}-{int(status.st_mtime)}.db"
    for path in (os.path.join(os.path.dirname(mailbox), name), os.path.join(tempfile.gettempdir(), name)):
        if not os.path.exists(path) and os.access(os.path.dirname(path), os.W_OK):
            make_index(mailbox, path)
        if os.path.exists(path):
            return sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    sys.exit(f"mail: cannot write to {os.path.dirname(mailbox)} or {tempfile.gettempdir()}")


def make_index(mailbox, path):
    # Concurrent commands each build one. The last to finish replaces the others.
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        db = sqlite3.connect(temporary)
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        db.executescript(SCHEMA)
        with gzip.open(mailbox, "rt", encoding="utf-8") as lines:
            db.executemany("INSERT INTO mails VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", (row_of(line) for line in lines))
        db.execute("INSERT INTO words (words) VALUES ('rebuild')")
        db.commit()
        db.close()
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def row_of(line):
    mail = json.loads(line)
    recipients = " ".join(mail["to"] + mail["cc"] + mail["bcc"])
    body = mail.pop("body")
    return (bare(mail["message_id"]), mail["date"], mail["sender"], recipients, mail["subject"], body, json.dumps(mail))


def bare(message_id):
    return message_id.strip().removeprefix("<").removesuffix(">")


def search(args):
    """Lists emails with all words first. If there are too few, adds the best matches of any word."""
    db = open_index()
    words = list(dict.fromkeys(re.findall(r"\w+", " ".join(args.words).replace("_", " "))))[:MAX_WORDS]
    conditions, values = filters(args)
    found = {}
    if not words:
        if not conditions:
            sys.exit("mail search: expected words, or --from, --to, --after or --before")
        where = " AND ".join(conditions)
        sql = f"SELECT mail, substr(body, 1, 200) FROM mails m WHERE {where} ORDER BY date DESC LIMIT ?"
        for mail, text in db.execute(sql, [*values, args.limit]):
            found[mail] = text
    for operator in (" AND ", " OR ") if words else ():
        if len(found) >= args.limit:
            break
        sql = (
            "SELECT mail, snippet(words, 1, '', '', ' ... ', 32) FROM words JOIN mails m ON m.id = words.rowid"
            f" WHERE {' AND '.join(['words MATCH ?', *conditions])} ORDER BY bm25(words, 2.0, 1.0), m.date DESC LIMIT ?"
        )
        query = operator.join(f'"{word}"' for word in words)
        for mail, snippet in db.execute(sql, [query, *values, args.limit]):
            if len(found) < args.limit:
                found.setdefault(mail, snippet)
    hits = [
        {**{key: value for key, value in json.loads(mail).items() if key not in ("cc", "bcc")}, "snippet": tidy(snippet)}
        for mail, snippet in found.items()
    ]
    if args.json:
        print(json.dumps({"emails": hits}, ensure_ascii=False))
        return
    if not hits:
        print("No email matches. Try other or fewer words.")
    for hit in hits:
        print(f"{hit['message_id']}\n  {hit['date']}  {hit['sender']}  {hit['subject']}\n  {hit['snippet']}\n")


def filters(args):
    conditions, values = [], []
    for condition, value in (
        ("m.sender LIKE ? ESCAPE '\\'", containing(args.sender)),
        ("m.recipients LIKE ? ESCAPE '\\'", containing(args.to)),
        ("m.date >= ?", args.after),
        ("m.date < ?", args.before),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    return conditions, values


def containing(text):
    return None if text is None else "%" + re.sub(r"([\\%_])", r"\\\1", text.strip()) + "%"


def tidy(text):
    return re.sub(r"\s+", " ", text).strip()


def read(args):
    row = open_index().execute("SELECT mail, body FROM mails WHERE message_id = ?", [bare(args.message_id)]).fetchone()
    if row is None:
        sys.exit(f"mail: unknown email {args.message_id}. Use an id from mail search.")
    mail, body = json.loads(row[0]), row[1]
    if args.offset > 0 and args.offset >= len(body):
        sys.exit(f"mail: the body has {len(body)} characters, so --offset must be less than {len(body)}")
    end = min(args.offset + PAGE, len(body))
    page = body[args.offset : end]
    if args.json:
        print(json.dumps({**mail, "body": page, "body_length": len(body), "offset": args.offset}, ensure_ascii=False))
        return
    print(f"Message-ID: {mail['message_id']}\nDate: {mail['date']}\nFrom: {mail['sender']}")
    for label, addresses in (("To", mail["to"]), ("Cc", mail["cc"]), ("Bcc", mail["bcc"])):
        if addresses:
            print(f"{label}: {', '.join(addresses)}")
    print(f"Subject: {mail['subject']}\n\n{page}")
    if end < len(body):
        print(f"\n[{len(body) - end} more characters: mail read '{mail['message_id']}' --offset {end}]")


def answer(args):
    os.makedirs(os.path.dirname(ANSWER_FILE), exist_ok=True)
    with open(ANSWER_FILE, "w", encoding="utf-8") as file:
        json.dump({"answer": args.text, "sources": args.source}, file, ensure_ascii=False)
    print(f"Written to {ANSWER_FILE}.")


def index(_args):
    count = open_index().execute("SELECT count(*) FROM mails").fetchone()[0]
    print(f"{count} mails")


def day(text):
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        return text
    raise argparse.ArgumentTypeError(f"expected a date (YYYY-MM-DD), got {text}")


def whole_number(least):
    def parse(text):
        if re.fullmatch(r"\d{1,9}", text, re.ASCII) and int(text) >= least:
            return int(text)
        raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, got {text}")

    return parse


def main():
    parser = argparse.ArgumentParser(prog="mail", description="Search and read the mailbox of this task.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("search", help="find emails by words, sender, recipient and date")
    command.add_argument("words", nargs="*", help="words in subject and body; an entire question works too")
    command.add_argument("--from", dest="sender", help="part of the sender's address")
    command.add_argument("--to", help="part of a recipient's address")
    command.add_argument("--after", type=day, help="sent on this date or later, YYYY-MM-DD")
    command.add_argument("--before", type=day, help="sent before this date, YYYY-MM-DD")
    command.add_argument("--limit", type=whole_number(1), default=10, help="number of emails to list [10]")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=search)

    command = commands.add_parser("read", help="show an entire email")
    command.add_argument("message_id", help="id from mail search")
    command.add_argument("--offset", type=whole_number(0), default=0, help="first character of the body to show")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=read)

    command = commands.add_parser("answer", help=f"write the final answer to {ANSWER_FILE}")
    command.add_argument("text")
    command.add_argument("--source", action="append", default=[], help="Message-ID of an email that contains the answer")
    command.set_defaults(run=answer)

    command = commands.add_parser("index", help="build the search index now instead of at the first search")
    command.set_defaults(run=index)

    args = parser.parse_args()
    try:
        args.run(args)
    except BrokenPipeError:
        # The reader had enough, as `mail search ... | head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
