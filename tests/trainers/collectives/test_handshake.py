"""A listening rank accepts only peers that know its secret."""

import secrets
import socket
import threading
import time

from trainers.collectives.wire.handshake import HANDSHAKE, accept_peer

SECRET = secrets.token_bytes(16)


def test_a_handshake_in_pieces_is_accepted_and_strangers_are_rejected() -> None:
    """A process that leaves during its handshake, a process with a wrong secret, and a handshake in two pieces."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        attempts = [
            (SECRET[:5],),
            (HANDSHAKE.pack(secrets.token_bytes(16), 1),),
            (SECRET, HANDSHAKE.pack(SECRET, 7)[16:]),
        ]

        def connect() -> None:
            for pieces in attempts:
                with socket.create_connection(listener.getsockname()) as sock:
                    for piece in pieces:
                        sock.sendall(piece)
                        time.sleep(0.1)

        connecting = threading.Thread(target=connect)
        connecting.start()
        rank, sock = accept_peer(listener, SECRET, timeout_s=30)
        sock.close()
        connecting.join()
    assert rank == 7
