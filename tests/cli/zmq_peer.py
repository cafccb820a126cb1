"""Somebody at the other end of a socket of ZeroMQ, in a thread: schedulers, as tests want them."""

import contextlib
import json
import threading

import zmq


@contextlib.contextmanager
def peer(kind, attach, say):
    """Has a socket of this kind, and what `attach(socket)` returns. `say(message)`: what it sends, texts or objects, in
    order, and whether it goes then."""
    context = zmq.Context()
    socket = context.socket(kind)
    attached = attach(socket)
    over, failed = threading.Event(), []

    def run():
        try:
            goes = False
            while not goes and not over.is_set():
                if socket.poll(50):
                    said, goes = say(json.loads(socket.recv()))
                    for text in said:
                        socket.send((text if isinstance(text, str) else json.dumps(text)).encode())
        except Exception as error:  # pylint: disable=broad-except
            failed.append(error)
        finally:
            socket.close(linger=1000)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield attached
    finally:
        over.set()
        thread.join()
        context.term()
    assert not failed, failed
