#!/usr/bin/env python3
"""What charmrun and a program of Charm++ look like from outside: CCS with a key, and shrinking and expanding.

    charmrun.py BEHAVIOUR +pN ++server-port PORT ++server-auth FILE ...

It has as many children as processes, and ends with exit code 0 when the file `hurry` is there, in $DUCTILE_TEST or here. It comes
to a step of load balancing every 50 ms, and whenever the file `step` is there if it is `late`. Of its orders it makes files
`told-1`, `told-2` and so on. BEHAVIOUR:

    good        shrinks and expands as it is told at its next step
    late        the same, but its steps come by that file alone
    unknown     was built without shrinking and expanding
    begins      does not know its first order
    dies        ends with exit code 3 when it is to start itself again
    raced       as `late`, but when another order comes before the step it has just begun, once, with the first one
    impostor    has another key
    other       says that it has another size than it has
    loses       closes the connection of its first order, and obeys it all the same
    leaves      as Charm++ does, its processes send their output to it, and an expansion leaves a process behind
    miscounts   the same, but of one process the output is elsewhere
"""

import contextlib
import hashlib
import os
import pathlib
import select
import socket
import struct
import subprocess
import sys
import time


class Program:
    def __init__(self, arguments):
        self.behaviour = arguments[1]
        self.folder = pathlib.Path(os.environ.get("DUCTILE_TEST", "."))
        self.size = int(next(word for word in arguments if word.startswith("+p"))[2:])
        self.port = int(arguments[arguments.index("++server-port") + 1])
        level, key = pathlib.Path(arguments[arguments.index("++server-auth") + 1]).read_text().split()
        assert level == "0" and len(key) == 32
        self.key = bytes(int(key[i:i + 2]) for i in range(0, 32, 2))
        if self.behaviour == "impostor":
            self.key = bytes(16)
        self.checkpoint = pathlib.Path(arguments[arguments.index("+shrinkexpand_basedir") + 1])
        assert self.checkpoint.is_dir()
        self.children, self.order, self.reply, self.orders = [], None, None, 0
        self.next_step = time.monotonic()
        self.output = socket.socketpair()
        self.begin()

    # ---- CCS -----------------------------------------------------------------------------------

    def begin(self):
        self.listener = socket.create_server(("", self.port))
        self.clients = []
        while len(self.children) < self.size:
            is_heard = self.behaviour == "leaves" or self.behaviour == "miscounts" and self.children
            self.children.append(subprocess.Popen(["sleep", "1000"], stdout=self.output[0] if is_heard else None))
        while len(self.children) > self.size:
            last = self.children.pop()
            last.kill()
            last.wait()

    def sign(self, number, header=b""):
        return hashlib.sha1((self.key + number + header[:16]).ljust(52, b"\0")).digest()

    def serve(self, client):
        with contextlib.suppress(EOFError, ConnectionError, TimeoutError):
            self.answer(client)

    def answer(self, client):
        client.settimeout(5)

        def receive(count):
            got = b""
            while len(got) < count:
                part = client.recv(count - len(got))
                if not part:
                    raise EOFError
                got += part
            return got

        kind = receive(4)
        if kind == bytes.fromhex("80000100"):
            theirs = receive(4)
            client.sendall(b"abcd")
            if receive(20) == self.sign(b"abcd") or self.behaviour == "impostor":
                self.clients.append(len(self.clients) + 7)
                client.sendall(self.sign(theirs) + struct.pack(">II", len(self.clients) - 1, self.clients[-1]))
            return
        if kind != bytes.fromhex("80000000"):
            return print("denied", flush=True)
        number, theirs, signature, header = receive(4), receive(4), receive(20), receive(40)
        number = struct.unpack(">I", number)[0]
        if number >= len(self.clients) or signature != self.sign(struct.pack(">I", self.clients[number]), header):
            return print("denied", flush=True)
        self.clients[number] += 1
        length, processor = struct.unpack(">II", header[:8])
        assert processor == 0
        data = receive(length)
        answer = lambda text: client.sendall(self.sign(theirs) + struct.pack(">I", len(text)) + text)
        handler = header[8:].rstrip(b"\0")
        if handler == b"ccs_getinfo":
            size = self.size + 1 if self.behaviour == "other" else self.size
            answer(struct.pack(f">{size + 1}I", size, *[1] * size))
        elif handler != b"set_bitmap" or self.behaviour in ("unknown", "begins"):
            if self.behaviour == "begins" and handler == b"set_bitmap":
                self.behaviour = "good"
            answer(b"")
        else:
            assert len(data) == self.size + 5 and data[-1] == 0, data
            size, = struct.unpack_from("=i", data, self.size)
            assert sum(data[:self.size]) == min(size, self.size)
            self.orders += 1
            (self.folder / f"told-{self.orders}").touch()
            if self.order is not None and self.behaviour == "raced":
                self.behaviour = "late"
                return self.restart(self.order, lambda text: None)
            self.order, self.reply = size, answer
            self.connection = client  # open until the answer
            if self.behaviour == "loses":
                self.behaviour = "good"
                client.close()
                self.reply = lambda text: None

    # ---- The program ---------------------------------------------------------------------------

    def step(self):
        if self.behaviour in ("late", "raced"):
            if not (self.folder / "step").exists():
                return
            (self.folder / "step").unlink()
        elif time.monotonic() < self.next_step:
            return
        self.next_step = time.monotonic() + 0.05
        if self.order is None:
            return
        self.restart(self.order, self.reply)

    def restart(self, size, reply):
        if self.behaviour == "dies":
            for child in self.children:
                child.kill()
            sys.exit(3)
        reply(b"")
        self.connection.close()
        print(f"from {self.size} to {size}", flush=True)
        if self.behaviour in ("leaves", "miscounts") and size > self.size:
            subprocess.run(["sh", "-c", 'sh -c "sleep 1001; :" "$1" &', "sh", self.checkpoint], check=True)
        self.order, self.size = None, size
        self.listener.close()
        time.sleep(0.03)
        self.begin()

    def run(self):
        while not (self.folder / "hurry").exists():
            if select.select([self.listener], [], [], 0.01)[0]:
                self.serve(self.listener.accept()[0])
            self.step()
        print("done", flush=True)
        for child in self.children:
            child.kill()
            child.wait()


Program(sys.argv).run()
