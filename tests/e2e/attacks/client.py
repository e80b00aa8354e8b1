# SPDX-License-Identifier: Apache-2.0
"""Clients of one server: an attacker at 127.0.0.2, and a neighbour at 127.0.0.9 that queries /healthz."""

import multiprocessing
import pathlib
import re
import socket
import struct
import time

ATTACKER, NEIGHBOUR = "127.0.0.2", "127.0.0.9"

# Every wait is short unless the machine is busy with other programs.
PATIENCE_S = 60
HEALTH_INTERVAL_S = 0.05
MAX_DRAINED_BYTES = 1 << 20
HOST = "Host: 127.0.0.1\r\n"


class Failed(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failed(text)


class Server:
    def __init__(self, port, pid, token, other_token, build_id):
        self.port, self.pid, self.token, self.other_token, self.build_id = port, pid, token, other_token, build_id

    def connect(self, source=ATTACKER, receive_buffer=0):
        """A new connection to the server."""
        connection = socket.socket()
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(PATIENCE_S)
        connection.bind((source, 0))
        connection.connect(("127.0.0.1", self.port))
        return connection

    def authorization(self, token=None):
        return f"Authorization: Bearer {token or self.token}\r\n"

    def open_with(self, text, **options):
        """A connection on which TEXT was sent, as far as the server accepted it."""
        connection = self.connect(**options)
        send(connection, text)
        return connection

    def answer(self, text, **options):
        """The status of the server's answer to TEXT."""
        with self.open_with(text, **options) as connection:
            return status(connection)

    def metric(self, name):
        with self.open_with(f"GET /metrics HTTP/1.1\r\n{HOST}{self.authorization(self.other_token)}Connection: close\r\n"
                            "\r\n", source=NEIGHBOUR) as connection:
            text = read_all(connection).decode()
        match = re.search(r"^hearth_symbolizer_" + re.escape(name) + r" (\d+)$", text, re.M)
        expect(match, f"no metric {name} in {text[:200]!r}")
        return int(match.group(1))

    def closed_for(self, *reasons):
        return sum(self.metric(f'http_connections_closed_total{{reason="{reason}"}}') for reason in reasons)

    def connections(self):
        return self.metric("http_open_connections")

    def is_alive(self):
        stat = pathlib.Path(f"/proc/{self.pid}/stat")
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"

    def memory_mib(self, key):
        status_text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"^{key}:\s+(\d+) kB", status_text, re.M).group(1)) // 1024


def send(connection, text):
    """Returns False if the server has closed the connection."""
    try:
        connection.sendall(text.encode("latin-1") if isinstance(text, str) else text)
        return True
    except OSError:
        return False


def read_all(connection):
    pieces = []
    while piece := connection.recv(1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


def status(connection):
    """The status of the next answer, such as '401'; 'end' or 'reset' if the connection ends without an answer."""
    head = b""
    try:
        while b"\r\n\r\n" not in head:
            piece = connection.recv(4096)
            if not piece:
                break
            head += piece
            if re.match(rb"HTTP/1\.1 100 [^\r]*\r\n\r\n", head):
                head = head.partition(b"\r\n\r\n")[2]
    except ConnectionResetError:
        if not head:
            return "reset"
    except TimeoutError:
        raise Failed(f"neither an answer nor an end within {PATIENCE_S} s") from None
    match = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    if not match:
        return "end"
    drain(connection, head)
    return match.group(1).decode()


def drain(connection, begun):
    """Reads the rest of an answer that begins with BEGUN, unless it is large, so that the next answer can follow."""
    head, _, body = begun.partition(b"\r\n\r\n")
    length = re.search(rb"\r\nContent-Length: (\d+)", head)
    left = int(length.group(1)) - len(body) if length else 0
    while 0 < left < MAX_DRAINED_BYTES and (piece := connection.recv(left)):
        left -= len(piece)


def is_open(connection):
    try:
        connection.setblocking(False)
        return connection.recv(4096) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def end_with_reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        expect(time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}")
        time.sleep(0.02)


def query_health(port, pipe):
    """Queries /healthz, each on a new connection, until PIPE has a message; sends back [(start, seconds or None)]."""
    request = f"GET /healthz HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n".encode()
    latencies = []
    while not pipe.poll(HEALTH_INTERVAL_S):
        began = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S, (NEIGHBOUR, 0)) as connection:
                connection.sendall(request)
                latencies.append((began, time.monotonic() - began if status(connection) == "200" else None))
        except (OSError, Failed):
            latencies.append((began, None))
        if latencies[-1][1] is not None:
            latencies[-1] = (began, time.monotonic() - began)
    pipe.send(latencies)


class Health:
    """A process that queries /healthz all the time: a thread would wait for the threads of the attacker."""

    def __init__(self, port):
        self.pipe, far_end = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=query_health, args=(port, far_end), daemon=True)
        self.process.start()

    def stop(self):
        self.pipe.send("stop")
        latencies = self.pipe.recv()
        self.process.join()
        return latencies
