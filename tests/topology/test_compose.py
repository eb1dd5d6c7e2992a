from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from losslake.lake.location import location_of
from losslake_service.settings import Settings
from tests.repository.checkout import ROOT, project
from tests.repository.test_dockerfile import exec_form, last
from tests.topology.composition import DEVELOPMENT, PRODUCTION, filled_in, merged, published_schema, read

OURS = ("losslake", "init", "ingest", "contributions")
STARTED = {"nginx", "losslake", "init", "reader", "database", "files", "store", "bucket"}


def services() -> dict[str, Any]:
    found = read(PRODUCTION)["services"]
    assert isinstance(found, dict)
    return found


def commands() -> list[list[str]]:
    """Every losslake command that a container is started with."""
    both = merged()["services"]
    return [exec_form(last("CMD")), *(each[name]["command"] for each in (services(), both) for name in OURS)]


@pytest.mark.parametrize("document", [read(PRODUCTION), read(DEVELOPMENT), merged()], ids=["alone", "override", "both"])
def test_a_compose_file_is_as_the_published_schema_says(document: Any) -> None:
    found = jsonschema_rs.validator_for(published_schema()).iter_errors(document)
    assert [f"{error.instance_path}: {error.message}" for error in found] == []


def test_the_schema_finds_what_is_wrong() -> None:
    wrong = {"services": {"losslake": {"image": "x", "read_onl": True}}}
    assert not jsonschema_rs.validator_for(published_schema()).is_valid(wrong)


@pytest.mark.parametrize("name", sorted(services()))
def test_every_container_of_production_is_without_root_and_rights_on_a_file_system_that_it_cannot_write(
    name: str,
) -> None:
    service = services()[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices", "network_mode", "pid", "ipc"} & set(service)
    # The image's own user, where it isn't root.
    user = service.get("user", last("USER") if name in OURS else "0")
    assert user.partition(":")[0] not in {"0", "root"}
    limits = service["deploy"]["resources"]["limits"]
    assert set(limits) == {"cpus", "memory", "pids"}
    assert all(("size=" in folder and "nosuid" in folder) or "run" in folder for folder in service["tmpfs"])


@pytest.mark.parametrize("name", sorted(services()))
def test_every_image_is_of_a_certain_version(name: str) -> None:
    _, _, tag = services()[name]["image"].partition(":")
    assert tag
    assert tag[0].isdigit()
    if name in OURS:
        assert tag == project()["project"]["version"]


def test_only_nginx_is_reached_from_outside_and_it_never_meets_the_database() -> None:
    assert [name for name, service in services().items() if "ports" in service] == ["nginx"]
    networks = read(PRODUCTION)["networks"]
    inside = {name for name, network in networks.items() if network and network.get("internal")}
    for name, service in services().items():
        assert set(service["networks"]) <= inside or name == "nginx"
    assert set(services()["nginx"]["networks"]) == {"public", "service", "contributions", "store"}
    assert services()["database"]["networks"] == ["database"]
    # Within it, nobody is asked for a key.
    assert {name for name, service in services().items() if "files" in service["networks"]} == {
        "files",
        "store",
        "bucket",
    }
    assert services()["nginx"]["ports"] == ["${LOSSLAKE_LISTEN:-127.0.0.1:8000}:8080"]


def test_the_service_believes_nobody_but_nginx() -> None:
    (range_,) = read(PRODUCTION)["networks"]["service"]["ipam"]["config"]
    environment = services()["losslake"]["environment"]
    assert environment["LOSSLAKE_TRUSTED_PROXIES"] == range_["subnet"]
    in_it = {name for name, service in services().items() if "service" in service["networks"]}
    assert in_it == {"nginx", "losslake"}
    Settings(trusted_proxies=(filled_in(range_["subnet"], {}),))


def test_the_contribution_service_believes_nobody_but_nginx() -> None:
    (range_,) = read(PRODUCTION)["networks"]["contributions"]["ipam"]["config"]
    environment = services()["contributions"]["environment"]
    assert environment["LOSSLAKE_CONTRIBUTIONS_TRUSTED_PROXIES"] == range_["subnet"]
    in_it = {name for name, service in services().items() if "contributions" in service["networks"]}
    assert in_it == {"nginx", "contributions"}


def test_composed_services_start_and_answer_for_this_machine() -> None:
    image = dict(part.split("=", 1) for part in last("ENV").split())
    for hosts in (
        filled_in(services()["losslake"]["environment"]["LOSSLAKE_ALLOWED_HOSTS"], {}),
        merged()["services"]["losslake"]["environment"]["LOSSLAKE_ALLOWED_HOSTS"],
        image["LOSSLAKE_ALLOWED_HOSTS"],
    ):
        assert {"localhost:*", "127.0.0.1:*"} <= set(
            Settings.model_validate({"host": "0.0.0.0", "allowed_hosts": hosts}).hosts
        )


def test_no_password_stands_in_the_files_and_none_is_made_up() -> None:
    variables = {
        "PGPASSWORD": {"POSTGRES_PASSWORD", "POSTGRES_READER_PASSWORD"},
        "READER_PASSWORD": {"POSTGRES_READER_PASSWORD"},
        "POSTGRES_PASSWORD": {"POSTGRES_PASSWORD"},
        "AWS_SECRET_ACCESS_KEY": {"AWS_SECRET_ACCESS_KEY", "READER_SECRET_ACCESS_KEY"},
        "READER_SECRET_ACCESS_KEY": {"READER_SECRET_ACCESS_KEY"},
    }
    for service in services().values():
        for name, value in service.get("environment", {}).items():
            if name in variables:
                assert value in {f"${{{variable}:-}}" for variable in variables[name]}
    example = dict(line.split("=", 1) for line in (ROOT / "deploy/env.example").read_text().splitlines() if "=" in line)
    secret = set().union(*variables.values())
    assert {name: example[name] for name in secret} == dict.fromkeys(secret, "")
    assert "/.env" in (ROOT / ".gitignore").read_text().splitlines()
    assert ".env" not in (ROOT / ".dockerignore").read_text()


def test_read_service_has_a_role_and_a_key_of_its_own() -> None:
    reader, writer = (services()[name]["environment"] for name in ("losslake", "contributions"))
    assert (reader["PGPASSWORD"], writer["PGPASSWORD"]) == ("${POSTGRES_READER_PASSWORD:-}", "${POSTGRES_PASSWORD:-}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        assert reader[name].startswith(f"${{{name.replace('AWS', 'READER')}:-")
        assert writer[name].startswith(f"${{{name}:-")
    assert location_of(reader["LOSSLAKE_LAKE"]).database.username == "losslake_reader"
    assert services()["reader"]["volumes"] == ["./deploy/reader.sql:/reader.sql:ro"]
    assert (ROOT / "deploy/reader.sql").is_file()
    # The key that signs links is where neither the read service nor ingests look.
    mounted = {name for name, service in services().items() if any("secrets:" in each for each in service["volumes"])}
    assert mounted == {"contributions"}
    assert writer["LOSSLAKE_CONTRIBUTIONS_SIGNING_KEY_FILE"].startswith("/secrets/")


KEYS = {
    "AWS_ACCESS_KEY_ID": "writer",
    "AWS_SECRET_ACCESS_KEY": "one+secret/=",
    "READER_ACCESS_KEY_ID": "reader",
    "READER_SECRET_ACCESS_KEY": "another_secret-",
}


def started_store(folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Start the store by its script, with a program in its place that prints what it is started with."""
    (folder / "weed").write_text('#!/bin/sh\nenv\necho "$@"\n')
    (folder / "weed").chmod(0o755)
    return subprocess.run(
        ["/bin/sh", ROOT / "deploy/store.sh"],
        env={"PATH": f"{folder}:/usr/bin:/bin", "CONFIG": str(folder / "s3.json"), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("value", ["", 'x", "y'])
def test_the_store_does_not_start_without_keys(tmp_path: Path, name: str, value: str) -> None:
    ran = started_store(tmp_path, KEYS | {name: value})
    assert ran.returncode == 1
    assert ran.stderr == f"set {name} in .env, of letters, digits and +/=_-\n"
    assert not (tmp_path / "s3.json").exists()


def test_the_store_knows_a_key_that_writes_and_one_that_only_reads_what_is_public(tmp_path: Path) -> None:
    ran = started_store(tmp_path, KEYS)
    assert ran.returncode == 0, ran.stderr
    assert f"-s3.config={tmp_path / 's3.json'}" in ran.stdout
    # Else the store would take the first one for everything.
    assert "AWS_" not in ran.stdout
    file = tmp_path / "s3.json"
    assert file.stat().st_mode & 0o077 == 0
    writer, reader = json.loads(file.read_text())["identities"]
    assert writer["credentials"] == [{"accessKey": "writer", "secretKey": "one+secret/="}]
    assert reader["credentials"] == [{"accessKey": "reader", "secretKey": "another_secret-"}]
    assert "Write:losslake" in writer["actions"]

    def may_read(path: str) -> bool:
        return any(fnmatchcase(f"Read:losslake/lake/{path}", action) for action in reader["actions"])

    assert all(action.startswith("Read:") for action in reader["actions"])
    for path in ("lake.toml", "releases/release-000001.json", "warehouse/losslake/trials/data/x.parquet", "serving/x"):
        assert may_read(path), path
    for path in ("contributions/run/1-1.jsonl.zst", "drafts/x", "signing-key", "lakes", "../other"):
        assert not may_read(path), path


def test_only_the_port_that_asks_for_a_key_is_passed_on() -> None:
    text = (ROOT / "deploy/store.conf").read_text()
    assert re.findall(r"listen (\S+);", text) == ["8333"]
    assert re.findall(r"server (\S+) resolve", text) == ["files:8333"]
    assert services()["store"]["volumes"] == ["./deploy/store.conf:/etc/nginx/nginx.conf:ro"]


def test_everything_starts_after_what_it_needs_and_is_watched() -> None:
    for name, service in services().items():
        assert set(service.get("depends_on", {})) <= set(services())
        is_job = service["restart"] == "no"
        assert service["healthcheck"].get("disable", False) is is_job
        for needed, how in service.get("depends_on", {}).items():
            ends = services()[needed]["restart"] == "no"
            assert how["condition"] == ("service_completed_successfully" if ends else "service_healthy"), name
    assert {name for name, service in services().items() if "profiles" not in service} == STARTED
    assert services()["losslake"]["deploy"]["replicas"] == 2


def test_a_volume_is_declared_and_only_jobs_and_the_cache_are_shared() -> None:
    declared = set(read(PRODUCTION)["volumes"])
    named = [volume for service in services().values() for volume in service["volumes"] if volume[0] not in "./$"]
    assert {volume.partition(":")[0] for volume in named} == declared
    assert services()["losslake"]["volumes"] == services()["init"]["volumes"] == ["cache:/cache"]


def test_the_lake_is_where_the_database_and_the_store_are(monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = (services()[name]["environment"] for name in ("init", "losslake"))
    assert services()["ingest"]["environment"] == writer
    assert writer.items() <= services()["contributions"]["environment"].items()
    monkeypatch.setenv("LOSSLAKE_CACHE", writer["LOSSLAKE_CACHE"])
    location, read_from = (location_of(each["LOSSLAKE_LAKE"]) for each in (writer, reader))
    assert read_from.files_url == location.files_url
    database = services()["database"]["environment"]
    for each in (location, read_from):
        assert (each.database.host, each.database.database) == ("database", database["POSTGRES_DB"])
        assert each.database.password is None
    assert location.database.username == database["POSTGRES_USER"] == services()["reader"]["environment"]["PGUSER"]
    assert location.files_url == "s3://losslake/lake"
    assert "s3.bucket.create -name losslake'" in services()["bucket"]["command"][0]
    assert writer["AWS_ENDPOINT_URL_S3"] == reader["AWS_ENDPOINT_URL_S3"] == "http://store:8333"


def test_compose_hands_on_settings_that_there_are_and_waits_for_a_graceful_end() -> None:
    fields = Settings.model_fields
    handed = {name.removeprefix("LOSSLAKE_").lower() for name in services()["losslake"]["environment"]}
    ours = {name for name in handed if name.split("_")[0] not in {"aws", "pgpassword", "cache"}}
    assert ours <= set(fields)
    for service in (services()["losslake"], merged()["services"]["losslake"]):
        assert int(service["stop_grace_period"].rstrip("s")) > fields["shutdown_seconds"].default


def test_compose_asks_the_health_question_of_the_image() -> None:
    asked = exec_form(last("HEALTHCHECK").partition("CMD ")[2])
    assert services()["losslake"]["healthcheck"]["test"] == ["CMD", *asked]


@pytest.mark.slow
@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_the_command_line_knows_every_command_and_flag_that_a_container_starts(command: list[str]) -> None:
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    shown = subprocess.run(
        [sys.executable, "-m", "losslake", command[0], "--help"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert shown.returncode == 0, shown.stderr
    assert [word for word in command if word.startswith("--") and word not in shown.stdout] == []


@pytest.mark.slow
def test_development_is_one_process_over_a_folder_that_runs_the_sources_for_this_machine_only() -> None:
    both = merged()["services"]
    assert {name for name, service in both.items() if "profiles" not in service} == {"init", "losslake", "ingest"}
    losslake = both["losslake"]
    assert losslake["ports"] == ["127.0.0.1:8000:8000"]
    assert losslake["environment"] == {
        "LOSSLAKE_LAKE": "/lake",
        "LOSSLAKE_ALLOWED_HOSTS": "localhost:*,127.0.0.1:*",
        "LOSSLAKE_RATE_LIMIT": "0",
        "PYTHONPATH": "/src:/src/schema:/src/ingest:/src/service:/src/contributions",
    }
    assert losslake["volumes"] == ["lake:/lake", ".:/src:ro"]
    assert losslake["deploy"]["replicas"] == 1
    assert losslake["entrypoint"] == ["python", "-m", "losslake"]
    for name in OURS:
        assert both[name]["environment"]["LOSSLAKE_LAKE"] == "/lake"
        assert both[name]["networks"] == ["default"]
        assert both[name]["read_only"] is True


def test_development_serves_the_published_collections_after_the_first_release() -> None:
    both = merged()["services"]
    after_init = {"init": {"condition": "service_completed_successfully"}}
    assert [both[name].get("depends_on") for name in ("init", "losslake", "ingest")] == [None, after_init, after_init]
    bundles = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("published/*/*.tar"))
    first, *rest = (word for name in ("init", "ingest") for word in both[name]["command"] if ".tar" in word)
    assert (first, sorted(rest)) == ("studies/data/bundled.tar.bz2", bundles)
    assert rest[0] == "published/mlperf-training/mlperf-training.tar"
    assert both["losslake"]["command"][0] == "serve"
    for name in ("init", "ingest"):
        assert both[name]["restart"] == "no"
        assert {"lake:/lake", ".:/src:ro"} <= set(both[name]["volumes"])


@pytest.mark.slow
def test_the_jobs_of_development_fill_an_empty_lake_and_skip_what_it_has(tmp_path: Path) -> None:
    both = merged()["services"]
    environment = {**os.environ, "LOSSLAKE_LAKE": str(tmp_path / "lake")}
    said = []
    for name in ("init", "ingest", "init", "ingest"):
        command = [sys.executable, *both[name]["entrypoint"][1:], *both[name]["command"]]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
        assert (done.returncode, done.stderr) == (0, "")
        said.append(done.stdout)
    assert "release 1," in said[0]
    assert "release 9," in said[1]
    assert "release " not in said[2] + said[3]
