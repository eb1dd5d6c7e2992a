from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import httpx

from tests.repository.checkout import ROOT
from tests.servers.processes import ADDRESS, SECONDS, free_port


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"loss")

    def log_message(self, *message: object) -> None:
        """Say nothing."""


def test_a_server_of_this_machine_is_asked_directly() -> None:
    with ThreadingHTTPServer((ADDRESS, 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        url = f"http://{ADDRESS}:{server.server_port}"
        with urlopen(url, timeout=SECONDS) as answer:
            assert answer.read() == b"loss"
        assert httpx.get(url, timeout=SECONDS).text == "loss"
        server.shutdown()
        thread.join()


def test_proxies_of_the_environment_are_asked_nothing() -> None:
    nobody = f"http://{ADDRESS}:{free_port()}"
    proxies = {"http_proxy": nobody, "HTTP_PROXY": nobody, "ALL_PROXY": nobody, "no_proxy": ""}
    # Of the plugins that tests have, the one that forgets proxies is enough, and takes no second to import.
    options = ["-p", "tests.without_proxies", "--noconftest", "-c", os.devnull, "--rootdir", str(ROOT)]
    options += ["--disable-plugin-autoload", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *options, __file__, "-k", "asked_directly"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **proxies}, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout[-2000:]
