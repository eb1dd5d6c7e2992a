"""The configuration of nginx with the names of other hosts replaced by ports of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.repository.checkout import ROOT
from tests.servers.processes import ADDRESS

_LISTEN = "listen 8080;"
_RESOLVER = "    resolver 127.0.0.11 valid=5s ipv6=off;\n"
_REPLICAS = "server losslake:8000 resolve max_fails=0;"
_STORE = "server store:8333 "


def rendered(folder: Path, port: int, replicas: Sequence[int], store: int) -> Path:
    """Write it into a folder, in which nginx then keeps what it caches.

    Args:
        folder: a new one is made below it.
        port: where nginx listens.
        replicas: where the service does.
        store: where the object store does.
    """
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    for name in (_LISTEN, _RESOLVER, _REPLICAS, _STORE):
        assert name in text, f"deploy/nginx.conf no longer has {name!r}"
    text = text.replace(_RESOLVER, "")
    text = text.replace(_LISTEN, f"listen {ADDRESS}:{port};")
    text = text.replace(_REPLICAS, "\n".join(f"server {ADDRESS}:{replica} max_fails=0;" for replica in replicas))
    text = text.replace(_STORE, f"server {ADDRESS}:{store} ")
    own = folder / "nginx"
    own.mkdir()
    text = text.replace("/tmp/", f"{own}/").replace("/var/cache/nginx", str(own / "cache"))
    (own / "cache").mkdir()
    configuration = own / "nginx.conf"
    configuration.write_text(text)
    return configuration
