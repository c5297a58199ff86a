import base64
import json
import os
import secrets
import select
import socket
import ssl
import struct
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import weakref
from typing import Any

URL = os.environ.get("ART_E_ENV_URL", "http://127.0.0.1:8000").rstrip("/")
TOKEN = os.environ.get("ART_E_TOKEN", "")

CONNECT_SECONDS = 10
# A final answer can wait for a judge, for at most 45 s. A handshake can wait for the first searches of 64 threads.
ANSWER_SECONDS = 90
# How long to wait for a server that restarts between two episodes.
RESTART_SECONDS = 120
# Servers ping every 20 s and expect the pong within 20 s.
PING_SECONDS = 4
ROW_KEYS = ("split", "index", "task_id", "seed", "episode_id")


class EnvironmentFailure(RuntimeError):
    """The server or the connection failed, so the reward of the episode is unknown, which is different from 0."""


class Unreachable(EnvironmentFailure):
    """No server, a broken connection, or no free slot. Can be temporary."""


class ToolFailure(ValueError):
    """An invalid tool call. The message is for the model."""


def task_rows(split: "str | None" = None, limit: "int | None" = None) -> list[dict[str, Any]]:
    """
    Returns one row per task of a split, with the `split` and `index` for `reset`. The default is the `train` split,
    otherwise the first one. A row always refers to the same task.
    """
    (name, *_) = _http("/list_environments")
    path = "/" + urllib.parse.quote(name)
    if split is None:
        splits = [split["name"] for split in _http(path + "/splits")]
        split = "train" if "train" in splits else splits[0]
    count = int(_http(path + "/num_tasks", {"split": split})["num_tasks"])
    return [{"split": split, "index": index} for index in range(count if limit is None else min(limit, count))]


def _http(path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **_authorization()}
    request = urllib.request.Request(URL + path, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise EnvironmentFailure(f"{URL}{path}: {error.code} {error.read().decode(errors='replace')[:500]}") from None
    except OSError as error:
        raise Unreachable(f"Cannot connect to {URL}. Start the server with `art-e env serve` ({error})") from None


def _authorization() -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKEN}"} if TOKEN else {}


class EnvironmentClient:
    """A connection to `art-e env serve` with one episode at a time. Not safe for concurrent use by several threads."""

    def __init__(self) -> None:
        self.task: dict[str, Any] = {}
        self.done = True
        #: The reward after the end of the episode, or None if the server or the connection failed.
        self.reward: float | None = None
        #: The server's explanation of the reward.
        self.metadata: dict[str, Any] = {}
        self._socket: _WebSocket | None = None
        self._has_connected = False

    def reset(self, **row: Any) -> dict[str, Any]:
        """
        Starts an episode and returns its task: question, inbox_address, query_date, instructions, max_turns, split,
        index and task_id. The row selects the task with `split` and `index`, `task_id` or `seed`. Other columns are
        ignored.
        """
        self.done, self.reward, self.metadata, self.task = False, 0.0, {}, {}
        message = {"type": "reset", "data": {key: row[key] for key in ROW_KEYS if row.get(key) is not None}}
        answer = self._ask_again(message) if self._has_connected else self._ask(message)
        self.task = self._read(answer)["result"]
        return self.task

    def tools(self) -> list[dict[str, Any]]:
        """Returns the agent's tools with name, description and input_schema."""
        return self._ask({"type": "step", "data": {"type": "list_tools"}})["data"]["observation"]["tools"]

    def call(self, tool: str, arguments: "dict[str, Any] | str", reply: "dict[str, Any] | None" = None) -> str:
        """
        Calls a tool and returns its result as text. Raises ToolFailure for an invalid call.

        `arguments` can be the model's JSON text. `reply` is the rest of the model's reply, for the trace that the
        server saves: content, model, and usage with input_tokens and output_tokens.
        """
        if self.done:
            raise ToolFailure("The episode has ended. Do not call more tools.")
        action = {"type": "call_tool", "tool_name": tool, "arguments": _object(arguments), "metadata": reply or {}}
        observation = self._read(self._ask({"type": "step", "data": action}))
        error = observation.get("error")
        if error:
            raise ToolFailure(str(error.get("message", error)))
        return _text(observation.get("result"))

    def answer_in_text(self, text: Any) -> None:
        """Submits a last reply without a tool call as the answer, as in a run of art-e. Ignores an empty text."""
        if self.done or not isinstance(text, str) or not text.strip():
            return
        try:
            self.call("return_final_answer", {"answer": text, "sources": []})
        except ToolFailure:
            pass

    @property
    def components(self) -> dict[str, float]:
        """The scores after the end of an episode."""
        scores = self.metadata.get("scores") or {}
        return {name: value for name, value in scores.items() if isinstance(value, (int, float))}

    def close(self) -> None:
        """Frees the server's slot. `reset` connects again."""
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()

    def _ask_again(self, message: dict[str, Any]) -> dict[str, Any]:
        """Reconnects between episodes. A closed idle connection or a restarted server must not end a training."""
        end = time.monotonic() + RESTART_SECONDS
        pause = 0.0
        while True:
            try:
                return self._ask(message)
            except Unreachable:
                if time.monotonic() + pause > end:
                    raise
            time.sleep(pause)
            pause = min(5.0, pause * 2 + 0.1)
            self.done, self.reward = False, 0.0

    def _read(self, answer: dict[str, Any]) -> dict[str, Any]:
        data = answer["data"]
        observation = data.get("observation") or {}
        self.metadata = data.get("metadata") or observation.get("metadata") or {}
        if data.get("done"):
            self.done, self.reward = True, float(data.get("reward") or 0.0)
        return observation

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            if self._socket is None:
                self._socket = _WebSocket(URL + "/ws")
            answer = json.loads(self._socket.ask(json.dumps(message)))
        except (OSError, ValueError) as error:
            self._fail()
            raise Unreachable(f"{URL}: {error}") from error
        if answer.get("type") != "error":
            self._has_connected = True
            return answer
        self._fail()
        problem = answer.get("data", {})
        kind = Unreachable if problem.get("code") == "CAPACITY_REACHED" else EnvironmentFailure
        raise kind(f"{URL}: {problem.get('message')} ({problem.get('code')})")

    def _fail(self) -> None:
        self.done, self.reward = True, None
        if self._socket is not None:
            self._socket.drop()
            self._socket = None

    def __del__(self) -> None:
        if self._socket is not None:
            self._socket.drop()


def _object(arguments: "dict[str, Any] | str") -> dict[str, Any]:
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError as error:
        raise ToolFailure(f"The arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ToolFailure("The arguments must be an object.")
    return value


def _text(result: Any) -> str:
    """Converts a result to the text that agents of art-e receive."""
    if isinstance(result, dict) and isinstance(result.get("content"), list):
        return "\n".join(part.get("text", "") for part in result["content"] if part.get("type") == "text")
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


class _WebSocket:
    """A WebSocket client for text without extensions (RFC 6455, https://www.rfc-editor.org/rfc/rfc6455)."""

    def __init__(self, url: str) -> None:
        at = urllib.parse.urlsplit(url)
        secure = at.scheme in ("https", "wss")
        host, port = at.hostname or "127.0.0.1", at.port or (443 if secure else 80)
        self._lock = threading.Lock()
        self._received = bytearray()
        self._socket = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
        self._socket.settimeout(ANSWER_SECONDS)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if secure:
                self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=host)
            self._shake_hands(at)
        except BaseException:
            self._socket.close()
            raise
        _answer_pings_of(self)

    def _shake_hands(self, at: urllib.parse.SplitResult) -> None:
        headers = {
            "Host": at.netloc.rpartition("@")[2],
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": base64.b64encode(secrets.token_bytes(16)).decode(),
            "Sec-WebSocket-Version": "13",
            **_authorization(),
        }
        lines = [f"GET {at.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        self._socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self._received:
            self._fill()
        head, _, rest = bytes(self._received).partition(b"\r\n\r\n")
        status = head.split(b"\r\n")[0].decode(errors="replace")
        if " 101 " not in status + " ":
            raise ConnectionError(f"expected a WebSocket, got {status}")
        self._received = bytearray(rest)

    def ask(self, text: str) -> str:
        """Sends a message and waits for its answer."""
        with self._lock:
            self._send(1, text.encode())
            message = bytearray()
            while True:
                kind, data, is_last = self._frame()
                if kind < 8:
                    message += data
                    if is_last:
                        return message.decode()

    def answer_pings(self) -> None:
        """Answers pings while the trainer computes, so that the server does not disconnect the client."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            while self._received or select.select([self._socket], [], [], 0)[0]:
                if self._frame()[0] < 8:
                    raise ConnectionError("unexpected answer")
        except (OSError, ValueError):
            self.drop()
        finally:
            self._lock.release()

    def close(self) -> None:
        try:
            self._send(8, struct.pack(">H", 1000))
        except OSError:
            pass
        self.drop()

    def drop(self) -> None:
        self._socket.close()

    def _frame(self) -> tuple[int, bytes, bool]:
        first, second = self._take(2)
        kind, size = first & 15, second & 127
        if size == 126:
            (size,) = struct.unpack(">H", self._take(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self._take(8))
        data = self._take(size)
        if kind == 8:
            code = struct.unpack(">H", data[:2])[0] if len(data) >= 2 else 1005
            raise ConnectionError(f"the server closed the connection ({code} {data[2:].decode(errors='replace')})")
        if kind == 9:
            self._send(10, data)
        return kind, data, bool(first & 128)

    def _send(self, kind: int, data: bytes) -> None:
        mask = secrets.token_bytes(4)
        size = len(data)
        if size < 126:
            head = struct.pack(">BB", 128 | kind, 128 | size)
        elif size < 65_536:
            head = struct.pack(">BBH", 128 | kind, 128 | 126, size)
        else:
            head = struct.pack(">BBQ", 128 | kind, 128 | 127, size)
        repeated = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
        self._socket.sendall(head + mask + masked)

    def _take(self, size: int) -> bytes:
        while len(self._received) < size:
            self._fill()
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    def _fill(self) -> None:
        data = self._socket.recv(65_536)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._received += data


_connections: "weakref.WeakSet[_WebSocket]" = weakref.WeakSet()
_pings = threading.Lock()
_pinged: "threading.Thread | None" = None


def _answer_pings_of(connection: _WebSocket) -> None:
    """Starts one thread that answers the pings of all connections in the process."""
    global _pinged
    with _pings:
        _connections.add(connection)
        if _pinged is None:
            _pinged = threading.Thread(target=_answer_all_pings, daemon=True)
            _pinged.start()


def _answer_all_pings() -> None:
    while True:
        time.sleep(PING_SECONDS)
        with _pings:
            connections = list(_connections)
        for connection in connections:
            connection.answer_pings()
