# SPDX-License-Identifier: Apache-2.0
"""Sends set and get requests to a memcached at 127.0.0.1: memcached_load.py PORT SECONDS"""
import socket
import sys
import time


def main():
    deadline = time.monotonic() + float(sys.argv[2])
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        requests = b"".join(b"set key%d 0 0 40\r\n%s\r\n" % (i, b"v" * 40) for i in range(200))
        requests += b"get %s\r\n" % b" ".join(b"key%d" % i for i in range(90)) * 20
        while time.monotonic() < deadline:
            server.sendall(requests + b"version\r\n")
            answer = b""
            while b"VERSION" not in answer:
                answer = answer[-20:] + server.recv(1 << 16)


main()
