"""Shared by the tests of data: IDX files, and a web server on this machine."""

import functools
import gzip
import hashlib
import http.server
import struct
import threading
from pathlib import Path

import numpy as np
import pytest

from plasticity_lab.data import mnist


def as_idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def contents() -> dict[str, bytes]:
    pixels = np.arange(256, dtype=np.uint8)
    return {
        "train-images-idx3-ubyte": as_idx(pixels[: 12 * 9].reshape(12, 3, 3)),
        "train-labels-idx1-ubyte": as_idx(np.arange(12) % 10),
        "t10k-images-idx3-ubyte": as_idx(pixels[-5 * 9 :].reshape(5, 3, 3)),
        "t10k-labels-idx1-ubyte": as_idx(np.arange(5)),
    }


class Publisher:
    """Serves `root`/www; `files` are the right checksums of `good`, `asked` the paths that were asked for."""

    def __init__(self, root: Path) -> None:
        self.root, self.asked = root, []
        self.files = self._publish("good", contents())
        asked = self.asked

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                if not self.path.startswith("/broken/"):
                    return super().do_GET()
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"\x1f\x8b and then nothing")

            def log_request(self, code="-", size="-"):
                asked.append(self.path)

            def log_message(self, *_):
                pass

        serve = functools.partial(Handler, directory=str(root))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def mirror(self, name: str) -> str:
        """The address of a mirror; `broken` breaks off, and those not published answer 404."""
        return f"http://127.0.0.1:{self.server.server_port}/{name}/"

    def publish_altered(self, name: str) -> str:
        """The address of a mirror whose files are not those of `files`."""
        self._publish(name, {file: content[:-1] + b"\7" for file, content in contents().items()})
        return self.mirror(name)

    def close(self) -> None:
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()

    def _publish(self, name: str, files: dict[str, bytes]) -> list[mnist.IdxFile]:
        (self.root / name).mkdir(parents=True)
        published = []
        for file, content in files.items():
            archive = gzip.compress(content, mtime=0)
            (self.root / name / f"{file}.gz").write_bytes(archive)
            md5s = hashlib.md5(content).hexdigest(), hashlib.md5(archive).hexdigest()
            published.append(mnist.IdxFile(file, *md5s))
        return published


@pytest.fixture
def publisher(tmp_path, monkeypatch):
    """A made-up set published like MNIST, and a web server on this machine that publishes it."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    publisher = Publisher(tmp_path / "www")
    yield publisher
    publisher.close()


@pytest.fixture
def idx():
    """The bytes of the IDX file that holds an array."""
    return as_idx
