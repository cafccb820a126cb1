"""The part of a world's that talks to a program in a job (docs/formats/controller.md), for tests that are the
controller themselves: listens at a Unix socket, and says what a test lets it say."""

import json
import os
import select
import socket
import time

from programs import PATIENCE


class JobController:
    def __init__(self, path):
        self.path = str(path)
        self.connection = None
        self.come = b""
        self.events = []  # lines of the report
        self.listen()

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()

    def accept(self, timeout=PATIENCE):
        """The first line of who comes."""
        self.listener.settimeout(timeout)
        self.connection, _ = self.listener.accept()
        self.come = b""
        return self.line(timeout)

    def end(self):
        """As a controller that is killed."""
        for one in (self.connection, self.listener):
            if one is not None:
                one.close()
        self.connection = None
        if os.path.exists(self.path):
            os.unlink(self.path)

    def say(self, **words):
        self.connection.sendall(json.dumps(words).encode() + b"\n")

    def line(self, timeout=PATIENCE):
        end = time.monotonic() + timeout
        while b"\n" not in self.come:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.connection], [], [], left)[0], "no line came"
            got = self.connection.recv(65536)
            assert got, "the job has closed the connection"
            self.come += got
        line, self.come = self.come.split(b"\n", 1)
        return json.loads(line)

    def answer(self, timeout=PATIENCE):
        """The next line that is no event; those are kept."""
        while "event" in (line := self.line(timeout)):
            self.events.append(line)
        return line

    def order(self, **words):
        self.say(**words)
        return self.answer()
