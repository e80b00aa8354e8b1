#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks a server, and meanwhile queries /healthz every 50 ms.

    attacks.py PORT PID TOKEN OTHER_TOKEN BUILD_ID FOLDER MAX_CONNECTIONS MAX_REQUESTS_PER_TOKEN MAX_MEMORY_MIB [ATTACK...]

FOLDER has a zstd bomb and a valid batch. Prints one row per attack: the server's answers, the number of health checks,
and the slowest health check. Exits with 1 if an answer is wrong, a health check is not answered, the server ends, or it
uses too much memory. Durations are only printed, because they depend on the load of the machine.
"""

import os
import pathlib
import random
import resource
import string
import sys
import threading
import time
import urllib.parse

from client import (ATTACKER, HOST, NEIGHBOUR, Failed, Health, Server, end_with_reset, expect, is_open, send, status,
                    wait_until)

# Duration of attacks that could go on without end.
ATTACK_S = 0.7


def for_a_while():
    end = time.monotonic() + ATTACK_S
    while time.monotonic() < end:
        yield


def in_threads(count, function):
    """Runs FUNCTION in COUNT threads and collects what they return."""
    results = []
    threads = [threading.Thread(target=lambda: results.append(function())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(len(results) == count, "a thread of the attack failed")
    return results


def drip(server, beginning, count):
    """Holds COUNT connections and sends one byte on each every 50 ms, until the server has closed all."""
    connections = [server.open_with(beginning) for _ in range(count)]

    def drip_once():
        connections[:] = [c for c in connections if is_open(c) and send(c, "x")]
        time.sleep(0.05)
        return not connections

    wait_until(drip_once, "all connections are closed")


def wait_until_closed(server, before, count, *reasons):
    """Waits until at least COUNT more are closed. Connections of the previous attack may be closed meanwhile too."""
    wait_until(lambda: server.closed_for(*reasons) - before >= count, f"{count} connections closed for {reasons}")


def header_drip(server, limits):
    before = server.closed_for("header_timeout", "client_limit")
    drip(server, f"GET / HTTP/1.1\r\n{HOST}X-Long: ", limits.drips)
    wait_until_closed(server, before, limits.drips, "header_timeout", "client_limit")
    return f"{limits.drips} ended"


def body_drip(server, limits):
    before = server.closed_for("slow_body")
    drip(server, f"POST /v1/ingest HTTP/1.1\r\n{HOST}{server.authorization()}Content-Length: 99999\r\n\r\n", 5)
    wait_until_closed(server, before, 5, "slow_body")
    return "5 ended"


def trailer_drip(server, limits):
    before = server.closed_for("slow_body")
    drip(server, f"POST /v1/ingest HTTP/1.1\r\n{HOST}{server.authorization()}Transfer-Encoding: chunked\r\n\r\n"
         "1\r\nx\r\n0\r\nX-Trailer: ", 5)
    wait_until_closed(server, before, 5, "slow_body")
    return "5 ended"


def expect_without_body(server, limits):
    before = server.closed_for("slow_body")
    connections = [server.open_with(f"POST /v1/ingest HTTP/1.1\r\n{HOST}{server.authorization()}Expect: 100-continue\r\n"
                                    "Content-Length: 99999\r\n\r\n") for _ in range(5)]
    wait_until_closed(server, before, 5, "slow_body")
    for connection in connections:
        connection.close()
    return "5 ended"


def silence(server, limits):
    """Connections on which the client never sends anything."""
    before = server.closed_for("header_timeout", "client_limit")
    connections = [server.connect() for _ in range(limits.flood)]
    wait_until_closed(server, before, limits.flood, "header_timeout", "client_limit")
    for connection in connections:
        connection.close()
    return f"{limits.flood} ended"


def resets(server, limits):
    """Connections that the client resets in the middle of a request."""
    count = 0
    for _ in for_a_while():
        end_with_reset(server.open_with(f"POST /v1/ingest HTTP/1.1\r\n{HOST}{server.authorization()}Content-Length: 9\r\n\r\nx"))
        count += 1
    return f"{count} resets"


def body_without_token(server, limits):
    for head in ("Content-Length: 1000000000", "Transfer-Encoding: chunked"):
        answer = server.answer(f"POST /v1/ingest HTTP/1.1\r\n{HOST}{head}\r\n\r\n")
        expect(answer == "401", f"'{head}' was answered with {answer}")
    return "401"


def ambiguous_framing(server, limits):
    post = "POST /v1/ingest HTTP/1.1\r\n"
    for request in ("GET /healthz HTTP/1.1\r\n\r\n",
                    f"GET /healthz HTTP/1.1\r\n{HOST}{HOST}\r\n",
                    f"{post}{HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
                    f"{post}{HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                    f"{post}{HOST}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
                    f"{post}{HOST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"):
        answer = server.answer(request)
        expect(answer == "400", f"{request!r} was answered with {answer}")
    return "400"


def wrong_lengths(server, limits):
    """Sizes that are negative, overflow, or are not numbers, and very long chunk extensions."""
    head = f"POST /v1/ingest HTTP/1.1\r\n{HOST}{server.authorization()}"
    chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
    answers = []
    for request in (head + "Content-Length: -1\r\n\r\nx", head + "Content-Length: 99999999999999999999\r\n\r\nx",
                    head + "Content-Length: 0x10\r\n\r\nx", head + "Content-Length: 1,1\r\n\r\nx",
                    chunked + "-1\r\nx\r\n", chunked + "FFFFFFFFFFFFFFFFF\r\nx\r\n", chunked + "FFFFFFFFFFFFFFFF\r\nx\r\n",
                    chunked + "0x1\r\nx\r\n"):
        answers.append(server.answer(request))
        expect(answers[-1] in ("400", "413", "end", "reset"), f"{request[:200]!r} was answered with {answers[-1]}")
    # The HTTP library answers 500 if the line of a chunk exceeds the memory of a connection.
    answers.append(server.answer(chunked + "1;" + "x=y;" * 20000 + "\r\nx\r\n"))
    expect(answers[-1] in ("400", "413", "500", "end", "reset"), f"a long chunk extension was answered with {answers[-1]}")
    return "/".join(sorted(set(answers)))


def strange_requests(server, limits):
    answers = []
    for request in (f"GET http://127.0.0.1/v1/services HTTP/1.1\r\n{HOST}\r\n",
                    f"CONNECT 127.0.0.1:22 HTTP/1.1\r\n{HOST}\r\n", f"OPTIONS * HTTP/1.1\r\n{HOST}\r\n",
                    f"TRACE / HTTP/1.1\r\n{HOST}\r\n", f"GET /../../../etc/passwd HTTP/1.1\r\n{HOST}\r\n",
                    f"GET /%00 HTTP/1.1\r\n{HOST}\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
                    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "\x00" * 200 + "\r\n\r\n", "\x00" * 1000 + "\r\n\r\n"):
        answers.append(server.answer(request))
        expect(answers[-1] in ("400", "401", "403", "404", "405", "501", "505", "end", "reset"),
               f"{request[:80]!r} was answered with {answers[-1]}")
    return "/".join(sorted(set(answers)))


def huge_headers(server, limits):
    answers = []
    for request in (f"GET / HTTP/1.1\r\n{HOST}X-Long: {'x' * 65536}\r\n\r\n",
                    f"GET / HTTP/1.1\r\n{HOST}" + "X: y\r\n" * 20000 + "\r\n",
                    f"GET /{'x' * 65536} HTTP/1.1\r\n{HOST}\r\n", f"GET /?{'a=b&' * 20000} HTTP/1.1\r\n{HOST}\r\n"):
        for _ in range(5):
            answers.append(server.answer(request))
            expect(answers[-1] in ("400", "413", "414", "431", "end", "reset"),
                   f"{request[:80]!r} was answered with {answers[-1]}")
    return "/".join(sorted(set(answers)))


def pipelined(server, limits):
    """More requests than the socket buffers hold answers, which the client does not read."""
    connections = [server.connect(receive_buffer=4096) for _ in range(5)]
    requests = (f"GET /healthz HTTP/1.1\r\n{HOST}\r\n" * 500).encode()
    sent = 0
    for connection in connections:
        connection.setblocking(False)
    for _ in for_a_while():
        for connection in connections:
            try:
                sent += connection.send(requests)
            except BlockingIOError:
                pass
            except OSError:
                break
        time.sleep(0.001)
    for connection in connections:
        connection.close()
    return f"{sent * 500 // len(requests)} requests"


def guess_tokens(server, limits):
    def guess():
        count = 0
        with server.connect() as connection:
            for _ in for_a_while():
                guessed = "hearth_" + "".join(random.choices(string.hexdigits, k=64))
                send(connection, f"GET /v1/services HTTP/1.1\r\n{HOST}Authorization: Bearer {guessed}\r\n\r\n")
                answer = status(connection)
                expect(answer == "401", f"a guessed token was answered with {answer}")
                count += 1
        return count

    return f"{sum(in_threads(4, guess))} times 401"


def zero_window(server, limits):
    """Clients that request a large file and never read it."""
    before = server.closed_for("slow_reader")
    request = f"GET /buildid/{server.build_id}/debuginfo HTTP/1.1\r\n{HOST}{server.authorization()}\r\n"
    connections = [server.open_with(request, receive_buffer=4096) for _ in range(5)]
    wait_until_closed(server, before, 5, "slow_reader")
    for connection in connections:
        connection.close()
    return "5 ended"


def thousands_of_ranges(server, limits):
    ranges = ",".join(f"{i}-{i}" for i in range(3000))
    answers = set()
    for _ in range(10):
        answers.add(server.answer(f"GET /buildid/{server.build_id}/debuginfo HTTP/1.1\r\n{HOST}{server.authorization()}"
                                  f"Range: bytes={ranges}\r\n\r\n"))
    expect(answers <= {"200", "416"}, f"the answers were {answers}")
    return "/".join(answers)


def not_elf(server, limits):
    """Uploads with a wrong magic: the server must refuse them after the first bytes, without reading the rest."""
    sent, size = 0, 100000000
    connection = server.open_with(f"PUT /v1/debuginfo/{'ab' * 20} HTTP/1.1\r\n{HOST}{server.authorization()}"
                                  f"Content-Length: {size}\r\n\r\nno ELF file")
    answer = status(connection)
    expect(answer == "400", f"a file without magic was answered with {answer}")
    while sent < size and send(connection, bytes(1 << 16)):
        sent += 1 << 16
    connection.close()
    # The buffers of two sockets, and the 4 MiB that the server discards.
    expect(sent < size / 3, f"{sent} bytes of it were read")
    return f"400 at once; {sent >> 20} of {size >> 20} MiB were sent"


def bomb(server, limits):
    request = limits.post(server.authorization(), limits.bomb.read_bytes())
    answers = set(in_threads(4, lambda: server.answer(request)))
    expect(answers <= {"400", "413"}, f"the answers were {answers}")
    return "/".join(sorted(answers))


def query(server, text):
    return server.answer(f"GET /v1/flame?last=1h&filter={urllib.parse.quote(text)} HTTP/1.1\r\n{HOST}"
                         f"{server.authorization()}\r\n")


def backtracking(server, limits):
    """Patterns with a run time that is exponential in the 29 characters of the host's name."""
    answers = set()
    for pattern in ("(a+)+$", "(a|aa)+$", "(a|a?)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(?R)?a+$", "(.*)*x" * 10):
        answers |= set(in_threads(4, lambda text=f"host REGEXP '{pattern}'": query(server, text)))
    expect(answers <= {"200", "400"}, f"the answers were {answers}")
    return "/".join(sorted(answers))


def nested(server, limits):
    """Deeply nested filters and JSON."""
    answers = set()
    for text in ("(" * 30000 + "host = 'a'" + ")" * 30000, "NOT " * 15000 + "host = 'a'", "host IN (" * 5000):
        now = int(time.time())
        answers.add(trace(server, '{"profile_event_type": "on-cpu", "profile_language_type": "eBPF", '
                          f'"time_start": {now - 3600}, "time_end": {now}, "tag_filter": "{text}"}}'))
    answers.add(trace(server, '{"a":' * 100000))
    expect(answers <= {"200", "400"}, f"the answers were {answers}")
    return "/".join(sorted(answers))


def trace(server, body):
    return server.answer(f"POST /v1/profile/ProfileTracing HTTP/1.1\r\n{HOST}{server.authorization()}"
                         f"Content-Length: {len(body)}\r\n\r\n{body}")


def one_token_has_too_many(server, limits):
    """One token has as many open requests as it may have; the server still answers another token."""
    body = (f"POST /v1/ingest HTTP/1.1\r\n{HOST}{server.authorization()}Content-Length: 100000\r\n\r\nx")
    question = f"GET /v1/services HTTP/1.1\r\n{HOST}"
    held = []

    def is_refused():
        # Connections of an earlier attack may count toward the address's limit for a moment.
        held[:] = [connection for connection in held if is_open(connection)]
        held.extend(server.open_with(body) for _ in range(limits.per_token - len(held)))
        return server.answer(question + server.authorization() + "\r\n") == "429"

    wait_until(is_refused, "the answer 429")
    other = server.answer(question + server.authorization(server.other_token) + "\r\n")
    expect(other == "200", f"another token was answered with {other}")
    for connection in held:
        connection.close()
    wait_until(lambda: server.answer(question + server.authorization() + "\r\n") == "200", "the answer 200")
    return "429, another token 200"


def queries_in_floods(server, limits):
    """More concurrent queries than there are workers."""
    request = f"GET /v1/flame?last=1h HTTP/1.1\r\n{HOST}{server.authorization()}\r\n"

    def flood():
        seen = []
        with server.connect() as connection:
            for _ in for_a_while():
                send(connection, request)
                seen.append(status(connection))
        return seen

    answers = sum(in_threads(limits.more_than_workers, flood), [])
    expect(set(answers) <= {"200", "429"}, f"the answers were {set(answers)}")
    return f"{len(answers)} times {'/'.join(set(answers))}"


def bodies_in_memory(server, limits):
    """Incomplete bodies of one token fill the memory that it may use. Another token sends a batch meanwhile."""
    head = f"POST /v1/ingest HTTP/1.1\r\n{HOST}{server.authorization()}Content-Length: {8 << 20}\r\n\r\n".encode()
    held = [server.open_with(head + bytes(4 << 20)) for _ in range(min(64, limits.per_token - 1))]
    slowest, end = 0, time.monotonic() + ATTACK_S
    while time.monotonic() < end:
        for connection in held:
            if is_open(connection):
                send(connection, "x")
        slowest = max(slowest, other_client(server, limits.batch_request(server)))
    kept = []

    def some_are_refused():
        kept.append(sum(is_open(connection) for connection in held))
        return kept[-1] < 64

    wait_until(some_are_refused, "bodies are refused because of the memory that they use")
    for connection in held:
        connection.close()
    return f"{kept[-1]} of {len(held)} held; another's batch {1000 * slowest:.0f} ms"


def other_client(server, request):
    """The time in seconds until another token gets the answer 200."""
    began = time.monotonic()
    with server.connect(source=NEIGHBOUR) as connection:
        connection.sendall(request)
        answer = status(connection)
    expect(answer == "200", f"another token was answered with {answer}")
    return time.monotonic() - began


def work_for_all_workers(server, limits):
    """One token sends more hostile batches and queries than there are workers. Another token is answered meanwhile."""
    bomb_request = limits.post(server.authorization(), limits.bomb.read_bytes())
    text = urllib.parse.quote("host REGEXP '(a|aa)+$'")
    hostile = [bomb_request, f"GET /v1/flame?last=1h&filter={text} HTTP/1.1\r\n{HOST}{server.authorization()}\r\n".encode()]
    stop = threading.Event()

    def attack(request):
        while not stop.is_set():
            server.answer(request)

    threads = [threading.Thread(target=attack, args=(hostile[i % 2],)) for i in range(limits.more_than_workers)]
    for thread in threads:
        thread.start()
    question = f"GET /v1/flame?last=1h HTTP/1.1\r\n{HOST}{server.authorization(server.other_token)}\r\n".encode()
    batch = query_s = 0
    try:
        for _ in for_a_while():
            batch = max(batch, other_client(server, limits.batch_request(server)))
            query_s = max(query_s, other_client(server, question))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return f"another's batch {1000 * batch:.0f} ms, query {1000 * query_s:.0f} ms"


ATTACKS = [header_drip, body_drip, trailer_drip, expect_without_body, silence, resets, body_without_token,
           ambiguous_framing, wrong_lengths, strange_requests, huge_headers, pipelined, guess_tokens, zero_window,
           thousands_of_ranges, not_elf, bomb, backtracking, nested, one_token_has_too_many, queries_in_floods,
           bodies_in_memory, work_for_all_workers]


class Limits:
    def __init__(self, max_connections, per_token, folder):
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.flood = min(max_connections * 3 // 2, 1500, most - 100)
        self.drips = min(self.flood, 200)
        self.per_token = per_token
        # More than the server's default number of workers, within the limit of one client address.
        self.more_than_workers = min(max(4, 2 * os.cpu_count()) + 1, max_connections // 4, per_token - 1)
        self.bomb = pathlib.Path(folder) / "bomb"
        self.batch = (pathlib.Path(folder) / "batch").read_bytes()

    @staticmethod
    def post(authorization, body):
        return (f"POST /v1/ingest HTTP/1.1\r\n{HOST}{authorization}Content-Length: {len(body)}\r\n\r\n").encode() + body

    def batch_request(self, server):
        return self.post(server.authorization(server.other_token), self.batch)


def settle(server, connections):
    """Waits until the server has freed the limits of the previous attack, shortly after it closed the connections."""
    question = f"GET /v1/services HTTP/1.1\r\n{HOST}{server.authorization()}Connection: close\r\n\r\n"
    wait_until(lambda: server.answer(question) == "200", "an authorised request is answered")
    wait_until(lambda: server.connections() <= connections, f"{connections} connections are open")


def run_one(attack, server, limits, connections):
    answer, error = "", None
    health = Health(server.port)
    try:
        settle(server, connections)
        end = time.monotonic() + ATTACK_S
        while not answer or time.monotonic() < end:
            answer = attack(server, limits)
    except (Failed, OSError) as failure:
        error = f"{type(failure).__name__}: {failure}"
    latencies = [seconds for _, seconds in health.stop()]
    answered = [seconds for seconds in latencies if seconds is not None]
    slowest = max(answered, default=0)
    if not error and len(answered) < len(latencies):
        error = f"{len(latencies) - len(answered)} of {len(latencies)} health checks were not answered"
    if not error and not server.is_alive():
        error = "the server ended"
    memory = server.memory_mib("VmRSS") if server.is_alive() else 0
    print(f"{attack.__name__:22} {answer:52} {len(answered):4} {1000 * slowest:8.1f} ms {memory:5} MiB", flush=True)
    if error:
        print(f"FAILED: {attack.__name__}: {error}", flush=True)
    return error is None


def main():
    port, pid, token, other_token, build_id, folder, max_connections, per_token, most_mib = sys.argv[1:10]
    chosen = [attack for attack in ATTACKS if attack.__name__ in sys.argv[10:] or not sys.argv[10:]]
    server = Server(int(port), int(pid), token, other_token, build_id)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))
    limits = Limits(int(max_connections), int(per_token), folder)
    # The connection of this query and that of the health check. Connections of the preparation may still be open.
    connections = max(server.connections() + 1, 2)

    print(f"attacks of {ATTACKER} on max_connections {max_connections}")
    print(f"{'attack':22} {'answer':52} {'health checks, slowest':>16} {'memory':>9}")
    passed = [run_one(attack, server, limits, connections) for attack in chosen]
    if server.is_alive():
        peak = server.memory_mib("VmHWM")
        print(f"most memory: {peak} MiB")
        if peak > int(most_mib):
            print(f"FAILED: the server used {peak} MiB of memory, more than {most_mib}")
            passed.append(False)
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
