"""Runs a notebook's cells in order, saves it in place, and prints a summary as JSON."""
import json
import os
import re
import sys
import time

# The notebook's folder must not affect which modules this program loads.
sys.path[:] = [path for path in sys.path if path]
# Keep the output of the kernel and libraries out of the answer.
ANSWER = os.dup(1)
os.dup2(2, 1)

CELL_CHARS = 2_000
ALL_CHARS = 20_000
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def answer(**values):
    with os.fdopen(ANSWER, "w", encoding="utf-8") as out:
        json.dump(values, out)
    sys.exit(0)


try:
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
except ImportError as error:
    answer(problem=f"this machine's Python does not have the module {error.name}")


def cut(text, most):
    text = ANSI.sub("", text)
    if len(text) <= most:
        return text
    left_out = len(text) - most
    return f"{text[:most // 2]}\n… ({left_out} characters omitted) …\n{text[len(text) - most // 2:]}"


def joined(value):
    return "".join(value) if isinstance(value, list) else str(value)


def summarise(index, cell, room):
    """Returns the text of streams and results. Images are only listed by type."""
    texts, pictures, error = [], [], None
    for output in cell.get("outputs", []):
        kind = output.get("output_type")
        data = output.get("data", {})
        pictures += [name for name in data if name.startswith("image/")]
        if kind == "stream":
            texts.append(joined(output.get("text", "")))
        elif kind == "error":
            error = {
                "name": str(output.get("ename", "")),
                "message": cut(str(output.get("evalue", "")), CELL_CHARS),
                "traceback": cut("\n".join(output.get("traceback", [])), CELL_CHARS),
            }
        elif "text/plain" in data:
            texts.append(joined(data["text/plain"]) + "\n")
    text = cut("".join(texts), min(CELL_CHARS, room))
    return {
        "cell": index,
        "execution_count": cell.get("execution_count"),
        "text": text,
        "pictures": pictures,
        "error": error,
    }


def outputs_of(notebook):
    room = ALL_CHARS
    found = []
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code" or not cell.get("outputs"):
            continue
        summary = summarise(index, cell, room)
        room = max(0, room - len(summary["text"]))
        found.append(summary)
    return found


def save(notebook, path):
    """Replaces the file atomically, because a half-written notebook is invalid."""
    target = os.path.realpath(path)
    part = f"{target}.{os.getpid()}.part"
    with open(part, "w", encoding="utf-8") as file:
        nbformat.write(notebook, file)
    os.chmod(part, os.stat(target).st_mode & 0o777)
    os.replace(part, target)


def kernel_of(notebook):
    named = notebook.metadata.get("kernelspec", {}).get("name", "python3")
    return named if named in KernelSpecManager().find_kernel_specs() else "python3"


def main(path, seconds, go_on):
    try:
        notebook = nbformat.read(path, as_version=4)
    except FileNotFoundError:
        answer(problem=f"{path} does not exist")
    except Exception as error:
        answer(problem=f"{path} is not a readable notebook: {cut(str(error), CELL_CHARS)}")
    started = time.monotonic()
    kernel = kernel_of(notebook)
    client = NotebookClient(
        notebook,
        kernel_name=kernel,
        allow_errors=go_on,
        record_timing=False,
        timeout_func=lambda cell: max(1, int(started + seconds - time.monotonic())),
        resources={"metadata": {"path": os.path.dirname(os.path.abspath(path))}},
    )
    stopped = None
    try:
        client.execute()
    except CellExecutionError:
        stopped = "error"
    except CellTimeoutError:
        stopped = "time"
    except DeadKernelError:
        stopped = "kernel"
    except Exception as error:
        answer(problem=f"the kernel {kernel} failed: {cut(str(error), CELL_CHARS)}")
    save(notebook, path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    answer(
        kernel=kernel,
        cells=len(notebook.cells),
        code_cells=len(code),
        stopped=stopped,
        outputs=outputs_of(notebook),
        seconds=round(time.monotonic() - started, 1),
    )


main(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "continue")
