"""A server for files on loopback, for what a browser opens over HTTP alone."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def served(folder: Path, more: Mapping[str, bytes] | None = None) -> Iterator[str]:
    """The address of a server for the files of a folder, and for ``more`` by their paths."""
    handler = functools.partial(_Quiet, dict(more or {}), directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def __init__(self, more: dict[str, bytes], *arguments: Any, **options: Any) -> None:
        self._more = more
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        """The file, or what is given in the place of one."""
        data = self._more.get(self.path)
        if data is None:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are not told."""
