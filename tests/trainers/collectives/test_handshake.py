"""Who is let in to a rank that listens."""

import secrets
import socket
import threading
import time

from trainers.collectives.wire.handshake import HELLO, let_in

SECRET = secrets.token_bytes(16)


def test_a_caller_whose_word_comes_in_parts_is_let_in_and_strangers_are_not() -> None:
    """Forces: one who leaves within a word, one who does not know the secret, and a network that splits the word."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        words = [(SECRET[:5],), (HELLO.pack(secrets.token_bytes(16), 1),), (SECRET, HELLO.pack(SECRET, 7)[16:])]

        def call() -> None:
            for parts in words:
                with socket.create_connection(door.getsockname()) as sock:
                    for part in parts:
                        sock.sendall(part)
                        time.sleep(0.1)

        caller = threading.Thread(target=call)
        caller.start()
        rank, sock = let_in(door, SECRET, timeout_s=30)
        sock.close()
        caller.join()
    assert rank == 7
