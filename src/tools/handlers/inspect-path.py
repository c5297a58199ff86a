"""Prints a path's type and, for a folder, its contents as JSON. Links are listed but never followed."""
import json
import os
import stat
import sys

MOST_COUNTED = 10_000


def kind_of(mode):
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def printable(text):
    return text.encode("utf-8", "replace").decode("utf-8")


def list_below(top, limit):
    """Lists level by level, so that deep files do not hide the files above them."""
    entries, total, folders = [], 0, [""]
    while folders and total < MOST_COUNTED:
        below = []
        for folder in folders:
            try:
                names = sorted(os.listdir(os.path.join(top, folder)))
            except OSError:
                continue
            for name in names[:MOST_COUNTED - total]:
                path = os.path.join(folder, name)
                try:
                    found = os.lstat(os.path.join(top, path))
                except OSError:
                    continue
                total += 1
                kind = kind_of(found.st_mode)
                if len(entries) < limit:
                    size = found.st_size if kind == "file" else 0
                    entries.append({"path": printable(path), "type": kind, "size": size})
                if kind == "folder" and not name.startswith("."):
                    below.append(path)
        folders = below
    return sorted(entries, key=lambda entry: entry["path"]), total


def main(path, limit):
    answer = {"type": "none", "executable": False, "error": None, "entries": [], "total": 0}
    try:
        mode = os.lstat(path).st_mode
        answer["type"] = kind_of(mode)
        answer["executable"] = answer["type"] == "file" and mode & 0o111 != 0
        if answer["type"] == "folder" and limit > 0:
            os.listdir(path)
            answer["entries"], answer["total"] = list_below(path, limit)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        answer["error"] = error.strerror
    print(json.dumps(answer))


main(sys.argv[1], int(sys.argv[2]))
